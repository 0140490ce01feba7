import "../../../src/harden.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ByteRange } from "../../../src/domain/byte-range.js";
import type { JsonObject } from "../../../src/domain/json.js";
import { contentOf, MessageBody } from "../../../src/domain/message-body.js";
import { bodySizes } from "../../../src/domain/message-size.js";
import { shownMessage, storedBodyOf } from "../../../src/domain/shown-message.js";
import { knownUsage } from "../../../src/domain/usage-text.js";

const text = fc.string({ unit: fc.oneof(fc.constantFrom("\n", "\u0000", "\u2028", "é", "]", "}", '"'), fc.string()) });
const struct = fc
  .dictionary(fc.oneof(fc.constantFrom("__proto__", "metadata", "parts", "sizes"), text), fc.jsonValue())
  .map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);
const optionalStruct = fc.option(struct, { nil: undefined });
const usage = fc
  .record({
    model: fc.option(text, { nil: undefined }),
    outputTokens: fc.option(fc.integer({ min: 0, max: 1e9 }), { nil: undefined }),
    cost: fc.constantFrom(undefined, "0.10"),
    startTimeMicros: fc.option(fc.integer({ min: -1e15, max: 4e15 }), { nil: undefined }),
    durationMicros: fc.option(fc.integer({ min: 0, max: 30 * 86_400_000_000 }), { nil: undefined }),
  })
  .map(knownUsage);
const content = fc.record({
  parts: fc.array(fc.record({ id: text, type: text, text, data: optionalStruct }), { maxLength: 4 }),
  metadata: optionalStruct,
  usage,
});
const FIELDS = { id: "m", sessionId: "s", role: "user", timestampMicros: 1, position: 0, originSessionId: "s" };

describe("a message's body", () => {
  it("is unchanged after encoding and decoding, from bytes or a string, with the same sizes", () => {
    fc.assert(
      fc.property(content, (given) => {
        const written = MessageBody.of(given).encode();
        const among = ByteRange.of(Buffer.from(`{"sizes":[${written}]}`));
        const range = new ByteRange(among.source, 10, among.end - 2);
        for (const form of [written, Buffer.from(written), range]) {
          const stored = MessageBody.stored(form);
          expect(stored.isStored).toBe(true);
          expect(stored.sizes).toEqual(bodySizes(given));
          expect(stored.hasMetadata).toBe(given.metadata !== undefined);
          expect(stored.json.parts.toString()).toBe(JSON.stringify(given.parts));
          expect(stored.json.metadata?.toString()).toBe(JSON.stringify(given.metadata));
          expect(stored.parts).toEqual(JSON.parse(JSON.stringify(given.parts)));
          expect(stored.metadata).toEqual(given.metadata);
          expect(stored.usage).toEqual(given.usage);
          expect(contentOf({ role: "x", body: stored }).usage).toEqual(given.usage);
          expect(stored.encode()).toBe(written);
        }
      }),
    );
  });

  it("knows how many bytes it takes without being written", () => {
    const odd = fc.string({
      unit: fc.oneof(fc.constantFrom("\\", '"', "\u001f", "\u007f", "\ud83d", "\ude00", "é", "\u{1f600}"), text),
    });
    const part = fc.record({ id: text, type: text, text: odd, data: optionalStruct });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 3 }), optionalStruct, (parts, metadata) => {
        const written = MessageBody.of({ parts, metadata }).encode();
        expect(MessageBody.of({ parts, metadata }).storedBytes).toBe(Buffer.byteLength(written));
        expect(MessageBody.stored(written).storedBytes).toBe(Buffer.byteLength(written));
      }),
    );
  });

  it("is JSON that earlier versions can read", () => {
    const given = { parts: [{ id: "", type: "text", text: "Hello" }], metadata: { a: 1 } };
    const { parts, metadata } = JSON.parse(MessageBody.of(given).encode());
    expect({ parts, metadata }).toEqual(given);
  });

  it("that an earlier version wrote is decoded to values and encoded in the current form", () => {
    fc.assert(
      fc.property(content, (given) => {
        const { usage: _usage, ...earlier } = given;
        const stored = MessageBody.stored(Buffer.from(JSON.stringify(earlier)));
        expect(stored.isStored).toBe(false);
        expect(stored.encode()).toBe(MessageBody.of(earlier).encode());
      }),
    );
  });

  it("keeps only the known members of a part, in a fixed order", () => {
    const part = { text: "x", extra: 1, type: "text", id: "p" };
    expect(MessageBody.of({ parts: [part] }).json.parts.toString()).toBe('[{"id":"p","type":"text","text":"x"}]');
  });
});

describe("a message that is shown with a stored body", () => {
  const body = MessageBody.stored(MessageBody.of({ parts: [{ id: "", type: "t", text: "x" }], metadata: {} }).encode());

  it("equals one made of values when compared, copied or printed", () => {
    const literal = { ...FIELDS, parts: body.parts, metadata: body.metadata, usage: body.usage };
    const shown = shownMessage(FIELDS, body);
    expect(shown).toEqual(literal);
    expect({ ...shown }).toEqual(literal);
    expect(structuredClone(shown)).toEqual(literal);
    expect(JSON.parse(JSON.stringify(shown))).toEqual(literal);
    expect(Object.keys(shown).sort()).toEqual(Object.keys(literal).sort());
  });

  it("gives out its stored body, but a copy does not, because the copy may have been changed", () => {
    const shown = shownMessage(FIELDS, body);
    expect(storedBodyOf(shown)).toBe(body);
    expect(storedBodyOf({ ...shown })).toBeUndefined();
    expect(storedBodyOf(shownMessage(FIELDS, MessageBody.of({ parts: [] })))).toBeUndefined();
  });
});
