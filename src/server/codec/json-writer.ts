import {
  create,
  type DescField,
  type DescMessage,
  type JsonValue,
  type Message,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import type { JsonText } from "../../domain/message-body.js";
import { JsonPieces, piecesWriter } from "./json-pieces.js";
import { timestampText } from "./timestamp-text.js";

/** Writes a message as proto3 JSON, zero values included: as bytes where it passes on stored messages, else as text. The text of a frozen message is kept: it can only be the same. */
export type MessageWriter = (message: Message) => JsonText;

/** Makes what JSON.stringify writes: one call for a whole message is several times as fast as one for each text in it. */
type Converter = (value: unknown) => unknown;

interface Member {
  readonly key: string;
  readonly localName: string;
  /** Name of the oneof that holds the value. */
  readonly oneof: string | undefined;
  readonly convert: Converter;
}

const compiled = new WeakMap<DescMessage, Converter>();

/** Compiles what protobuf-es' `toJson` does by reflection; fields of a kind that this writer does not know are left to `toJson`. */
export function jsonMessageWriter(desc: DescMessage): MessageWriter {
  const writePieces = piecesWriter(desc, { memberOf, converterOf: messageConverter });
  if (writePieces !== undefined) {
    return (message) => {
      const pieces = new JsonPieces();
      writePieces(pieces, message);
      return pieces.finish();
    };
  }
  const convert = messageConverter(desc);
  return keepingFrozen((message) => JSON.stringify(convert(message)));
}

function memberOf(field: DescField): (message: Message) => unknown {
  const member = compileMember(field);
  return (message) => {
    const value = read(message as Message & Record<string, unknown>, member);
    return value === undefined ? undefined : member.convert(value);
  };
}

/** Writes the value of one field of a message, as `response_body` asks for; null if it is not set. */
export function fieldWriter(field: DescField): MessageWriter {
  const convert = messageConverter(field.parent);
  return keepingFrozen((message) => {
    const json = convert(message) as Record<string, unknown>;
    return JSON.stringify(json[field.jsonName] ?? null);
  });
}

function keepingFrozen(write: MessageWriter): MessageWriter {
  const texts = new WeakMap<Message, JsonText>();
  return (message) => {
    if (!Object.isFrozen(message)) return write(message);
    const known = texts.get(message);
    if (known !== undefined) return known;
    const text = write(message);
    texts.set(message, text);
    return text;
  };
}

function messageConverter(desc: DescMessage): Converter {
  const known = compiled.get(desc);
  if (known) return known;
  let converter: Converter | undefined;
  // Set before the fields are compiled: a message may contain itself.
  compiled.set(desc, (message) => (converter as Converter)(message));
  converter = compile(desc);
  compiled.set(desc, converter);
  return converter;
}

function compile(desc: DescMessage): Converter {
  const sorted = [...desc.fields].sort((a, b) => a.number - b.number);
  const members = sorted.map(compileMember);
  return (message) => {
    const json: Record<string, unknown> = {};
    for (const member of members) {
      const value = read(message as Record<string, unknown>, member);
      if (value === undefined) continue;
      const converted = member.convert(value);
      if (converted !== undefined) json[member.key] = converted;
    }
    return json;
  };
}

function read(message: Record<string, unknown>, { localName, oneof }: Member): unknown {
  if (oneof === undefined) return message[localName];
  const chosen = message[oneof] as { case: string | undefined; value?: unknown };
  return chosen.case === localName ? chosen.value : undefined;
}

function compileMember(field: DescField): Member {
  const convert = compileField(field) ?? libraryConverter(field);
  return { key: field.jsonName, localName: field.localName, oneof: field.oneof?.localName, convert };
}

/** Has the library write a message that holds this field alone. */
function libraryConverter({ parent, jsonName, localName, oneof }: DescField): Converter {
  return (value) => {
    const alone: Message & Record<string, unknown> = create(parent);
    if (oneof === undefined) alone[localName] = value;
    else alone[oneof.localName] = { case: localName, value };
    return (toJson(parent, alone, { alwaysEmitImplicit: true }) as Record<string, unknown>)[jsonName];
  };
}

function compileField(field: DescField): Converter | undefined {
  switch (field.fieldKind) {
    case "scalar":
      return SCALARS[field.scalar];
    case "message":
      return compileMessageValue(field.message);
    case "list": {
      // In lists Structs are messages, and not plain objects as they are in fields.
      if (field.listKind === "enum" || field.message?.typeName === STRUCT) return undefined;
      const convert = field.message ? compileMessageValue(field.message) : SCALARS[field.scalar as ScalarType];
      return convert && ((values) => (values as unknown[]).map(convert));
    }
    case "map":
      // The values of such a map are JSON as they are.
      return field.mapKey === ScalarType.STRING && field.scalar === ScalarType.STRING ? asIs : undefined;
    default:
      return undefined;
  }
}

const STRUCT = "google.protobuf.Struct";

function compileMessageValue(desc: DescMessage): Converter | undefined {
  if (!desc.typeName.startsWith("google.protobuf.")) return messageConverter(desc);
  if (desc.typeName === STRUCT) return checkStruct;
  return desc.typeName === TimestampSchema.typeName ? (timestampText as Converter) : undefined;
}

const SCALARS: { readonly [K in ScalarType]?: Converter } = {
  [ScalarType.STRING]: asIs,
  [ScalarType.BOOL]: asIs,
  [ScalarType.INT32]: asIs,
  [ScalarType.INT64]: (value) => String(value),
};

function asIs(value: unknown): unknown {
  return value;
}

/** A Struct is JSON already, but for numbers that JSON.stringify would write as null. */
function checkStruct(value: unknown): unknown {
  const struct = value as { readonly [key: string]: JsonValue };
  for (const key of Object.keys(struct)) checkStructValue(struct[key]);
  return struct;
}

function checkStructValue(value: JsonValue | undefined): void {
  if (typeof value === "number" && !Number.isFinite(value)) throw new Error(`${value} in a Struct has no JSON form`);
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) value.forEach(checkStructValue);
  else checkStruct(value);
}
