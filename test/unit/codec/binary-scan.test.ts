import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { describe, expect, it } from "vitest";
import {
  AppendMessageRequestSchema,
  AppendMessagesRequestSchema,
  ExtendDraftRequestSchema,
} from "../../../gen/sessionpool/v1/message_service_pb.js";
import {
  CreateSessionRequestSchema,
  UpdateSessionRequestSchema,
} from "../../../gen/sessionpool/v1/session_service_pb.js";
import { binaryScan } from "../../../src/codec/binary-scan.js";
import { countValues } from "../../../src/codec/json-text.js";
import { KINDS } from "./kinds.js";

const MANY = 1000;

function scan<D extends DescMessage>(desc: D, content: object, limit = MANY * 10): number {
  const bytes = content instanceof Uint8Array ? content : toBinary(desc, create(desc, content as MessageInitShape<D>));
  return binaryScan(desc)(bytes, limit);
}

/** A field that holds these bytes. */
function field(no: number, content: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(no, WireType.LengthDelimited).bytes(content).finish();
}

function repeated(bytes: readonly number[], times = MANY): Uint8Array {
  return Buffer.alloc(bytes.length * times, Buffer.from(bytes));
}

/** Bytes around bytes, many times. */
function nested(times: number, around: (inner: Uint8Array) => Uint8Array): Uint8Array {
  let bytes: Uint8Array = new Uint8Array();
  for (let i = 0; i < times; i++) bytes = around(bytes);
  return bytes;
}

/** A Struct with a member that is a Struct, and so on. */
function structs(levels: number): Uint8Array {
  return nested(levels - 1, (inner) => field(1, field(2, field(5, inner))));
}

/** Groups with the field number 99. */
function groups(levels: number): Uint8Array {
  return nested(levels, (inner) => Buffer.concat([Buffer.from("9b06", "hex"), inner, Buffer.from("9c06", "hex")]));
}

describe("the scan of a binary request counts", () => {
  it.each<[what: string, content: object]>([
    ["fields", { sessionId: "s", title: "t" }],
    ["members and elements of Structs", { metadata: { a: [1, "x", null, [true, false]], b: { c: { d: 1 } } } }],
  ])("%s, as many as in JSON", (_what, content) => {
    // JSON's scan also counts the request itself.
    const inJson = countValues(Buffer.from(JSON.stringify(content)), MANY) - 1;
    expect(scan(CreateSessionRequestSchema, content)).toBe(inJson);
  });

  it("the entries of a map and the elements of a list, but not the map or the list", () => {
    expect(scan(CreateSessionRequestSchema, { labels: { a: "1", b: "2" } })).toBe(2);
    expect(scan(AppendMessageRequestSchema, { message: { parts: [{ type: "a" }, { type: "b" }] } })).toBe(5);
  });

  it.each<[what: string, desc: DescMessage, bytes: Uint8Array]>([
    ["empty labels", CreateSessionRequestSchema, repeated([0x2a, 0])],
    ["empty messages", AppendMessagesRequestSchema, repeated([0x12, 0])],
    ["empty parts", AppendMessageRequestSchema, field(2, repeated([0x12, 0]))],
    ["empty deltas", ExtendDraftRequestSchema, repeated([0x22, 0])],
    ["the paths of a mask", UpdateSessionRequestSchema, field(4, repeated([0x0a, 0]))],
    ["one field again and again", CreateSessionRequestSchema, repeated([0x0a, 0])],
    ["unknown numbers", CreateSessionRequestSchema, repeated([0xf8, 0x7f, 0])],
    ["unknown texts", CreateSessionRequestSchema, repeated([0xfa, 0x7f, 0])],
    ["unknown groups", CreateSessionRequestSchema, repeated([0x9b, 0x06, 0x9c, 0x06])],
    [
      "fields of a group",
      CreateSessionRequestSchema,
      Buffer.concat([Buffer.from("9b06", "hex"), repeated([8, 0]), Buffer.from("9c06", "hex")]),
    ],
    ["members of a Struct", CreateSessionRequestSchema, field(4, repeated([0x0a, 2, 0x12, 0]))],
    ["the keys of one member", CreateSessionRequestSchema, field(4, field(1, repeated([0x0a, 0], MANY + 2)))],
    ["the kinds of one Value", CreateSessionRequestSchema, field(4, field(1, field(2, repeated([8, 0], MANY + 1))))],
    [
      "elements of a list",
      CreateSessionRequestSchema,
      field(4, field(1, field(2, field(6, repeated([0x0a, 2, 0x20, 1]))))),
    ],
    ["unknown fields of a Struct", CreateSessionRequestSchema, field(4, repeated([0x10, 0]))],
    ["packed numbers", KINDS, field(12, repeated([0x80, 0x01]))],
    ["packed enums", KINDS, field(3, repeated([1]))],
    ["numbers that are not packed", KINDS, repeated([0x60, 1])],
    ["Structs in a list", KINDS, repeated([0x9a, 0x01, 0])],
    ["entries with a message", KINDS, repeated([0x3a, 2, 0x12, 0])],
  ])("%s, and stops at the limit", (_what, desc, bytes) => {
    const values = scan(desc, bytes);
    expect(values).toBeGreaterThanOrEqual(MANY);
    expect(values).toBeLessThan(MANY + 5);
    expect(scan(desc, bytes, values)).toBe(values);
    expect(() => scan(desc, bytes, values - 1)).toThrow(`The request holds more than ${values - 1} values`);
  });
});

describe("the scan of a binary request", () => {
  it("allows 100 levels", () => {
    const text = "The request is nested more than 100 levels deep";
    // The request itself is one.
    expect(scan(CreateSessionRequestSchema, field(4, structs(99)))).toBe(99);
    expect(() => scan(CreateSessionRequestSchema, field(4, structs(100)))).toThrow(text);
    expect(() => scan(CreateSessionRequestSchema, field(4, structs(5000)))).toThrow(text);
    expect(scan(CreateSessionRequestSchema, groups(99))).toBe(99);
    expect(() => scan(CreateSessionRequestSchema, groups(100))).toThrow(text);
    expect(() => scan(CreateSessionRequestSchema, field(4, groups(50_000)), 10 ** 6)).toThrow(text);
    const kinds = (levels: number) => nested(levels - 1, (inner) => field(10, inner));
    expect(scan(KINDS, kinds(100))).toBe(99);
    expect(() => scan(KINDS, kinds(101))).toThrow(text);
  });

  it.each<[what: string, bytes: Uint8Array, error: string]>([
    ["a message as a number", Buffer.concat([Buffer.from([0x10, 200, 1]), repeated([0x12, 0])]), "wrong wire type"],
    ["a text as a number", Buffer.from([0x08, 1]), "session_id has the wrong wire type"],
    ["a message that is longer than the one around it", field(2, Buffer.from([0x12, 0x7f])), "do not fit"],
    ["a text that is longer than the message around it", field(2, Buffer.from([0x12, 2, 0x0a, 0x7f])), "premature EOF"],
    ["a group that another one ends", Buffer.from("9b06a406", "hex"), "invalid end group tag"],
    ["the end of no group", Buffer.from("9c06", "hex"), "wire type 4"],
  ])("refuses %s", (_what, bytes, error) => {
    expect(() => scan(AppendMessageRequestSchema, bytes)).toThrow(error);
  });
});
