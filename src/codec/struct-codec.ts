import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { Code } from "@connectrpc/connect";
import { ApiError } from "../api/api-error.js";
import type { BackwardWriter } from "./backward-writer.js";
import { decodeText } from "./exact-text.js";

/** Limits the recursion, as protobuf's own decoders do. The domain's checks limit how deep a Struct may really be. */
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

/** The tags of Struct, its entries, Value and ListValue. Each is one byte. */
export const STRUCT_TAGS = {
  entry: tagOf(STRUCT_FIELDS, WireType.LengthDelimited),
  entryKey: tagOf(ENTRY_KEY, WireType.LengthDelimited),
  entryValue: tagOf(ENTRY_VALUE, WireType.LengthDelimited),
  null: tagOf(NULL_VALUE, WireType.Varint),
  number: tagOf(NUMBER_VALUE, WireType.Bit64),
  string: tagOf(STRING_VALUE, WireType.LengthDelimited),
  boolean: tagOf(BOOL_VALUE, WireType.Varint),
  struct: tagOf(STRUCT_VALUE, WireType.LengthDelimited),
  list: tagOf(LIST_VALUE, WireType.LengthDelimited),
  listItem: tagOf(LIST_VALUES, WireType.LengthDelimited),
} as const;

/**
 * Reads a google.protobuf.Struct without loss. Refuses what JSON cannot hold: a Value without a kind, NaN and Infinity.
 * `__proto__` is a key like any other, and of a repeated key the last value counts. Errors name the field.
 */
export function decodeStruct(bytes: Uint8Array, field: string): JsonObject {
  try {
    return readStruct(new BinaryReader(bytes, decodeText), bytes.length, 1);
  } catch (cause) {
    const why = cause instanceof Malformed ? cause.message : "its bytes are not protobuf";
    throw new ApiError(Code.InvalidArgument, `${field} is malformed: ${why}`, { cause });
  }
}

/** Writes the fields of a google.protobuf.Struct, without its length. */
export function writeStruct(writer: BackwardWriter, struct: JsonObject): void {
  const keys = Object.keys(struct);
  for (let i = keys.length - 1; i >= 0; i--) {
    const key = keys[i] as string;
    const from = writer.length;
    writeMessage(writer, STRUCT_TAGS.entryValue, struct[key] as JsonValue, writeValue);
    writer.string(key);
    writer.byte(STRUCT_TAGS.entryKey);
    writer.prefix(STRUCT_TAGS.entry, from);
  }
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

/** The value of a field; undefined for a field that Value does not have, which is skipped. */
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

function writeValue(writer: BackwardWriter, value: JsonValue): void {
  if (value === null) {
    writer.byte(0);
    writer.byte(STRUCT_TAGS.null);
  } else if (typeof value === "string") {
    writer.string(value);
    writer.byte(STRUCT_TAGS.string);
  } else if (typeof value === "number") {
    writer.double(value);
    writer.byte(STRUCT_TAGS.number);
  } else if (typeof value === "boolean") {
    writer.byte(value ? 1 : 0);
    writer.byte(STRUCT_TAGS.boolean);
  } else if (Array.isArray(value)) {
    writeMessage(writer, STRUCT_TAGS.list, value, writeList);
  } else {
    writeMessage(writer, STRUCT_TAGS.struct, value, writeStruct);
  }
}

function writeList(writer: BackwardWriter, list: readonly JsonValue[]): void {
  for (let i = list.length - 1; i >= 0; i--) {
    writeMessage(writer, STRUCT_TAGS.listItem, list[i] as JsonValue, writeValue);
  }
}

function writeMessage<T>(
  writer: BackwardWriter,
  tag: number,
  value: T,
  write: (writer: BackwardWriter, value: T) => void,
): void {
  const from = writer.length;
  write(writer, value);
  writer.prefix(tag, from);
}

function tagOf(no: number, type: WireType): number {
  return (no << 3) | type;
}

/** The end of the length-prefixed message that begins here. */
function readEnd(reader: BinaryReader, outerEnd: number): number {
  const length = reader.uint32();
  const end = reader.pos + length;
  if (end > outerEnd) throw new Malformed("its lengths do not fit");
  return end;
}

function checkEnd(reader: BinaryReader, end: number): void {
  if (reader.pos !== end) throw new Malformed("its lengths do not fit");
}

function checkDepth(depth: number): void {
  if (depth > MAX_DEPTH) throw new Malformed(`it is nested deeper than ${MAX_DEPTH} levels`);
}

function finite(value: number): number {
  if (Number.isFinite(value)) return value;
  throw new Malformed(`it holds ${value}; numbers must be finite`);
}

function hasKind(value: JsonValue | undefined): JsonValue {
  if (value === undefined) throw new Malformed("it holds a Value without a kind");
  return value;
}

class Malformed extends Error {}

/** An assignment would make `__proto__` the prototype. */
function put(struct: JsonObject, key: string, value: JsonValue): void {
  if (key === "__proto__") {
    Object.defineProperty(struct, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    struct[key] = value;
  }
}
