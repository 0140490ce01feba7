import {
  create,
  type DescField,
  type DescMessage,
  type Message,
  type MessageInitShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { StructSchema, type Timestamp } from "@bufbuild/protobuf/wkt";
import { checkStruct } from "./check-struct.js";
import { checkText } from "./check-text.js";

/**
 * A message whose 64-bit integers are numbers. Timestamps stay as they are, for `timestampDate` of @bufbuild/protobuf.
 */
export type WithNumbers<T> = T extends bigint
  ? number
  : T extends Timestamp
    ? T
    : T extends readonly (infer Item)[]
      ? WithNumbers<Item>[]
      : T extends Message | OneOf
        ? { [Name in keyof T]: WithNumbers<T[Name]> }
        : T;

/** The type of a request: the generated type, in which 64-bit integers may also be numbers. */
export type NumberInit<T> = T extends bigint
  ? bigint | number
  : T extends Timestamp
    ? T
    : T extends readonly (infer Item)[]
      ? NumberInit<Item>[]
      : T extends Message | OneOf | { readonly $typeName?: string }
        ? { [Name in keyof T]: NumberInit<T[Name]> }
        : T;

type OneOf =
  | { readonly case: string; readonly value?: unknown }
  | { readonly case: undefined; readonly value?: undefined };

/** A copy whose 64-bit integers are numbers. RangeError: one of them is not a safe integer. */
export function withNumbers<T extends Message>(desc: DescMessage, message: T): WithNumbers<T> {
  return mapIntegers(desc, message, "", { integer: safeNumber }) as WithNumbers<T>;
}

/**
 * The request's message, with BigInts for 64-bit integers. RangeError: a number is not a safe integer. TypeError: a
 * Struct holds what JSON cannot hold, or a text holds what UTF-8 cannot hold. Each names the field by its path.
 */
export function fromNumbers<Desc extends DescMessage>(desc: Desc, init: object): Message {
  return create(desc, mapIntegers(desc, init, "", FOR_REQUESTS) as MessageInitShape<Desc>);
}

type Fields = Record<string, unknown>;

interface Convert {
  integer(value: unknown, path: string): unknown;
  /** Checks a text, which stays as it is. */
  text?(value: unknown, path: string): void;
  /** Checks the value of a Struct, which stays as it is. */
  struct?(value: unknown, path: string): void;
}

const FOR_REQUESTS: Convert = { integer: safeBigInt, text: checkText, struct: checkStruct };

/** Copies a message. `path` is its place in the whole message, with a period at the end unless it is the whole. */
function mapIntegers(desc: DescMessage, message: object, path: string, convert: Convert): object {
  if (desc.typeName.startsWith("google.protobuf.")) return message;
  const copy: Fields = { ...message };
  for (const field of desc.fields) {
    if (field.oneof === undefined) {
      if (copy[field.localName] !== undefined)
        copy[field.localName] = mapField(field, copy[field.localName], path, convert);
      continue;
    }
    const chosen = copy[field.oneof.localName] as { case?: string; value?: unknown } | undefined;
    if (chosen?.case === field.localName)
      copy[field.oneof.localName] = { case: chosen.case, value: mapField(field, chosen.value, path, convert) };
  }
  return copy;
}

function mapField(field: DescField, value: unknown, parent: string, convert: Convert): unknown {
  const path = `${parent}${field.name}`;
  switch (field.fieldKind) {
    case "message":
      if (field.message.typeName === StructSchema.typeName) convert.struct?.(value, path);
      return mapIntegers(field.message, value as object, `${path}.`, convert);
    case "scalar":
      return mapScalar(field.scalar, value, path, convert);
    case "list": {
      const { listKind, message, scalar } = field;
      if (listKind === "message")
        return (value as object[]).map((item, i) => mapIntegers(message, item, `${path}[${i}].`, convert));
      if (listKind === "scalar")
        return (value as unknown[]).map((item, i) => mapScalar(scalar, item, `${path}[${i}]`, convert));
      return value;
    }
    case "map":
      for (const [key, item] of Object.entries(value as Fields)) {
        convert.text?.(key, `A key of ${path}`);
        convert.text?.(item, `${path}.${key}`);
      }
      return value;
    default:
      return value;
  }
}

function mapScalar(type: ScalarType, value: unknown, path: string, convert: Convert): unknown {
  if (type === ScalarType.INT64) return convert.integer(value, path);
  if (type === ScalarType.STRING) convert.text?.(value, path);
  return value;
}

function safeNumber(value: unknown, path: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new RangeError(`${path} is ${value}, which no number holds exactly`);
  return number;
}

function safeBigInt(value: unknown, path: string): bigint {
  if (typeof value === "number" && !Number.isSafeInteger(value))
    throw new RangeError(`${path} must be a whole number up to 2^53 - 1, and is ${value}`);
  return BigInt(value as bigint | number);
}
