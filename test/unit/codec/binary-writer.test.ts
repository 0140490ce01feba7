import { create, type DescField, type DescMessage, type Message, ScalarType, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ListMessagesRequestSchema,
  ListMessagesResponseSchema,
  type MessageWithParts,
  MessageWithPartsSchema,
} from "../../../gen/sessionpool/v1/message_service_pb.js";
import { API_METHODS } from "../../../src/api/method-table.js";
import { binaryMessageWriter } from "../../../src/codec/binary-writer.js";

const text = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ minLength: 20, maxLength: 30 }),
  fc.constant("é".repeat(200)),
);
// protobuf-es loses the key `__proto__`, so it cannot serve as the reference for it.
const struct = fc
  .dictionary(text, fc.jsonValue({ stringUnit: "grapheme", maxDepth: 3 }), { maxKeys: 3 })
  .map((value) => JSON.stringify(value))
  .filter((json) => !json.includes("__proto__"))
  .map((json) => JSON.parse(json) as object);

const TYPES = new Map(
  API_METHODS.flatMap(({ desc }) => [desc.input, desc.output]).map((type) => [type.typeName, type]),
);

describe("binaryMessageWriter", () => {
  it.each([...TYPES.values()])("writes every $typeName as protobuf-es does", (type) => {
    const write = binaryMessageWriter(type);
    fc.assert(
      fc.property(messageOf(type), (message) => {
        expect(Buffer.from(write(message))).toEqual(Buffer.from(toBinary(type, message)));
      }),
      { numRuns: 25 },
    );
  });

  it("writes messages larger than its buffer, before and after small ones", () => {
    const write = binaryMessageWriter(ListMessagesResponseSchema);
    for (const length of [1, 60_000, 70_000, 1, 3_000_000, 1, 200_000, 1]) {
      const messages = [withText("x".repeat(length)), withText("é".repeat(length))];
      const answer = create(ListMessagesResponseSchema, { messages, nextPageToken: "t" });
      expect(Buffer.from(write(answer)).equals(toBinary(ListMessagesResponseSchema, answer))).toBe(true);
    }
  });

  it("returns bytes that the next message does not overwrite", () => {
    const write = binaryMessageWriter(MessageWithPartsSchema);
    const first = write(withText("first"));
    const before = Buffer.from(first);
    write(withText("other"));
    expect(Buffer.from(first)).toEqual(before);
  });

  it("continues after a message that could not be written", () => {
    const write = binaryMessageWriter(MessageWithPartsSchema);
    expect(() => write({ ...withText("x"), info: { id: 7 } } as unknown as Message)).toThrow();
    expect(Buffer.from(write(withText("x")))).toEqual(Buffer.from(toBinary(MessageWithPartsSchema, withText("x"))));
  });

  it("writes varints of every length, and negative numbers", () => {
    const write = binaryMessageWriter(ListMessagesRequestSchema);
    for (const limit of [0, 1, 127, 128, 16_383, 16_384, 2 ** 31 - 1, -1, -(2 ** 31)]) {
      for (const seconds of [0n, 1n, -1n, 2n ** 28n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)]) {
        const request = create(ListMessagesRequestSchema, { limit, since: { seconds, nanos: limit } });
        expect(Buffer.from(write(request))).toEqual(Buffer.from(toBinary(ListMessagesRequestSchema, request)));
      }
    }
  });
});

function withText(content: string): MessageWithParts {
  return create(MessageWithPartsSchema, { info: { role: "user" }, parts: [{ type: "text", text: content }] });
}

/** Any message of the type, with any of its fields set. */
function messageOf(type: DescMessage): fc.Arbitrary<Message> {
  const fields = type.fields.filter(({ oneof }) => oneof === undefined);
  const oneofs = type.oneofs.map((oneof) => [oneof.localName, fc.oneof(...oneof.fields.map(caseOf))]);
  const record = Object.fromEntries([...fields.map((field) => [field.localName, valueFor(field)]), ...oneofs]);
  return fc.record(record, { requiredKeys: [] }).map((init) => create(type, init));
}

function caseOf(field: DescField): fc.Arbitrary<unknown> {
  return valueFor(field).map((value) => ({ case: field.localName, value }));
}

function valueFor(field: DescField): fc.Arbitrary<unknown> {
  const one = field.message === undefined ? scalarOf(field) : valueOfType(field.message);
  // protobuf-es loses this key.
  const key = text.filter((key) => key !== "__proto__");
  if (field.fieldKind === "map") return fc.dictionary(key, one, { maxKeys: 3 });
  return field.fieldKind === "list" ? fc.array(one, { maxLength: 3 }) : one;
}

function valueOfType(type: DescMessage): fc.Arbitrary<unknown> {
  return type.typeName === "google.protobuf.Struct" ? struct : messageOf(type);
}

function scalarOf(field: DescField): fc.Arbitrary<unknown> {
  if (field.enum) return fc.constantFrom(...field.enum.values.map(({ number }) => number));
  switch (field.scalar) {
    case ScalarType.STRING:
      return text;
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.INT32:
      return fc.integer();
    case ScalarType.INT64:
      return fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.bigInt({ min: 0n, max: 300n }));
    case ScalarType.DOUBLE:
      return fc.double();
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 300 });
    default:
      throw new Error(`This test does not know the kind of ${field}`);
  }
}
