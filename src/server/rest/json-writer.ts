import {
  type DescField,
  type DescMessage,
  type DescOneof,
  type JsonValue,
  type Message,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";

/** Writes a message as proto3 JSON text, zero values included. */
export type MessageWriter = (message: Message) => string;

type ValueWriter = (value: unknown) => string;

/** Writes `"name":value`, or nothing for a field that is not set. */
type MemberWriter = (message: Record<string, unknown>) => string;

const compiled = new WeakMap<DescMessage, MessageWriter>();

/** Compiles what protobuf-es' `toJson` does by reflection; a kind of field that this API has nowhere is left to it. */
export function messageWriter(desc: DescMessage): MessageWriter {
  const known = compiled.get(desc);
  if (known) return known;
  let writer: MessageWriter | undefined;
  // Set before the fields are compiled: a message may contain itself.
  compiled.set(desc, (message) => (writer as MessageWriter)(message));
  writer = compile(desc);
  compiled.set(desc, writer);
  return writer;
}

/** Writes the value of one field of a message, as `response_body` asks for. */
export function fieldWriter(field: DescField): MessageWriter {
  const write = compileField(field);
  const fallback = (message: Message) =>
    JSON.stringify(
      (toJson(field.parent, message, { alwaysEmitImplicit: true }) as Record<string, JsonValue>)[field.jsonName] ??
        null,
    );
  if (!write) return fallback;
  return (message) => {
    const value = (message as Message & Record<string, unknown>)[field.localName];
    return value === undefined ? "null" : write(value);
  };
}

function compile(desc: DescMessage): MessageWriter {
  const sorted = [...desc.fields].sort((a, b) => a.number - b.number);
  const members = sorted.map(compileMember);
  if (members.some((member) => member === undefined)) {
    return (message) => JSON.stringify(toJson(desc, message, { alwaysEmitImplicit: true }));
  }
  return (message) => {
    let text = "";
    for (const member of members as MemberWriter[]) {
      const one = member(message as Message & Record<string, unknown>);
      if (one !== "") text = text === "" ? one : `${text},${one}`;
    }
    return `{${text}}`;
  };
}

function compileMember(field: DescField): MemberWriter | undefined {
  const write = compileField(field);
  if (!write) return undefined;
  const key = `${JSON.stringify(field.jsonName)}:`;
  const { localName, oneof } = field;
  if (oneof) return compileOneofMember(oneof, localName, key, write);
  return (message) => {
    const value = message[localName];
    return value === undefined ? "" : key + write(value);
  };
}

function compileOneofMember(oneof: DescOneof, localName: string, key: string, write: ValueWriter): MemberWriter {
  return (message) => {
    const chosen = message[oneof.localName] as { case: string | undefined; value?: unknown };
    return chosen.case === localName ? key + write(chosen.value) : "";
  };
}

function compileField(field: DescField): ValueWriter | undefined {
  switch (field.fieldKind) {
    case "scalar":
      return SCALARS[field.scalar];
    case "message":
      return compileMessageValue(field.message);
    case "list": {
      if (field.listKind === "enum") return undefined;
      // In lists Structs are messages, and not plain objects as they are in fields.
      const isStruct = field.listKind === "message" && field.message.typeName === "google.protobuf.Struct";
      const write = field.listKind === "scalar" ? SCALARS[field.scalar] : compileMessageValue(field.message);
      return write && !isStruct ? (value) => writeList(write, value as readonly unknown[]) : undefined;
    }
    default:
      return undefined;
  }
}

function writeList(write: ValueWriter, values: readonly unknown[]): string {
  let text = "";
  for (const value of values) text = text === "" ? write(value) : `${text},${write(value)}`;
  return `[${text}]`;
}

function compileMessageValue(desc: DescMessage): ValueWriter | undefined {
  if (!desc.typeName.startsWith("google.protobuf.")) return messageWriter(desc) as ValueWriter;
  if (desc.typeName === "google.protobuf.Struct") return writeStruct;
  return desc.typeName === TimestampSchema.typeName ? (value) => writeTimestamp(value as Timestamp) : undefined;
}

const SCALARS: { readonly [K in ScalarType]?: ValueWriter } = {
  [ScalarType.STRING]: (value) => writeString(value as string),
  [ScalarType.BOOL]: String,
  [ScalarType.INT32]: String,
  [ScalarType.INT64]: (value) => `"${value}"`,
};

/** What JSON has to escape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const NEEDS_ESCAPE = /[\u0000-\u001f"\\\ud800-\udfff]/;

function writeString(text: string): string {
  return text.length > 64 || NEEDS_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`;
}

function writeStruct(value: unknown): string {
  return JSON.stringify(value, refuseNonFinite);
}

/** JSON.stringify would write null. */
function refuseNonFinite(key: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) throw new Error(`The number at ${key} has no JSON form`);
  return value;
}

const MIN_SECONDS = BigInt(Date.parse("0001-01-01T00:00:00Z") / 1000);
const MAX_SECONDS = BigInt(Date.parse("9999-12-31T23:59:59Z") / 1000);

/** RFC 3339 with no, 3, 6 or 9 digits after the point. */
function writeTimestamp({ seconds, nanos }: Timestamp): string {
  if (seconds < MIN_SECONDS || seconds > MAX_SECONDS || nanos < 0 || nanos > 999_999_999) {
    throw new Error(`The time of ${seconds} s and ${nanos} ns has no JSON form`);
  }
  const toSeconds = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  if (nanos === 0) return `"${toSeconds}Z"`;
  const digits = String(nanos).padStart(9, "0");
  return `"${toSeconds}.${digits.replace(/(000){1,2}$/, "")}Z"`;
}
