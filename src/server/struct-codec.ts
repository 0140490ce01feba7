import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { DomainError } from "../domain/errors.js";
import { decodeText } from "./exact-text.js";

/** Bounds the recursion, as protobuf's own decoders do. How deep a Struct may really be, the domain's checks say. */
const MAX_DEPTH = 100;

/** Field numbers of google.protobuf.Struct, its map entries, Value and ListValue. */
const STRUCT_FIELDS = 1;
const ENTRY_KEY = 1;
const ENTRY_VALUE = 2;
const NULL_VALUE = 1;
const NUMBER_VALUE = 2;
const STRING_VALUE = 3;
const BOOL_VALUE = 4;
const STRUCT_VALUE = 5;
const LIST_VALUE = 6;
const LIST_VALUES = 1;

/**
 * Reads a google.protobuf.Struct and loses nothing: a Value without a kind, NaN and Infinity, which JSON cannot hold, are refused, and
 * `__proto__` is a key like any other. Of a key that is there twice the last one counts.
 */
export function decodeStruct(bytes: Uint8Array): JsonObject {
  try {
    return readStruct(new BinaryReader(bytes, decodeText), bytes.length, 1);
  } catch (error) {
    throw error instanceof DomainError ? error : malformed("its bytes are no protobuf", error);
  }
}

export function encodeStruct(struct: JsonObject): Uint8Array {
  return writeStruct(new BinaryWriter(), struct).finish();
}

function readStruct(reader: BinaryReader, end: number, depth: number): JsonObject {
  checkDepth(depth);
  const struct: JsonObject = {};
  while (reader.pos < end) {
    const [no, type] = reader.tag();
    if (no === STRUCT_FIELDS && type === WireType.LengthDelimited) {
      readEntry(reader, readEnd(reader, end), struct, depth);
    } else {
      reader.skip(type, no);
    }
  }
  checkEnd(reader, end);
  return struct;
}

function readEntry(reader: BinaryReader, end: number, struct: JsonObject, depth: number): void {
  let key = "";
  let value: JsonValue | undefined;
  while (reader.pos < end) {
    const [no, type] = reader.tag();
    if (type !== WireType.LengthDelimited) reader.skip(type, no);
    else if (no === ENTRY_KEY) key = reader.string(true);
    else if (no === ENTRY_VALUE) value = readValue(reader, readEnd(reader, end), depth);
    else reader.skip(type, no);
  }
  checkEnd(reader, end);
  put(struct, key, hasKind(value));
}

function readValue(reader: BinaryReader, end: number, depth: number): JsonValue {
  let value: JsonValue | undefined;
  while (reader.pos < end) {
    const [no, type] = reader.tag();
    const kind = readKind(reader, no, type, end, depth);
    if (kind !== undefined) value = kind;
  }
  checkEnd(reader, end);
  return hasKind(value);
}

/** What the field says, or undefined if it is not one of Value's: then it is skipped. */
function readKind(reader: BinaryReader, no: number, type: WireType, end: number, depth: number): JsonValue | undefined {
  if (type === WireType.LengthDelimited) {
    if (no === STRING_VALUE) return reader.string(true);
    if (no === STRUCT_VALUE) return readStruct(reader, readEnd(reader, end), depth + 1);
    if (no === LIST_VALUE) return readList(reader, readEnd(reader, end), depth + 1);
  }
  if (type === WireType.Varint && no === BOOL_VALUE) return reader.bool();
  if (type === WireType.Bit64 && no === NUMBER_VALUE) return finite(reader.double());
  reader.skip(type, no);
  return type === WireType.Varint && no === NULL_VALUE ? null : undefined;
}

function readList(reader: BinaryReader, end: number, depth: number): JsonValue[] {
  checkDepth(depth);
  const list: JsonValue[] = [];
  while (reader.pos < end) {
    const [no, type] = reader.tag();
    if (no === LIST_VALUES && type === WireType.LengthDelimited) {
      list.push(readValue(reader, readEnd(reader, end), depth));
    } else {
      reader.skip(type, no);
    }
  }
  checkEnd(reader, end);
  return list;
}

function writeStruct(writer: BinaryWriter, struct: JsonObject): BinaryWriter {
  for (const key of Object.keys(struct)) {
    writer.tag(STRUCT_FIELDS, WireType.LengthDelimited).fork();
    writer.tag(ENTRY_KEY, WireType.LengthDelimited).string(key);
    writer.tag(ENTRY_VALUE, WireType.LengthDelimited).fork();
    writeValue(writer, struct[key] as JsonValue).join();
    writer.join();
  }
  return writer;
}

function writeValue(writer: BinaryWriter, value: JsonValue): BinaryWriter {
  switch (typeof value) {
    case "string":
      return writer.tag(STRING_VALUE, WireType.LengthDelimited).string(value);
    case "number":
      return writer.tag(NUMBER_VALUE, WireType.Bit64).double(value);
    case "boolean":
      return writer.tag(BOOL_VALUE, WireType.Varint).bool(value);
  }
  if (value === null) return writer.tag(NULL_VALUE, WireType.Varint).int32(0);
  const isList = Array.isArray(value);
  writer.tag(isList ? LIST_VALUE : STRUCT_VALUE, WireType.LengthDelimited).fork();
  return (isList ? writeList(writer, value) : writeStruct(writer, value)).join();
}

function writeList(writer: BinaryWriter, list: readonly JsonValue[]): BinaryWriter {
  for (const item of list) {
    writer.tag(LIST_VALUES, WireType.LengthDelimited).fork();
    writeValue(writer, item).join();
  }
  return writer;
}

/** Where the message that begins here with its length ends. */
function readEnd(reader: BinaryReader, outerEnd: number): number {
  const length = reader.uint32();
  const end = reader.pos + length;
  if (end > outerEnd) throw malformed("its lengths do not fit");
  return end;
}

function checkEnd(reader: BinaryReader, end: number): void {
  if (reader.pos !== end) throw malformed("its lengths do not fit");
}

function checkDepth(depth: number): void {
  if (depth > MAX_DEPTH) throw malformed(`it is nested deeper than ${MAX_DEPTH} levels`);
}

function finite(value: number): number {
  if (Number.isFinite(value)) return value;
  throw malformed(`it holds ${value}; numbers must be finite`);
}

function hasKind(value: JsonValue | undefined): JsonValue {
  if (value === undefined) throw malformed("it holds a Value without a kind");
  return value;
}

function malformed(why: string, cause?: unknown): DomainError {
  return new DomainError("invalid_argument", `A Struct is malformed: ${why}`, { cause });
}

/** Assignment would make `__proto__` the prototype. */
function put(struct: JsonObject, key: string, value: JsonValue): void {
  if (key === "__proto__") {
    Object.defineProperty(struct, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    struct[key] = value;
  }
}
