import { readFileSync } from "node:fs";
import {
  create,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonObject,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { binaryMessageWriter as binaryWriter } from "../../../src/codec/binary-writer.js";
import { messageReader } from "../../../src/codec/json-reader.js";
import { jsonMessageWriter as jsonWriter } from "../../../src/codec/json-writer.js";
import { decodeStruct } from "../../../src/codec/struct-codec.js";
import { StructFields } from "../../../src/codec/struct-fields.js";
import { losslessTypes } from "../../../src/codec/wire-types.js";
import { textOf } from "../../../src/domain/byte-string.js";
import { SchemaBook } from "../../../src/server/rest/openapi/schema.js";
import { encodeStruct } from "../../support/encode-struct.js";
import { KINDS, PROTO } from "./kinds.js";

const STRUCT = { text: "a", list: [1, null, { deep: true }] };

const CASES: readonly (readonly [string, JsonObject])[] = [
  ["nothing", {}],
  ["an enum", { color: "RED" }],
  ["an optional enum that is zero", { maybeColor: "COLOR_UNSPECIFIED" }],
  ["a list of enums", { colors: ["RED", "COLOR_UNSPECIFIED", "RED"] }],
  ["a double", { ratio: 0.1 }],
  ["a double that JSON cannot hold", { ratio: "-Infinity" }],
  ["a map of scalars", { counts: { a: "1", b: "0" } }],
  ["a map of strings", { texts: { a: "1", "": "", "a.b": "b" } }],
  ["a map of Structs", { structs: { a: STRUCT, b: {} } }],
  ["a map of messages", { kinds: { "-1": { sixteen: "x", color: "RED" } } }],
  ["a oneof's string", { word: "" }],
  ["a oneof's number", { number: 0 }],
  ["a oneof's message", { nested: { ratio: 1.5, nested: { word: "w" } } }],
  ["a oneof's enum", { hue: "COLOR_UNSPECIFIED" }],
  ["a packed list", { numbers: [1, -1, 0] }],
  ["bytes", { raw: "AAE=" }],
  ["an unsigned number", { unsigned: 4_294_967_295 }],
  ["a null Value", { value: null }],
  ["a Value", { value: [STRUCT, 1] }],
  ["a wrapper", { wrapped: "7" }],
  ["fields with large field numbers", { sixteen: "x", large: [{ sixteen: "y" }, {}], largest: "-1" }],
  ["a list of Structs", { list: [STRUCT, {}] }],
  ["a Struct beside such fields", { data: STRUCT, color: "RED", ratio: 2 }],
];

describe("a field of a kind that the codecs leave to the library", () => {
  it.each(CASES)("is written as binary: %s", (_, json) => {
    const message = fromJson(KINDS, json);
    const bytes = binaryWriter(KINDS)(message);
    expect(fromBinary(KINDS, new Uint8Array(bytes))).toEqual(message);
    expect(bytes).toHaveLength(toBinary(KINDS, message).length);
  });

  it.each(CASES)("is read from JSON: %s", (_, json) => {
    expect(messageReader(KINDS)(structuredClone(json))).toEqual(fromJson(KINDS, json));
  });

  it.each(CASES)("is written as JSON: %s", (_, json) => {
    const message = fromJson(KINDS, json);
    expect(JSON.parse(textOf(jsonWriter(KINDS)(message)))).toEqual(
      toJson(KINDS, message, { alwaysEmitImplicit: true }),
    );
  });

  it.each(CASES)("is unchanged by a conversion to the wire types and back: %s", (_, json) => {
    const message: Message = fromJson(KINDS, json);
    const wireType = losslessTypes([KINDS.file]).getMessage(KINDS.typeName) as DescMessage;
    const fields = new StructFields([KINDS]);
    const wire = fields.convert(message, encodeStruct);
    expect(fromBinary(KINDS, toBinary(wireType, wire))).toEqual(message);
    const read = fromBinary(wireType, toBinary(KINDS, message));
    expect(create(KINDS, fields.convert(read, decodeStruct))).toEqual(message);
  });

  it.each([
    [{ word: "a", number: 1 }, "number: only one of choice may be set"],
    [{ nested: { color: "BLUE" } }, /^nested\.color: /],
    [{ ratio: "much" }, /^ratio: /],
    [{ counts: { a: "x" } }, /^counts: /],
    [{ texts: { "a.b": 1 } }, 'texts["a.b"]: expected a string, got 1'],
    [{ texts: ["a"] }, 'texts: expected an object, got ["a"]'],
    [{ texts: { a: null } }, 'texts["a"]: expected a string, got null'],
    [{ data: 1 }, "data: expected an object, got 1"],
    [{ ratio: 1, unknown: 1 }, 'body: unknown field "unknown"'],
  ])("is named in the error when %j is refused", (json, message) => {
    expect(() => messageReader(KINDS)(json)).toThrow(message);
  });

  it("keeps the map key __proto__, in binary and in JSON", () => {
    const texts = JSON.parse('{"__proto__":"x","a":"y"}') as Record<string, string>;
    const counts = Object.fromEntries([["__proto__", 7n]]);
    const message = create(KINDS, { texts, counts });
    const wireType = losslessTypes([KINDS.file]).getMessage(KINDS.typeName) as DescMessage;
    const wire = fromBinary(wireType, new Uint8Array(binaryWriter(KINDS)(message)));
    expect(new StructFields([KINDS]).convert(wire, decodeStruct)).toHaveProperty("texts", texts);
    expect(new StructFields([KINDS]).convert(wire, decodeStruct)).toHaveProperty("counts", counts);
    expect(messageReader(KINDS)({ texts })).toHaveProperty("texts", texts);
    expect(textOf(jsonWriter(KINDS)(message))).toContain(JSON.stringify(texts));
  });

  it("keeps the last of two map entries with the same key", () => {
    const twice = Buffer.concat([{ a: "1" }, { a: "2" }].map((texts) => binaryWriter(KINDS)(create(KINDS, { texts }))));
    const wireType = losslessTypes([KINDS.file]).getMessage(KINDS.typeName) as DescMessage;
    const read = new StructFields([KINDS]).convert(fromBinary(wireType, new Uint8Array(twice)), decodeStruct);
    expect(read).toMatchObject({ texts: { a: "2" } });
  });

  it("has an OpenAPI schema", () => {
    const { properties } = new SchemaBook().describe(KINDS) as { properties: Record<string, unknown> };
    expect(Object.keys(properties)).toEqual(KINDS.fields.map(({ jsonName }) => jsonName));
    expect(properties.colors).toEqual({ type: "array", items: { type: "string", enum: ["COLOR_UNSPECIFIED", "RED"] } });
  });

  it("is in the compiled message when the proto file declares it", () => {
    expect(KINDS.fields).toHaveLength(readFileSync(PROTO, "utf8").match(/ = \d+;/g)!.length - 2);
  });
});
