import {
  create,
  type DescEnum,
  type DescField,
  type DescMessage,
  fromJson,
  type JsonValue,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { FieldMaskSchema, type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { FieldError, invalidArgument } from "../api/api-error.js";
import { MOST_PATHS, TOO_MANY_PATHS } from "../api/field-mask.js";

/**
 * Makes a message from parsed proto3 JSON. A problem names the field. The objects of the JSON may become part of the
 * message.
 */
export type MessageReader = (json: unknown) => Message;

type ValueReader = (json: unknown) => unknown;

interface FieldReader {
  readonly localName: string;
  readonly name: string;
  /** Whether the proto's name is also accepted as a JSON key. */
  readonly hasTwoKeys: boolean;
  readonly isList: boolean;
  /** The name of the oneof that holds the value. */
  readonly oneof: string | undefined;
  /** Whether `null` may be a value rather than an absent one; then `read` decides. */
  readonly takesNull: boolean;
  readonly read: ValueReader;
}

const compiled = new WeakMap<DescMessage, MessageReader>();

/**
 * Compiles what protobuf-es' `fromJson` does by reflection. Fields of a kind unknown to this reader are left to
 * `fromJson`. The file is long because it holds the reader of each kind of value beside what chooses among them.
 */
export function messageReader(desc: DescMessage): MessageReader {
  const known = compiled.get(desc);
  if (known) return known;
  let reader: MessageReader | undefined;
  // Set before the fields are compiled, because a message may contain itself.
  compiled.set(desc, (json) => (reader as MessageReader)(json));
  reader = compile(desc);
  compiled.set(desc, reader);
  return reader;
}

function compile(desc: DescMessage): MessageReader {
  const byKey = new Map<string, FieldReader>();
  for (const field of desc.fields) {
    const reader = compileField(field);
    byKey.set(field.name, reader).set(field.jsonName, reader);
  }
  const zero = withAllFields(desc);
  const lists = desc.fields.filter((field) => field.fieldKind === "list").map((field) => field.localName);
  const maps = desc.fields.filter((field) => field.fieldKind === "map").map((field) => field.localName);
  const oneofs = desc.oneofs.map((oneof) => oneof.localName);
  return (json) => {
    const message: Message & Record<string, unknown> = { ...zero };
    for (const list of lists) message[list] = [];
    for (const map of maps) message[map] = {};
    for (const oneof of oneofs) message[oneof] = { case: undefined };
    readFields(byKey, message, json);
    return message;
  };
}

/** A zero message that has its unset fields as properties too, because adding properties one by one is slow. */
function withAllFields(desc: DescMessage): Message & Record<string, unknown> {
  const unset = desc.fields.filter(({ oneof }) => !oneof).map(({ localName }) => [localName, undefined]);
  return { ...Object.fromEntries(unset), ...create(desc) };
}

function readFields(byKey: ReadonlyMap<string, FieldReader>, message: Record<string, unknown>, json: unknown): void {
  let seen: FieldReader[] | undefined;
  const object = asObject(json);
  for (const key of Object.keys(object)) {
    const field = byKey.get(key);
    if (!field) throw new FieldError("", `unknown field ${JSON.stringify(key)}`);
    if (field.hasTwoKeys) {
      if (seen?.includes(field)) throw new FieldError("", `${field.name} is set twice`);
      seen = seen ?? [];
      seen.push(field);
    }
    const value = object[key];
    if (value === null && !field.takesNull) continue;
    try {
      const read = field.isList ? readList(field.read, value) : field.read(value);
      if (read === undefined) continue;
      if (field.oneof === undefined) message[field.localName] = read;
      else setOneof(message, field.oneof, field.localName, read);
    } catch (error) {
      throw within(field.name, error);
    }
  }
}

function readList(read: ValueReader, json: unknown): unknown[] {
  if (!Array.isArray(json)) throw expected("a list", json);
  return json.map((item, index) => {
    try {
      return read(item);
    } catch (error) {
      throw within(`[${index}]`, error);
    }
  });
}

function setOneof(message: Record<string, unknown>, oneof: string, name: string, value: unknown): void {
  const { case: other } = message[oneof] as { case: string | undefined };
  if (other !== undefined) throw new FieldError("", `only one of ${oneof} may be set`);
  message[oneof] = { case: name, value };
}

function compileField(field: DescField): FieldReader {
  const read = compileValue(field);
  return {
    localName: field.localName,
    name: field.name,
    hasTwoKeys: field.name !== field.jsonName,
    isList: read !== undefined && field.fieldKind === "list",
    oneof: field.oneof?.localName,
    takesNull: read === undefined,
    read: read ?? libraryReader(field),
  };
}

/** Makes the library read a message that holds only this field; undefined if that leaves the field unset. */
function libraryReader({ parent, jsonName, localName, oneof }: DescField): ValueReader {
  return (json) => {
    const alone = readByReflection(parent, { [jsonName]: json }) as Message & Record<string, unknown>;
    if (oneof === undefined) return alone[localName];
    const chosen = alone[oneof.localName] as { case: string | undefined; value?: unknown };
    return chosen.case === localName ? chosen.value : undefined;
  };
}

function compileValue(field: DescField): ValueReader | undefined {
  switch (field.fieldKind) {
    case "scalar":
      return field.longAsString ? undefined : SCALARS[field.scalar];
    case "message":
      return compileMessageValue(field.message);
    case "list":
      if (field.listKind === "scalar") return field.longAsString ? undefined : SCALARS[field.scalar];
      // In lists, Structs are messages rather than plain objects.
      return field.listKind === "message" && !isStruct(field.message) ? compileMessageValue(field.message) : undefined;
    case "enum":
      return field.enum.typeName === "google.protobuf.NullValue" ? undefined : enumReader(field.enum);
    case "map":
      return field.mapKey === ScalarType.STRING && field.scalar === ScalarType.STRING ? readTextMap : undefined;
    default:
      return undefined;
  }
}

function compileMessageValue(desc: DescMessage): ValueReader | undefined {
  if (!desc.typeName.startsWith("google.protobuf.")) return messageReader(desc);
  if (isStruct(desc)) return readStruct;
  if (desc.typeName === TimestampSchema.typeName) return readTimestamp;
  return desc.typeName === FieldMaskSchema.typeName ? readFieldMask : undefined;
}

const SCALARS: { readonly [K in ScalarType]?: ValueReader } = {
  [ScalarType.STRING]: readString,
  [ScalarType.BOOL]: readBool,
  [ScalarType.INT32]: readInt32,
  [ScalarType.INT64]: readInt64,
};

function readString(json: unknown): string {
  if (typeof json !== "string") throw expected("a string", json);
  return json;
}

function readBool(json: unknown): boolean {
  if (typeof json !== "boolean") throw expected("true or false", json);
  return json;
}

function readInt32(json: unknown): number {
  const value = typeof json === "string" && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(json) ? Number(json) : json;
  if (typeof value !== "number" || (value | 0) !== value) throw expected("a 32-bit integer", json);
  return value | 0;
}

function readInt64(json: unknown): bigint {
  if (typeof json === "number" && Number.isSafeInteger(json)) return BigInt(json);
  if (typeof json === "string" && /^-?\d{1,24}$/.test(json)) {
    const value = BigInt(json);
    if (BigInt.asIntN(64, value) === value) return value;
  }
  throw expected("a 64-bit integer (as a string when it is beyond 2^53)", json);
}

/** A number need not be one that the enum knows, because enums may grow. */
function enumReader({ values }: DescEnum): ValueReader {
  return (json) => {
    const value = values.find(({ name }) => name === json)?.number ?? json;
    if (typeof value === "number" && (value | 0) === value) return value | 0;
    throw expected(values.map(({ name }) => name).join(" or "), json);
  };
}

const RFC3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;
const MIN_TIME_MS = Date.parse("0001-01-01T00:00:00Z");
const MAX_TIME_MS = Date.parse("9999-12-31T23:59:59Z");

function readTimestamp(json: unknown): Timestamp {
  const [, toSeconds, fraction, zone] = (typeof json === "string" && RFC3339.exec(json)) || [];
  const ms = Date.parse(`${toSeconds}${zone}`);
  if (!(ms >= MIN_TIME_MS && ms <= MAX_TIME_MS && isOnCalendar(`${toSeconds}`)))
    throw expected("a time like 2026-01-31T12:00:00.5Z", json);
  const nanos = fraction === undefined ? 0 : Number(fraction.padEnd(9, "0"));
  return { $typeName: TimestampSchema.typeName, seconds: BigInt(ms / 1000), nanos };
}

/** Date.parse takes 30 February as 2 March, and 24:00 as 0:00 of the next day. */
function isOnCalendar(toSeconds: string): boolean {
  return new Date(`${toSeconds}Z`).toISOString().startsWith(toSeconds);
}

/** Far more than the longest names of all fields take. */
const MOST_MASK_CHARACTERS = 10_000;

/** The library takes `Title` for `_title`, and makes several bytes of memory of each character. */
function readFieldMask(json: unknown): Message {
  if (typeof json !== "string" || /_|(^|[.,])[A-Z]/.test(json))
    throw expected('names in lowerCamelCase with commas between them, such as "title,expireTime"', json);
  // In JSON a mask is one text, so the scan of values has not counted its paths.
  if (hasMoreCommas(json, MOST_PATHS - 1)) throw invalidArgument(TOO_MANY_PATHS);
  if (json.length > MOST_MASK_CHARACTERS) throw new FieldError("", `longer than ${MOST_MASK_CHARACTERS} characters`);
  return fromJson(FieldMaskSchema, json);
}

function hasMoreCommas(text: string, limit: number): boolean {
  let at = -1;
  for (let commas = 0; commas <= limit; commas++) {
    at = text.indexOf(",", at + 1);
    if (at < 0) return false;
  }
  return true;
}

function readTextMap(json: unknown): Record<string, string> {
  const map = asObject(json);
  for (const key of Object.keys(map)) {
    if (typeof map[key] !== "string") throw expected("a string", map[key]).within(`[${JSON.stringify(key)}]`);
  }
  return map as Record<string, string>;
}

function readStruct(json: unknown): Record<string, unknown> {
  const struct = asObject(json);
  for (const key of Object.keys(struct)) checkStructValue(struct[key], key);
  return struct;
}

/** JSON.parse reads 1e999 as Infinity. */
function checkStructValue(value: unknown, name: string | number): void {
  if (typeof value === "number" && !Number.isFinite(value))
    throw new FieldError("", `the number at ${name} is too large`);
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) value.forEach(checkStructValue);
  else readStruct(value);
}

function readByReflection(desc: DescMessage, json: unknown): Message {
  try {
    return fromJson(desc, json as JsonValue);
  } catch (error) {
    throw new FieldError("", `${error instanceof Error ? error.message : String(error)}`);
  }
}

function asObject(json: unknown): Record<string, unknown> {
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw expected("an object", json);
  return json as Record<string, unknown>;
}

function isStruct(desc: DescMessage): boolean {
  return desc.typeName === "google.protobuf.Struct";
}

function expected(what: string, json: unknown): FieldError {
  const text = isLargeInteger(json) ? String(BigInt(json)) : textOf(json);
  return new FieldError("", `expected ${what}, got ${text.length > 40 ? `${text.slice(0, 40)}…` : text}`);
}

/** JSON.parse reads 1e999 as Infinity, which JSON.stringify would write as null. */
function textOf(json: unknown): string {
  if (typeof json === "number" && !Number.isFinite(json)) return "a number that is too large";
  return JSON.stringify(json) ?? String(json);
}

/**
 * Whether this is an integer for which JSON.stringify probably writes other digits than the client did. For example,
 * 2^63 ends in 808, but JSON.stringify writes 000.
 */
function isLargeInteger(json: unknown): json is number {
  return Number.isInteger(json) && !Number.isSafeInteger(json) && Math.abs(json as number) < 1e21;
}

/** Puts the field's name before the path in an error of its value. */
function within(name: string, error: unknown): unknown {
  return error instanceof FieldError ? error.within(name) : error;
}
