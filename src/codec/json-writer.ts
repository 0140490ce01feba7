import {
  create,
  type DescField,
  type DescMessage,
  type JsonValue,
  type Message,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence as Presence, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { toByteString, type Utf8 } from "../domain/byte-string.js";
import { type FieldJson, JsonPieces, piecesWriter } from "./json-pieces.js";
import { timestampText } from "./timestamp-text.js";

/**
 * Writes a message as proto3 JSON, including zero values, as the bytes that are sent. The JSON of a frozen message is
 * cached, because it cannot change.
 */
export type MessageWriter = (message: Message) => Utf8;

/**
 * Makes the value that JSON.stringify writes. One call for a whole message is several times as fast as one for each of
 * its texts.
 */
type Converter = (value: unknown) => unknown;

interface Member {
  readonly key: string;
  readonly localName: string;
  /** The name of the oneof that holds the value. */
  readonly oneof: string | undefined;
  readonly convert: Converter;
}

/**
 * Compiles what protobuf-es' `toJson` does by reflection. Fields of a kind unknown to this writer are left to `toJson`.
 */
export function jsonMessageWriter(desc: DescMessage): MessageWriter {
  return ALL_VALUES.writer(desc);
}

/**
 * Compiles a writer like {@link jsonMessageWriter} that leaves out zero values, as Connect writes JSON. Parts keep them
 * in any case, because stored parts have them and a client must not see which messages came from the store.
 */
export function shortMessageWriter(desc: DescMessage): MessageWriter {
  return SET_VALUES.writer(desc);
}

/** Writes the value of one field of a message, as `response_body` demands; null if it is not set. */
export function fieldWriter(field: DescField): MessageWriter {
  const convert = ALL_VALUES.converterOf(field.parent);
  return keepingFrozen((message) => {
    const json = convert(message) as Record<string, unknown>;
    return toByteString(JSON.stringify(json[field.jsonName] ?? null));
  });
}

function keepingFrozen(write: MessageWriter): MessageWriter {
  const cached = new WeakMap<Message, Utf8>();
  return (message) => {
    if (!Object.isFrozen(message)) return write(message);
    const known = cached.get(message);
    if (known !== undefined) return known;
    const json = write(message);
    cached.set(message, json);
    return json;
  };
}

/** Compiles types, with or without their zero values. */
class JsonCompiler implements FieldJson {
  readonly omitsZeros: boolean;
  readonly #compiled = new WeakMap<DescMessage, Converter>();

  constructor(options: { readonly omitsZeros: boolean }) {
    this.omitsZeros = options.omitsZeros;
  }

  writer(desc: DescMessage): MessageWriter {
    const writePieces = piecesWriter(desc, this);
    if (writePieces !== undefined) {
      return (message) => {
        const pieces = new JsonPieces();
        writePieces(pieces, message);
        return pieces.finish();
      };
    }
    const convert = this.converterOf(desc);
    return keepingFrozen((message) => toByteString(JSON.stringify(convert(message))));
  }

  converterOf(desc: DescMessage): Converter {
    const known = this.#compiled.get(desc);
    if (known) return known;
    let converter: Converter | undefined;
    // Set before the fields are compiled, because a message may contain itself.
    this.#compiled.set(desc, (message) => (converter as Converter)(message));
    converter = this.#compile(desc);
    this.#compiled.set(desc, converter);
    return converter;
  }

  memberOf(field: DescField): (message: Message) => unknown {
    const member = this.#member(field);
    return (message) => {
      const value = read(message as Message & Record<string, unknown>, member);
      return value === undefined ? undefined : member.convert(value);
    };
  }

  #compile(desc: DescMessage): Converter {
    const sorted = [...desc.fields].sort((a, b) => a.number - b.number);
    const members = sorted.map((field) => this.#member(field));
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

  #member(field: DescField): Member {
    const convert = this.#field(field) ?? libraryConverter(field);
    const isShort = this.omitsZeros && field.presence === Presence.IMPLICIT && field.parent.typeName !== PART;
    return {
      key: field.jsonName,
      localName: field.localName,
      oneof: field.oneof?.localName,
      convert: isShort ? (value) => (isZero(value, field) ? undefined : convert(value)) : convert,
    };
  }

  #field(field: DescField): Converter | undefined {
    switch (field.fieldKind) {
      case "scalar":
        return SCALARS[field.scalar];
      case "message":
        return this.#messageValue(field.message);
      case "list": {
        // In lists, Structs are messages rather than plain objects.
        if (field.listKind === "enum" || field.message?.typeName === STRUCT) return undefined;
        const convert = field.message ? this.#messageValue(field.message) : SCALARS[field.scalar as ScalarType];
        return convert && ((values) => (values as unknown[]).map(convert));
      }
      case "map":
        // The values of such a map are valid JSON already.
        return field.mapKey === ScalarType.STRING && field.scalar === ScalarType.STRING ? asIs : undefined;
      default:
        return undefined;
    }
  }

  #messageValue(desc: DescMessage): Converter | undefined {
    if (!desc.typeName.startsWith("google.protobuf.")) return this.converterOf(desc);
    if (desc.typeName === STRUCT) return checkStruct;
    return desc.typeName === TimestampSchema.typeName ? (timestampText as Converter) : undefined;
  }
}

const STRUCT = "google.protobuf.Struct";
const PART = "sessionpool.v1.Part";
const ALL_VALUES = new JsonCompiler({ omitsZeros: false });
const SET_VALUES = new JsonCompiler({ omitsZeros: true });

function isZero(value: unknown, { fieldKind }: DescField): boolean {
  if (fieldKind === "list") return (value as unknown[]).length === 0;
  if (fieldKind === "map") return Object.keys(value as object).length === 0;
  return value === "" || value === false || value === 0 || value === 0n;
}

function read(message: Record<string, unknown>, { localName, oneof }: Member): unknown {
  if (oneof === undefined) return message[localName];
  const chosen = message[oneof] as { case: string | undefined; value?: unknown };
  return chosen.case === localName ? chosen.value : undefined;
}

/** Makes the library write a message that holds only this field. */
function libraryConverter({ parent, jsonName, localName, oneof }: DescField): Converter {
  return (value) => {
    const alone: Message & Record<string, unknown> = create(parent);
    if (oneof === undefined) alone[localName] = value;
    else alone[oneof.localName] = { case: localName, value };
    return (toJson(parent, alone, { alwaysEmitImplicit: true }) as Record<string, unknown>)[jsonName];
  };
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

/** A Struct is JSON already, except for numbers that JSON.stringify would write as null. */
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
