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
  return mapIntegers(desc, message, { integer: safeNumber, struct: () => {} }) as WithNumbers<T>;
}

/**
 * The request's message, with BigInts for 64-bit integers. RangeError: a number is not a safe integer. TypeError: a
 * Struct holds what JSON cannot hold.
 */
export function fromNumbers<Desc extends DescMessage>(desc: Desc, init: object): Message {
  return create(desc, mapIntegers(desc, init, { integer: safeBigInt, struct: checkStruct }) as MessageInitShape<Desc>);
}

type Fields = Record<string, unknown>;

interface Convert {
  integer(value: unknown, name: string): unknown;
  /** Checks the value of a Struct, which stays as it is. */
  struct(value: unknown, name: string): void;
}

function mapIntegers(desc: DescMessage, message: object, convert: Convert): object {
  if (desc.typeName.startsWith("google.protobuf.")) return message;
  const copy: Fields = { ...message };
  for (const field of desc.fields) {
    if (field.oneof === undefined) {
      if (copy[field.localName] !== undefined) copy[field.localName] = mapField(field, copy[field.localName], convert);
      continue;
    }
    const chosen = copy[field.oneof.localName] as { case?: string; value?: unknown } | undefined;
    if (chosen?.case === field.localName)
      copy[field.oneof.localName] = { case: chosen.case, value: mapField(field, chosen.value, convert) };
  }
  return copy;
}

function mapField(field: DescField, value: unknown, convert: Convert): unknown {
  switch (field.fieldKind) {
    case "message":
      if (field.message.typeName === StructSchema.typeName) convert.struct(value, field.name);
      return mapIntegers(field.message, value as object, convert);
    case "scalar":
      return field.scalar === ScalarType.INT64 ? convert.integer(value, field.name) : value;
    case "list":
      if (field.listKind === "message")
        return (value as object[]).map((item) => mapIntegers(field.message, item, convert));
      return field.listKind === "scalar" && field.scalar === ScalarType.INT64
        ? (value as unknown[]).map((item) => convert.integer(item, field.name))
        : value;
    default:
      return value;
  }
}

function safeNumber(value: unknown, name: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new RangeError(`${name} is ${value}, which no number holds exactly`);
  return number;
}

function safeBigInt(value: unknown, name: string): bigint {
  if (typeof value === "number" && !Number.isSafeInteger(value))
    throw new RangeError(`${name} must be a whole number up to 2^53 - 1, and is ${value}`);
  return BigInt(value as bigint | number);
}
