import "../../../src/harden.js";
import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { BSON, ObjectId } from "mongodb";
import { describe, expect, it } from "vitest";
import { ListMessagesResponseSchema } from "../../../gen/sessionpool/v1/message_service_pb.js";
import { toMessageWithParts } from "../../../src/api/convert.js";
import { BackwardWriter } from "../../../src/codec/backward-writer.js";
import { binaryMessageWriter } from "../../../src/codec/binary-writer.js";
import { writeStoredMetadata, writeStoredParts } from "../../../src/codec/stored-body-writer.js";
import { ByteRange } from "../../../src/domain/byte-range.js";
import type { ChatMessage, PartAttachment } from "../../../src/domain/chat-message.js";
import type { JsonObject, JsonValue } from "../../../src/domain/json.js";
import { type BodyContent, MessageBody } from "../../../src/domain/message-body.js";
import { shownMessage } from "../../../src/domain/shown-message.js";
import type { Usage } from "../../../src/domain/usage.js";
import { knownUsage } from "../../../src/domain/usage-text.js";
import type { Entry } from "../../../src/storage/history/log-store.js";
import { toMessage } from "../../../src/storage/history/read/pieces.js";
import { frozenEntry } from "../../../src/storage/memory/frozen-copy.js";
import { toDocument } from "../../../src/storage/mongodb/entry-document.js";
import { readRawDocument } from "../../../src/storage/mongodb/raw-document.js";

const ODD = ["\u0000", "\u001f", "\b\f\n\r\t", "\\", '"', '\\"', "/", "\u007f", "\u0085", "\u2028", "é", "\u{1F600}"];
/** What only looks like structure, at every offset to the words of four bytes in which strings are copied. */
const FALSE_FRIENDS = [',"text":"', '"}]', '{"id":', "\\u0041", "\\\\\\", "x".repeat(40)];
const text = fc.oneof(
  fc.string({ unit: fc.oneof(fc.constantFrom(...ODD, ...FALSE_FRIENDS), fc.string({ maxLength: 5 })) }),
  fc.string({ unit: "binary" }),
);
const key = fc.oneof(text, fc.constantFrom("__proto__", "constructor", "toJSON", "", "1", "10", "text", "data", "id"));
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.constantFrom(-0, 0, 1e308, -1e308, 5e-324, 2 ** 53, 2 ** 53 + 2, 999_999_999_999_999, 1e15, 1e21, -1, 0.1),
);
const { struct } = fc.letrec<{ value: JsonValue; struct: JsonObject }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.oneof(text, number, fc.boolean(), fc.constant(null)),
    fc.array(tie("value"), { maxLength: 4 }),
    tie("struct"),
  ),
  struct: fc
    .array(fc.tuple(key, tie("value")), { maxLength: 4 })
    .map((members) => Object.fromEntries(members) as JsonObject),
}));
const optionalStruct = fc.option(struct, { nil: undefined });
const attachment: fc.Arbitrary<PartAttachment | undefined> = fc.option(
  fc.record({
    attachmentId: text,
    mediaType: text,
    name: text,
    size: fc.oneof(fc.nat(), fc.constantFrom(0, Number.MAX_SAFE_INTEGER, 1e15)),
    sha256: text,
    missing: fc.constantFrom(true as const, undefined),
  }),
  { nil: undefined },
);
/** Data that ends as an attachment does, from one of its members on. */
const likeAttachment = fc
  .tuple(fc.nat(6), fc.array(fc.oneof(text, fc.boolean()), { minLength: 6, maxLength: 6 }))
  .map(([from, values]) => {
    const members = ["attachmentId", "mediaType", "name", "size", "sha256", "missing"].map((name, i) => [
      name,
      values[i],
    ]);
    return Object.fromEntries(members.slice(from)) as JsonObject;
  });
const data = fc.oneof(
  optionalStruct,
  likeAttachment,
  likeAttachment.map((inner) => ({ attachment: inner })),
);
const tokens = fc.option(fc.integer({ min: 0, max: 1e9 }), { nil: undefined });
const micros = fc.option(fc.integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }), {
  nil: undefined,
});
const usage: fc.Arbitrary<Usage | undefined> = fc
  .record({
    model: fc.option(text, { nil: undefined }),
    provider: fc.option(text, { nil: undefined }),
    inputTokens: tokens,
    outputTokens: tokens,
    cachedInputTokens: tokens,
    reasoningTokens: tokens,
    cost: fc.constantFrom(undefined, "0", "0.10"),
    currency: fc.constantFrom(undefined, "USD"),
    startTimeMicros: micros,
    firstTokenTimeMicros: micros,
    durationMicros: fc.option(fc.integer({ min: 0, max: 30 * 86_400_000_000 }), { nil: undefined }),
  })
  .map(knownUsage);
const content: fc.Arbitrary<BodyContent> = fc.record({
  parts: fc.array(fc.record({ id: text, type: text, text, data, attachment }), { maxLength: 4 }),
  metadata: optionalStruct,
  usage,
});
const message: fc.Arbitrary<ChatMessage> = fc
  .tuple(
    content,
    fc.record({
      id: text,
      role: text,
      sessionId: text,
      originSessionId: fc.option(text, { nil: undefined }),
      timestampMicros: fc.integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }),
      position: fc.option(fc.nat(), { nil: undefined }),
    }),
  )
  .map(([body, fields]) => ({ ...fields, ...body }));
const writePage = binaryMessageWriter(ListMessagesResponseSchema);

describe("pages of stored messages", () => {
  it("are byte for byte those of the messages' values, and decode no body", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 5 }), (messages) => {
        const bodies = storedTogether(messages);
        const shown = messages.map(({ parts, metadata, usage: _usage, ...fields }, i) =>
          shownMessage(fields, bodies[i] as MessageBody),
        );
        // JSON has no -0.
        expect(pageOf(shown)).toEqual(pageOf(JSON.parse(JSON.stringify(messages))));
        expect(bodies.map(({ isDecoded }) => isDecoded)).toEqual(bodies.map(() => false));
      }),
      { numRuns: 200 },
    );
  });

  it("are the same from documents of MongoDB and from memory", () => {
    fc.assert(
      fc.property(message, (given) => {
        const { parts, metadata, usage, timestampMicros, sessionId, role } = given;
        const body = MessageBody.of({ parts, metadata, usage });
        const entry = {
          log: "l",
          seq: 1,
          id: "m",
          timestampMicros,
          role,
          body,
          sessionId,
          originSessionId: sessionId,
          remaining: 0,
        };
        const raw = readRawDocument(BSON.serialize(toDocument(new ObjectId(), "l", 1, entry))).entry as Entry;
        const expected = {
          ...FIELDS,
          timestampMicros,
          sessionId,
          role,
          originSessionId: sessionId,
          parts,
          metadata,
          usage,
        };
        expect(pageOf([toMessage(raw, sessionId, 0)])).toEqual(pageOf([JSON.parse(JSON.stringify(expected))]));
        expect(raw.body.isDecoded).toBe(false);
        expect(pageOf([toMessage(frozenEntry(entry), sessionId, 0)])).toEqual(pageOf([expected]));
      }),
    );
  });

  it("may be larger than what is kept for them, and hold strings of any length", () => {
    const parts = [1, 3, 4, 5, 300, 70_000, 300_000].flatMap((length) =>
      ["x", "é", '"', "\\", "\n", "\u0001"].map((unit) => ({ id: "", type: "t", text: unit.repeat(length) })),
    );
    const given = { ...FIELDS, parts, metadata: { long: "\\".repeat(100_000) } };
    const [body] = storedTogether([given]);
    expect(pageOf([shownMessage(FIELDS, body as MessageBody)]).equals(pageOf([given]))).toBe(true);
    expect(body?.isDecoded).toBe(false);
  });
});

const FIELDS = { id: "m", sessionId: "s", role: "user", timestampMicros: 1, position: 0, originSessionId: "s" };

describe("the text of a body", () => {
  const GOOD = '[{"id":"","type":"t","text":"x","data":{"a":[1,true,null]}}]';

  it.each([
    ["a lone surrogate", '[{"id":"","type":"t","text":"\\ud800"}]'],
    ["escapes that JSON.stringify does not write", '[{"id":"","type":"t","text":"\\/\\u0041\\u00e9\\u001F"}]'],
    ["members in another order", '[{"type":"t","id":"","text":"x"}]'],
    ["members that are missing", '[{"id":"","text":"x"}]'],
    ["members that nobody knows", '[{"id":"","type":"t","text":"x","more":{}}]'],
    ["data that is no object", '[{"id":"","type":"t","text":"x","data":"y"}]'],
    ["spaces", '[ {"id":"","type":"t","text":"x"} ]'],
    ["spaces in data", '[{"id":"","type":"t","text":"x","data":{"a": 1}}]'],
    ["values deeper than any that is stored", GOOD.replace("null", `${"[".repeat(150)}${"]".repeat(150)}`)],
  ])("with %s is read as values", (_what, parts) => {
    for (const size of [0, sizeOf(parts)])
      expect(pageOf([shownMessage(FIELDS, textBody(parts, size))])).toEqual(
        pageOf([{ ...FIELDS, parts: JSON.parse(parts) }]),
      );
  });

  it("is read as values when its size is not the one that it begins with", () => {
    const right = textBody(GOOD, sizeOf(GOOD));
    const wrong = textBody(GOOD, sizeOf(GOOD) + 1);
    expect(pageOf([shownMessage(FIELDS, right)])).toEqual(pageOf([{ ...FIELDS, parts: JSON.parse(GOOD) }]));
    expect(pageOf([shownMessage(FIELDS, wrong)])).toEqual(pageOf([{ ...FIELDS, parts: JSON.parse(GOOD) }]));
    expect([right.isDecoded, wrong.isDecoded]).toEqual([false, true]);
  });

  it.each(["1e999", "1.5", "-1"])("is not recognised when an attachment has a size of %s bytes", (size) => {
    const attachment = { attachmentId: "a", mediaType: "b", name: "c", size: 12345, sha256: "d" };
    const right = Buffer.from(
      MessageBody.of({ parts: [{ id: "", type: "t", text: "x", attachment }] }).encode(),
    ).toString();
    expect(right).toContain("12345");
    const writer = new BackwardWriter();
    expect(writeStoredParts(writer, MessageBody.stored(right.replace("12345", size)))).toBe(false);
    expect(writer.length).toBe(0);
  });

  it("that is damaged anywhere never makes the writer fail, and leaves nothing behind when it is not recognised", () => {
    const writer = new BackwardWriter();
    const written = { parts: 0, metadata: 0 };
    fc.assert(
      fc.property(content, fc.nat(), fc.nat(255), (given, at, byte) => {
        const body = MessageBody.stored(MessageBody.of(given).encode());
        for (const part of ["parts", "metadata"] as const) {
          const range = body.json[part];
          if (range === undefined) continue;
          range.source.bytes[range.start + (at % range.length)] = byte;
          const write = part === "parts" ? writeStoredParts : writeStoredMetadata;
          const isWritten = write(writer, body);
          expect(writer.length).toBe(isWritten ? body.sizes[part] : 0);
          if (isWritten) written[part] += 1;
          writer.rewind(0);
        }
      }),
      { numRuns: 1000 },
    );
    expect(written.parts).toBeGreaterThan(0);
    expect(written.metadata).toBeGreaterThan(0);
  });
});

/** The bodies of a page, all cut from the same bytes. */
function storedTogether(contents: readonly BodyContent[]): MessageBody[] {
  const texts = contents.map((one) => Buffer.from(MessageBody.of(one).encode()));
  const { source } = ByteRange.of(Buffer.concat(texts));
  let end = 0;
  return texts.map(({ length }) => {
    end += length;
    return MessageBody.stored(new ByteRange(source, end - length, end));
  });
}

function pageOf(messages: readonly ChatMessage[]): Buffer {
  return Buffer.from(
    writePage(create(ListMessagesResponseSchema, { messages: messages.map(toMessageWithParts), nextPageToken: "n" })),
  );
}

function textBody(parts: string, size: number): MessageBody {
  return MessageBody.stored(`{"sizes":[${size},0],"parts":\n${parts}\n}`);
}

function sizeOf(parts: string): number {
  return MessageBody.of({ parts: JSON.parse(parts) }).sizes.parts;
}
