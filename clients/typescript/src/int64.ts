import {
  create,
  type DescField,
  type DescMessage,
  type Message,
  type MessageInitShape,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import {
  DurationSchema,
  StructSchema,
  type Timestamp,
  TimestampSchema,
  timestampFromDate,
} from "@bufbuild/protobuf/wkt";
import { checkStruct } from "./check-struct.js";
import { checkText } from "./check-text.js";

/**
 * A message whose 64-bit integers are numbers. Timestamps stay as they are; `dateOf` makes a Date of them.
 * JSON.stringify gives the API's JSON of the message, and of each message within.
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

/** The type of a request: the generated type, in which 64-bit integers may also be numbers, and times also Dates. */
export type NumberInit<T> = T extends bigint
  ? bigint | number
  : T extends Timestamp
    ? T | Date
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
  return mapIntegers(desc, message, "", OF_ANSWERS) as WithNumbers<T>;
}

/**
 * The request's message, with BigInts for 64-bit integers and Timestamps for Dates. RangeError: a number is not a safe
 * integer, or a Date is not valid. TypeError: a Struct holds what JSON cannot hold, or a text holds what UTF-8 cannot
 * hold. Each names the field by its path.
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
  timestamp(value: object, path: string): object;
  /** Completes the copy of a message. */
  message(desc: DescMessage, copy: Fields): object;
}

const FOR_REQUESTS: Convert = {
  integer: safeBigInt,
  text: checkText,
  struct: checkStruct,
  timestamp: fromDate,
  message: (_desc, copy) => copy,
};

const OF_ANSWERS: Convert = {
  integer: safeNumber,
  timestamp: (value) => withJson(TimestampSchema, { ...value }),
  // The name stays, but is no property that copies and comparisons see.
  message: (desc, copy) => withJson(desc, Object.defineProperty(copy, "$typeName", { enumerable: false })),
};

/** Copies a message. `path` is its place in the whole message, with a period at the end unless it is the whole. */
function mapIntegers(desc: DescMessage, message: object, path: string, convert: Convert): object {
  if (desc.typeName === TimestampSchema.typeName) return convert.timestamp(message, path);
  if (desc.typeName.startsWith("google.protobuf.") && desc.typeName !== DurationSchema.typeName) return message;
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
  return convert.message(desc, copy);
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

function fromDate(value: object, path: string): object {
  if (!(value instanceof Date)) return value;
  if (Number.isNaN(value.getTime())) throw new RangeError(`${path.slice(0, -1)} is not a valid Date`);
  return timestampFromDate(value);
}

/**
 * Gives a message of an answer the method that JSON.stringify calls. It returns the API's JSON as REST sends it, with
 * zero values, times as RFC 3339 and 64-bit integers as texts. Copies and comparisons do not see the method.
 */
function withJson(desc: DescMessage, message: object): object {
  const value = () => toJson(desc, message as Message, { alwaysEmitImplicit: true });
  return Object.defineProperty(message, "toJSON", { value });
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
