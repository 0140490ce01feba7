import { create, fromBinary, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { StructSchema, type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SessionSchema } from "../../../gen/sessionpool/v1/session_service_pb.js";
import { decodeStruct as decode } from "../../../src/codec/struct-codec.js";
import { encodeStruct } from "../../support/encode-struct.js";

const key = fc.string({ unit: "grapheme" });
const json = fc.jsonValue({ stringUnit: "grapheme" }).map((value) => JSON.parse(JSON.stringify(value)));
const struct = fc.dictionary(key, json).map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);

const decodeStruct = (bytes: Uint8Array) => decode(bytes, "data");

describe("the Struct codec", () => {
  it("reads back what it wrote", () => {
    fc.assert(
      fc.property(struct, (value) => {
        expect(decodeStruct(encodeStruct(value))).toStrictEqual(value);
      }),
    );
  });

  it("writes what protobuf-es reads, and reads what that writes", () => {
    const known = struct.filter((value) => !JSON.stringify(value).includes("__proto__"));
    fc.assert(
      fc.property(known, (value) => {
        const written = toBinary(SessionSchema, create(SessionSchema, { metadata: value }));
        // Session.metadata is field 5: tag and length stand in front of the Struct.
        const length = encodeStruct(value).length;
        expect(Buffer.from(encodeStruct(value))).toEqual(Buffer.from(written.subarray(written.length - length)));
        expect(decodeStruct(written.subarray(written.length - length))).toStrictEqual(value);
      }),
    );
  });

  it.each([
    '{"__proto__":{"a":1}}',
    '{"a":{"__proto__":"x"}}',
    '{"constructor":1,"toString":null}',
    '{"":"","a.b":1,"$set":[]}',
  ])("keeps %s", (text) => {
    const value = decodeStruct(encodeStruct(JSON.parse(text) as JsonObject));
    expect(JSON.stringify(value)).toBe(text);
  });

  it("never changes a prototype", () => {
    const value = decodeStruct(encodeStruct(JSON.parse('{"__proto__":{"polluted":true}}') as JsonObject));
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(value.polluted).toBeUndefined();
  });

  it("keeps U+0000, a leading U+FEFF, and characters beyond the basic plane", () => {
    const value = { "\ufeff\u0000": "\ufeff\u0000😀" };
    expect(decodeStruct(encodeStruct(value))).toStrictEqual(value);
  });

  it("uses the last of two values, for a repeated key and within one Value", () => {
    const twice = Buffer.concat([encodeStruct({ a: 1 }), encodeStruct({ b: 2, a: "x" })]);
    expect(decodeStruct(twice)).toStrictEqual({ a: "x", b: 2 });
    const kinds = Buffer.concat([value({ case: "boolValue", value: true }), value({ case: "numberValue", value: 7 })]);
    expect(decodeStruct(entry("a", kinds))).toStrictEqual({ a: 7 });
  });

  it("reads an entry without a key as the empty key", () => {
    const bytes = new BinaryWriter().tag(1, WireType.LengthDelimited).fork();
    bytes
      .tag(2, WireType.LengthDelimited)
      .bytes(value({ case: "boolValue", value: false }))
      .join();
    expect(decodeStruct(bytes.finish())).toStrictEqual({ "": false });
  });

  it("skips unknown fields, wherever they are", () => {
    const unknown = new BinaryWriter()
      .tag(9, WireType.Varint)
      .uint32(1)
      .tag(10, WireType.LengthDelimited)
      .string("x")
      .finish();
    const inside = Buffer.concat([unknown, value({ case: "stringValue", value: "v" }), unknown]);
    expect(decodeStruct(Buffer.concat([unknown, entry("a", inside), unknown]))).toStrictEqual({ a: "v" });
  });

  it.each([
    ["a Value without a kind", entry("a", Buffer.alloc(0)), "it holds a Value without a kind"],
    ["an entry without a Value", encodeEntry("a"), "it holds a Value without a kind"],
    ["an item without a kind", entry("a", list(Buffer.alloc(0))), "it holds a Value without a kind"],
    ["NaN", entry("a", value({ case: "numberValue", value: Number.NaN })), "it holds NaN; numbers must be finite"],
    [
      "Infinity",
      entry("a", value({ case: "numberValue", value: Infinity })),
      "it holds Infinity; numbers must be finite",
    ],
    [
      "-Infinity in a list",
      entry("a", list(value({ case: "numberValue", value: -Infinity }))),
      "it holds -Infinity; numbers must be finite",
    ],
    ["a Value longer than its entry", Buffer.from("0a05" + "0a0161" + "127f", "hex"), "its lengths do not fit"],
    [
      "a field that runs over its Value",
      Buffer.from("0a07" + "0a0161" + "12021a05" + "6161616161", "hex"),
      "its lengths do not fit",
    ],
    ["an entry longer than the whole", Buffer.from("0a7f0a0161", "hex"), "its lengths do not fit"],
  ])("refuses %s", (_what, bytes, why) => {
    expect(() => decodeStruct(bytes)).toThrow(
      expect.objectContaining({ code: Code.InvalidArgument, message: `data is malformed: ${why}` }),
    );
  });

  it.each([
    [
      "text",
      entry(
        "a",
        new BinaryWriter()
          .tag(3, WireType.LengthDelimited)
          .bytes(Buffer.from([0xff]))
          .finish(),
      ),
    ],
    ["a key", encodeEntry(Buffer.from([0xc3]), value({ case: "boolValue", value: true }))],
    ["a surrogate", encodeEntry(Buffer.from("eda080", "hex"), value({ case: "boolValue", value: true }))],
  ])("refuses invalid UTF-8 in %s", (_what, bytes) => {
    expect(() => decodeStruct(bytes)).toThrow("data is malformed: its bytes are not protobuf");
  });

  it.each([
    [
      "objects",
      (inner: Uint8Array) => value({ case: "structValue", value: fromBinary(StructSchema, entry("a", inner)) }),
    ],
    ["lists", (inner: Uint8Array) => list(inner)],
  ])("bounds the recursion in %s", (_what, wrap) => {
    let nested: Uint8Array = value({ case: "boolValue", value: true });
    for (let depth = 2; depth <= 20; depth++) nested = wrap(nested);
    expect(() => decodeStruct(entry("a", nested))).not.toThrow();
    expect(() => decodeStruct(deep(100_000))).toThrow("it is nested deeper than 100 levels");
    expect(() => decodeStruct(deep(101))).toThrow("it is nested deeper than 100 levels");
    expect(() => decodeStruct(deep(100))).not.toThrow();
  });

  it("reads any bytes or refuses them with invalid_argument", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          expect(encodeStruct(decodeStruct(bytes))).toBeInstanceOf(Uint8Array);
        } catch (error) {
          expect(error).toMatchObject({ name: "ApiError", code: Code.InvalidArgument });
        }
      }),
    );
  });
});

function value(kind: Value["kind"]): Uint8Array {
  return toBinary(ValueSchema, create(ValueSchema, { kind }));
}

function entry(name: string, bytes: Uint8Array): Uint8Array {
  return encodeEntry(name, bytes);
}

function encodeEntry(name: string | Uint8Array, bytes?: Uint8Array): Uint8Array {
  const writer = new BinaryWriter().tag(1, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).bytes(Buffer.from(name as string));
  if (bytes !== undefined) writer.tag(2, WireType.LengthDelimited).bytes(bytes);
  return writer.join().finish();
}

/** A Value that is a list of one item. */
function list(item: Uint8Array): Uint8Array {
  const values = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(item).finish();
  return new BinaryWriter().tag(6, WireType.LengthDelimited).bytes(values).finish();
}

/** A Struct of nested lists, `levels` deep. */
function deep(levels: number): Uint8Array {
  const parts: Uint8Array[] = [value({ case: "boolValue", value: true })];
  let length = parts[0]?.length ?? 0;
  for (let level = 1; level < levels; level++) {
    for (const tag of [1, 6]) {
      const head = new BinaryWriter().tag(tag, WireType.LengthDelimited).uint32(length).finish();
      parts.push(head);
      length += head.length;
    }
  }
  return encodeEntry("a", Buffer.concat(parts.reverse()));
}
