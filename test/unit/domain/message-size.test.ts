// protobuf-es is the reference. It keeps the key `__proto__`, which fast-check often generates, only after this import.
import "../../../src/harden.js";
import { create, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type MessageWithParts, MessageWithPartsSchema } from "../../../gen/sessionpool/v1/message_service_pb.js";
import { SessionSchema } from "../../../gen/sessionpool/v1/session_service_pb.js";
import { toMessageWithParts } from "../../../src/api/convert.js";
import { toTimestamp } from "../../../src/api/timestamps.js";
import type { NewChatMessage } from "../../../src/domain/chat-message.js";
import { embeddedSize, messageSize, structSize } from "../../../src/domain/message-size.js";

const text = fc.string({ unit: "grapheme", maxLength: 300 });
const micros = fc.oneof(fc.maxSafeInteger(), fc.constantFrom(0, 1, -1, 999_999, 1_000_000, -1_000_000));
const struct = fc
  .dictionary(text, fc.jsonValue({ stringUnit: "grapheme" }))
  .map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);
const attachment = fc.record({
  ...{ attachmentId: text, mediaType: text, name: text, size: fc.maxSafeInteger().map(Math.abs), sha256: text },
  missing: fc.constantFrom(undefined, true as const),
});
const part = fc.record({
  ...{ id: text, type: text, text, data: fc.option(struct, { nil: undefined }) },
  attachment: fc.option(attachment, { nil: undefined }),
});
const message = fc.record({
  id: text,
  role: text,
  timestampMicros: micros,
  parts: fc.array(part, { maxLength: 5 }),
  metadata: fc.option(struct, { nil: undefined }),
});

describe("messageSize", () => {
  it("equals what protobuf-es writes for a message in an answer", () => {
    const output = fc.record({
      sessionId: text,
      position: fc.option(fc.maxSafeInteger().map(Math.abs), { nil: undefined }),
      originSessionId: text,
    });
    fc.assert(
      fc.property(message, output, (content, fields) => {
        const written = toBinary(MessageWithPartsSchema, toMessageWithParts({ ...content, ...fields }));
        expect(messageSize(content, fields)).toBe(written.length);
      }),
    );
  });

  it("equals what protobuf-es writes for a message in a request, with and without id and timestamp", () => {
    const given = fc.record({
      ...{ id: fc.option(text, { nil: undefined }), timestampMicros: fc.option(micros, { nil: undefined }) },
      ...{ role: text, parts: fc.array(part, { maxLength: 3 }), metadata: fc.option(struct, { nil: undefined }) },
    });
    fc.assert(
      fc.property(given, (content) => {
        expect(messageSize(content)).toBe(toBinary(MessageWithPartsSchema, asGiven(content)).length);
      }),
    );
  });

  it("counts the bytes of varints right where they get longer", () => {
    for (const length of [0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152]) {
      const content = { role: "r", parts: [{ id: "", type: "t", text: "x".repeat(length) }] };
      expect(messageSize(content)).toBe(toBinary(MessageWithPartsSchema, asGiven(content)).length);
    }
    for (const position of [0, 127, 128, 2 ** 28, 2 ** 35 - 1, 2 ** 35, Number.MAX_SAFE_INTEGER]) {
      const content = { id: "m", role: "r", timestampMicros: 1, parts: [] };
      const output = { sessionId: "s", position };
      const written = toBinary(MessageWithPartsSchema, toMessageWithParts({ ...content, ...output }));
      expect(messageSize(content, output)).toBe(written.length);
    }
  });
});

describe("structSize", () => {
  it("is what protobuf-es writes", () => {
    fc.assert(
      fc.property(struct, (value) => {
        const session = create(SessionSchema, { metadata: value });
        expect(embeddedSize(structSize(value))).toBe(toBinary(SessionSchema, session).length);
      }),
    );
  });

  it("counts a key named __proto__", () => {
    const value = JSON.parse('{"__proto__": "x"}') as JsonObject;
    const sameLength = create(StructSchema, {
      fields: { "123456789": { kind: { case: "stringValue", value: "x" } } },
    });
    expect(structSize(value)).toBe(toBinary(StructSchema, sameLength).length);
  });
});

function asGiven(content: NewChatMessage): MessageWithParts {
  const { id = "", role, timestampMicros, metadata, parts } = content;
  return create(MessageWithPartsSchema, {
    info: {
      id,
      role,
      timestamp: timestampMicros === undefined ? undefined : toTimestamp(timestampMicros),
      metadata: metadata as JsonObject | undefined,
    },
    parts: parts.map(({ attachment, ...part }) => ({
      ...part,
      data: part.data as JsonObject | undefined,
      attachment: attachment && {
        ...attachment,
        size: BigInt(attachment.size),
        missing: attachment.missing === true,
      },
    })),
  });
}
