import {
  MessageInfoSchema,
  MessageWithPartsSchema,
  PartAttachmentSchema,
  PartSchema,
} from "../../gen/sessionpool/v1/message_service_pb.js";
import type { ByteRange, ViewedBytes } from "../domain/byte-range.js";
import type { MessageBody } from "../domain/message-body.js";
import type { BackwardWriter } from "./backward-writer.js";
import { STRUCT_TAGS } from "./struct-codec.js";

const QUOTE = 0x22;
const COMMA = 0x2c;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const [NULL, TRUE, FALSE] = ["null", "true", "false"].map(bytesOf) as [Buffer, Buffer, Buffer];
const [PART_START, TYPE_KEY, TEXT_KEY, DATA_KEY] = ['{"id":', ',"type":', ',"text":', ',"data":'].map(bytesOf) as [
  Buffer,
  Buffer,
  Buffer,
  Buffer,
];
const [ID, TYPE, TEXT, DATA] = [
  PartSchema.field.id,
  PartSchema.field.type,
  PartSchema.field.text,
  PartSchema.field.data,
].map(delimitedTag) as [number, number, number, number];
/** The members of an attachment, with the punctuation before them. */
const [ATTACHMENT_KEY, ATTACHMENT_ID_KEY, MEDIA_TYPE_KEY, NAME_KEY, SIZE_KEY, SHA256_KEY, MISSING_KEY] = [
  ',"attachment":',
  '{"attachmentId":',
  ',"mediaType":',
  ',"name":',
  ',"size":',
  ',"sha256":',
  ',"missing":',
].map(bytesOf) as [Buffer, Buffer, Buffer, Buffer, Buffer, Buffer, Buffer];
const ATTACHMENT = delimitedTag(PartSchema.field.attachment);
const [ATTACHMENT_ID, MEDIA_TYPE, NAME, SHA256] = [
  PartAttachmentSchema.field.attachmentId,
  PartAttachmentSchema.field.mediaType,
  PartAttachmentSchema.field.name,
  PartAttachmentSchema.field.sha256,
].map(delimitedTag) as [number, number, number, number];
const [SIZE, MISSING] = [PartAttachmentSchema.field.size, PartAttachmentSchema.field.missing].map(
  ({ number }) => number << 3,
) as [number, number];
const PARTS = delimitedTag(MessageWithPartsSchema.field.parts);
const METADATA = delimitedTag(MessageInfoSchema.field.metadata);

/** Integers with fewer digits are exact. */
const EXACT_DIGITS = 15;
/** Deeper values than any that is stored are left to others, so that recursion has an end. */
const MAX_DEPTH = 100;

/** Thrown for text that `MessageBody.encode` does not write. */
const UNRECOGNISED = new Error("The stored text has another form");

/**
 * Writes the field `parts` from the stored text of a body; returns false, and writes nothing, when the text does not
 * have the form that `MessageBody.encode` gives it.
 */
export function writeStoredParts(writer: BackwardWriter, body: MessageBody): boolean {
  return writeText(writer, body.json.parts, body.sizes.parts, (text) => text.parts());
}

/** Writes the field `metadata` as {@link writeStoredParts} does `parts`. */
export function writeStoredMetadata(writer: BackwardWriter, body: MessageBody): boolean {
  const { metadata } = body.json;
  return metadata !== undefined && writeText(writer, metadata, body.sizes.metadata, (text) => text.metadata());
}

/** The size was computed from the values, so a text that was misread would be noticed by it. */
function writeText(
  writer: BackwardWriter,
  json: ByteRange,
  size: number,
  write: (text: TextBackwards) => void,
): boolean {
  const from = writer.length;
  const text = new TextBackwards(json, writer);
  try {
    write(text);
    if (text.isRead && writer.length - from === size) return true;
  } catch (error) {
    if (error !== UNRECOGNISED) throw error;
  }
  writer.rewind(from);
  return false;
}

/**
 * JSON that is read from its end to its beginning, once, and written as protobuf meanwhile. In this direction every
 * length is known before it has to be written. Nothing becomes a string or an object. The file is long because this is
 * one grammar, with a method for each kind of value.
 */
class TextBackwards {
  readonly #source: ViewedBytes;
  readonly #bytes: Buffer;
  readonly #first: number;
  readonly #writer: BackwardWriter;
  /** Everything from here on has been read. */
  #at: number;

  constructor({ source, start, end }: ByteRange, writer: BackwardWriter) {
    this.#source = source;
    this.#bytes = source.bytes;
    this.#first = start;
    this.#writer = writer;
    this.#at = end;
  }

  get isRead(): boolean {
    return this.#at === this.#first;
  }

  parts(): void {
    this.#expect(CLOSE_LIST);
    if (this.#take(OPEN_LIST)) return;
    do {
      const from = this.#writer.length;
      this.#part();
      this.#writer.prefix(PARTS, from);
    } while (this.#take(COMMA));
    this.#expect(OPEN_LIST);
  }

  metadata(): void {
    const from = this.#writer.length;
    this.#struct(1);
    this.#writer.prefix(METADATA, from);
  }

  #part(): void {
    this.#expect(CLOSE_OBJECT);
    this.#attachment();
    if (this.#last === CLOSE_OBJECT) {
      const from = this.#writer.length;
      this.#struct(1);
      this.#writer.prefix(DATA, from);
      this.#expectAll(DATA_KEY);
    }
    this.#textField(TEXT, TEXT_KEY);
    this.#textField(TYPE, TYPE_KEY);
    this.#textField(ID, PART_START);
  }

  /**
   * Writes the attachment of a part if it has one. Data may end like one; then nothing has been read, and nothing
   * written.
   */
  #attachment(): void {
    const at = this.#at;
    const from = this.#writer.length;
    if (!this.#take(CLOSE_OBJECT) || !this.#takesMissing()) {
      this.#at = at;
      return;
    }
    try {
      if (this.#bytes[at - 3] === TRUE[2]) this.#flag(MISSING);
      this.#textField(SHA256, SHA256_KEY);
      this.#size();
      this.#textField(NAME, NAME_KEY);
      this.#textField(MEDIA_TYPE, MEDIA_TYPE_KEY);
      this.#textField(ATTACHMENT_ID, ATTACHMENT_ID_KEY);
      this.#expectAll(ATTACHMENT_KEY);
    } catch (error) {
      if (error !== UNRECOGNISED) throw error;
      this.#at = at;
      this.#writer.rewind(from);
      return;
    }
    this.#writer.prefix(ATTACHMENT, from);
  }

  /** Whether the object ends as an attachment does, without writing anything. */
  #takesMissing(): boolean {
    const value = this.#bytes[this.#at - 2] === TRUE[2] ? TRUE : FALSE;
    return this.#takeAll(value) && this.#takeAll(MISSING_KEY);
  }

  /** The number of bytes is a text, as all 64-bit numbers are. */
  #size(): void {
    this.#expect(QUOTE);
    const size = this.#number();
    this.#expect(QUOTE);
    this.#expectAll(SIZE_KEY);
    if (!Number.isSafeInteger(size) || size < 0) throw UNRECOGNISED;
    if (size === 0) return;
    this.#writer.varint(size);
    this.#writer.byte(SIZE);
  }

  #flag(tag: number): void {
    this.#writer.byte(1);
    this.#writer.byte(tag);
  }

  /** An empty text is left out. */
  #textField(tag: number, key: Buffer): void {
    const length = this.#string();
    this.#expectAll(key);
    if (length === 0) return;
    this.#writer.varint(length);
    this.#writer.byte(tag);
  }

  #struct(depth: number): void {
    if (depth > MAX_DEPTH) throw UNRECOGNISED;
    this.#expect(CLOSE_OBJECT);
    if (this.#take(OPEN_OBJECT)) return;
    do {
      const from = this.#writer.length;
      this.#value(depth);
      this.#writer.prefix(STRUCT_TAGS.entryValue, from);
      this.#expect(COLON);
      this.#writer.varint(this.#string());
      this.#writer.byte(STRUCT_TAGS.entryKey);
      this.#writer.prefix(STRUCT_TAGS.entry, from);
    } while (this.#take(COMMA));
    this.#expect(OPEN_OBJECT);
  }

  #list(depth: number): void {
    if (depth > MAX_DEPTH) throw UNRECOGNISED;
    this.#expect(CLOSE_LIST);
    if (this.#take(OPEN_LIST)) return;
    do {
      const from = this.#writer.length;
      this.#value(depth);
      this.#writer.prefix(STRUCT_TAGS.listItem, from);
    } while (this.#take(COMMA));
    this.#expect(OPEN_LIST);
  }

  /** The last byte of a value tells its kind. */
  #value(depth: number): void {
    const writer = this.#writer;
    const from = writer.length;
    switch (this.#last) {
      case QUOTE:
        writer.varint(this.#string());
        writer.byte(STRUCT_TAGS.string);
        break;
      case CLOSE_OBJECT:
        this.#struct(depth + 1);
        writer.prefix(STRUCT_TAGS.struct, from);
        break;
      case CLOSE_LIST:
        this.#list(depth + 1);
        writer.prefix(STRUCT_TAGS.list, from);
        break;
      case TRUE[3]:
        this.#boolean();
        break;
      case NULL[3]:
        this.#expectAll(NULL);
        writer.byte(0);
        writer.byte(STRUCT_TAGS.null);
        break;
      default:
        writer.double(this.#number());
        writer.byte(STRUCT_TAGS.number);
    }
  }

  #boolean(): void {
    const isTrue = this.#bytes[this.#at - 2] === TRUE[2];
    this.#expectAll(isTrue ? TRUE : FALSE);
    this.#writer.byte(isTrue ? 1 : 0);
    this.#writer.byte(STRUCT_TAGS.boolean);
  }

  #number(): number {
    const bytes = this.#bytes;
    const end = this.#at;
    let value = 0;
    for (let unit = 1; isDigit(bytes[this.#at - 1]); unit *= 10) {
      value += unit * ((bytes[--this.#at] as number) - DIGIT_0);
    }
    const digits = end - this.#at;
    if (digits > 0 && digits <= EXACT_DIGITS && !isInNumber(bytes[this.#at - 1])) return value;
    while (isInNumber(bytes[this.#at - 1])) this.#at -= 1;
    const number = Number(bytes.toString("latin1", this.#at, end));
    if (this.#at === end || Number.isNaN(number)) throw UNRECOGNISED;
    return number;
  }

  /** Writes what a string says, without its length, which is returned. */
  #string(): number {
    this.#expect(QUOTE);
    const from = this.#writer.length;
    const opening = this.#writer.jsonString(this.#source, this.#first, this.#at);
    if (opening < 0) throw UNRECOGNISED;
    this.#at = opening;
    return this.#writer.length - from;
  }

  get #last(): number | undefined {
    return this.#bytes[this.#at - 1];
  }

  #take(byte: number): boolean {
    if (this.#last !== byte) return false;
    this.#at -= 1;
    return true;
  }

  #takeAll(expected: Buffer): boolean {
    for (let i = expected.length - 1; i >= 0; i--) if (!this.#take(expected[i] as number)) return false;
    return true;
  }

  #expect(byte: number): void {
    if (!this.#take(byte)) throw UNRECOGNISED;
  }

  #expectAll(expected: Buffer): void {
    for (let i = expected.length - 1; i >= 0; i--) this.#expect(expected[i] as number);
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= DIGIT_0 && byte <= DIGIT_9;
}

function isInNumber(byte: number | undefined): boolean {
  return isDigit(byte) || (byte !== undefined && NUMBER_SIGNS.includes(byte));
}

const NUMBER_SIGNS = bytesOf("+-.eE");

function bytesOf(text: string): Buffer {
  return Buffer.from(text);
}

/** The tag of a field with a length, which is one byte for all our fields. */
function delimitedTag({ number }: { readonly number: number }): number {
  return (number << 3) | 2;
}
