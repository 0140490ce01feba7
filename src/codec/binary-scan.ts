import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { ApiError, invalidArgument } from "../api/api-error.js";
import { MAX_DEPTH, tooDeep, tooManyValues } from "./value-room.js";

/** What a scan has to know of a message type. */
interface Shape {
  readonly fields: Map<number, FieldShape>;
  /**
   * How many fields count together with the one that holds the message: the key and the value of a map's entry, and the
   * kind of a Value. These messages are no level of nesting of their own either.
   */
  readonly uncounted: number;
}

interface FieldShape {
  readonly name: string;
  readonly wireType: WireType;
  /** The size of an element in a packed list, 0 if its elements are varints; undefined if the field is no such list. */
  readonly packedBytes: number | undefined;
  readonly message: Shape | undefined;
  /** Whether the field holds a Struct, which has a decoder of its own. */
  readonly isStruct: boolean;
}

const STRUCT = "google.protobuf.Struct";
const VALUE = "google.protobuf.Value";
const LENGTHS = "its lengths do not fit";
const shapes = new Map<string, Shape>();

/**
 * Makes the scan of a message type: it counts the values in bytes without decoding them, and stops at the first one
 * above `limit`. It descends wherever the decoders do, and refuses what they would read in another way: a field with
 * the wrong wire type, and a message that is longer than the one around it.
 */
export function binaryScan(desc: DescMessage): (bytes: Uint8Array, limit: number) => number {
  const shape = shapeOf(desc);
  return (bytes, limit) => {
    const scan = new Scan(bytes, limit);
    scan.message(shape, bytes.length, 1, false);
    return scan.values;
  };
}

class Scan {
  values = 0;
  readonly #bytes: Uint8Array;
  readonly #reader: BinaryReader;
  readonly #limit: number;

  constructor(bytes: Uint8Array, limit: number) {
    this.#bytes = bytes;
    this.#reader = new BinaryReader(bytes);
    this.#limit = limit;
  }

  /** The depth, and so the recursion, is limited. `isLenient`: whether a wrong wire type makes a field unknown. */
  message(shape: Shape, end: number, depth: number, isLenient: boolean): void {
    if (depth > MAX_DEPTH) throw tooDeep("The request");
    const reader = this.#reader;
    let uncounted = shape.uncounted;
    while (reader.pos < end) {
      const [no, wireType] = reader.tag();
      if (uncounted > 0) uncounted -= 1;
      else this.#count(1);
      const field = shape.fields.get(no);
      if (field === undefined) this.#skip(wireType, no, depth);
      else if (wireType === field.wireType) this.#field(field, no, end, depth, isLenient);
      else if (wireType === WireType.LengthDelimited && field.packedBytes !== undefined) this.#packed(field, end);
      else if (isLenient) this.#skip(wireType, no, depth);
      else throw new Error(`${field.name} has the wrong wire type`);
    }
    if (reader.pos > end) throw new Error(LENGTHS);
  }

  #field(field: FieldShape, no: number, outerEnd: number, depth: number, isLenient: boolean): void {
    const { message, isStruct } = field;
    if (message === undefined) {
      this.#skip(field.wireType, no, depth);
      return;
    }
    const end = this.#end(outerEnd);
    const level = message.uncounted > 0 ? depth : depth + 1;
    if (isStruct && !isLenient) this.#struct(field, end, level);
    else this.message(message, end, level, isLenient);
  }

  /**
   * The decoder of Structs takes a field with a wrong wire type for an unknown one, and names the Struct in its errors.
   */
  #struct({ name, message }: FieldShape, end: number, depth: number): void {
    try {
      this.message(message as Shape, end, depth, true);
    } catch (cause) {
      if (cause instanceof ApiError) throw cause;
      const why = cause instanceof Error && cause.message === LENGTHS ? LENGTHS : "its bytes are not protobuf";
      throw invalidArgument(`${name} is malformed: ${why}`, { cause });
    }
  }

  #packed({ packedBytes }: FieldShape, outerEnd: number): void {
    const reader = this.#reader;
    const end = this.#end(outerEnd);
    if (packedBytes === 0) this.#count(this.#varints(reader.pos, end));
    else this.#count((end - reader.pos) / (packedBytes as number));
    reader.pos = end;
  }

  /** The last byte of a varint, and only that one, lacks the high bit. */
  #varints(start: number, end: number): number {
    let count = 0;
    for (let i = start; i < end; i++) if ((this.#bytes[i] as number) < 0x80) count += 1;
    return count;
  }

  /** Skips a field, and counts what is in it if it is a group. */
  #skip(wireType: WireType, no: number, depth: number): void {
    if (wireType !== WireType.StartGroup) {
      this.#reader.skip(wireType, no);
      return;
    }
    if (depth >= MAX_DEPTH) throw tooDeep("The request");
    for (;;) {
      const [innerNo, innerType] = this.#reader.tag();
      if (innerType === WireType.EndGroup) {
        if (innerNo !== no) throw new Error("invalid end group tag");
        return;
      }
      this.#count(1);
      this.#skip(innerType, innerNo, depth + 1);
    }
  }

  /** The end of the length-prefixed bytes that begin here. */
  #end(outerEnd: number): number {
    const length = this.#reader.uint32();
    const end = this.#reader.pos + length;
    if (end > outerEnd) throw new Error(LENGTHS);
    return end;
  }

  #count(values: number): void {
    this.values += values;
    if (this.values > this.#limit) throw tooManyValues(this.#limit);
  }
}

function shapeOf(desc: DescMessage): Shape {
  const known = shapes.get(desc.typeName);
  if (known !== undefined) return known;
  const shape: Shape = { fields: new Map(), uncounted: desc.typeName === VALUE ? 1 : 0 };
  // Set before it is complete, for types that contain themselves.
  shapes.set(desc.typeName, shape);
  for (const field of desc.fields) shape.fields.set(field.number, fieldShape(field));
  return shape;
}

function fieldShape(field: DescField): FieldShape {
  if (field.fieldKind === "map") return lengthDelimited(field, entryShape(field));
  if (field.message !== undefined) return messageShape(field, field.message);
  const wireType = wireTypeOf(field.scalar);
  const packedBytes = field.fieldKind === "list" ? PACKED_BYTES[wireType] : undefined;
  return { name: field.name, wireType, packedBytes, message: undefined, isStruct: false };
}

function entryShape(field: DescField & { readonly fieldKind: "map" }): Shape {
  const scalar = (type: ScalarType | undefined): FieldShape => ({
    ...lengthDelimited(field, undefined),
    wireType: wireTypeOf(type),
  });
  const value = field.message === undefined ? scalar(field.scalar) : messageShape(field, field.message);
  const fields = new Map([
    [1, scalar(field.mapKey)],
    [2, value],
  ]);
  return { fields, uncounted: 2 };
}

function messageShape(field: DescField, message: DescMessage): FieldShape {
  const isOurs = !field.parent.typeName.startsWith("google.");
  return { ...lengthDelimited(field, shapeOf(message)), isStruct: isOurs && message.typeName === STRUCT };
}

function lengthDelimited({ name }: DescField, message: Shape | undefined): FieldShape {
  return { name, wireType: WireType.LengthDelimited, packedBytes: undefined, message, isStruct: false };
}

const PACKED_BYTES: { readonly [W in WireType]?: number } = {
  [WireType.Varint]: 0,
  [WireType.Bit32]: 4,
  [WireType.Bit64]: 8,
};

/** An enum has no scalar type. */
function wireTypeOf(scalar: ScalarType | undefined): WireType {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32;
    default:
      return WireType.Varint;
  }
}
