import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { UndecodedMessage } from "../api/undecoded-message.js";
import type { ByteRange } from "../domain/byte-range.js";
import { type ByteString, toByteString, type Utf8 } from "../domain/byte-string.js";
import type { BodyJson } from "../domain/message-body.js";

/** A larger answer is made as a Buffer, so that each stored body in it is copied only once. */
const MOST_STRING_BYTES = 16 * 1024;

/** JSON being built, as the bytes in which it is sent. */
export class JsonPieces {
  /** What was added after the last body, in which each character stands for one byte. */
  #text = "";
  /** By turns, what stands before a body and the body. */
  readonly #before: (string | ByteRange)[] = [];
  #length = 0;

  add(body: ByteRange): void {
    this.#before.push(this.#text, body);
    this.#length += this.#text.length + body.length;
    this.#text = "";
  }

  /** In ASCII, bytes and characters are the same. */
  addAscii(text: string): void {
    this.#text += text;
  }

  addText(text: string): void {
    this.#text += toByteString(text);
  }

  finish(): Utf8 {
    const length = this.#length + this.#text.length;
    if (length <= MOST_STRING_BYTES) return this.#asString();
    const bytes = Buffer.allocUnsafe(length);
    let at = 0;
    for (const piece of this.#before) {
      if (typeof piece === "string") bytes.write(piece, at, "latin1");
      else bytes.set(piece.toBuffer(), at);
      at += piece.length;
    }
    bytes.write(this.#text, at, "latin1");
    return bytes;
  }

  #asString(): ByteString {
    const pieces = this.#before.map((piece) => (typeof piece === "string" ? piece : piece.toByteString()));
    return (pieces.join("") + this.#text) as ByteString;
  }
}

export type PiecesWriter = (pieces: JsonPieces, message: Message) => void;

/** How to write the values of fields that contain no stored message. */
export interface FieldJson {
  /** Whether empty lists and other zero values are left out. */
  readonly omitsZeros: boolean;
  /** Makes the value that JSON.stringify writes for a field; undefined when the field is left out. */
  memberOf(field: DescField): (message: Message) => unknown;
  /** Makes the value that JSON.stringify writes for a whole message. */
  converterOf(desc: DescMessage): (message: unknown) => unknown;
}

/**
 * Writes the key and the value of a field, with the punctuation before them; returns false when the field is left out.
 * `body` is the body of the stored message that is being written.
 */
type WriteMember = (pieces: JsonPieces, message: Message, isFirst: boolean, body: BodyJson | undefined) => boolean;
type WriteObject = (pieces: JsonPieces, message: Message, body?: BodyJson) => void;

/** ASCII without control characters, quotes and backslashes. */
const NEEDS_NO_ESCAPE = /^[ !#-[\]-~]*$/;
const NO_PARTS = "[]";
const STORED_MESSAGE = "sessionpool.v1.MessageWithParts";

/**
 * Makes a writer for a type that can contain stored messages, which passes on their bodies; undefined for any other
 * type.
 */
export function piecesWriter(desc: DescMessage, json: FieldJson): PiecesWriter | undefined {
  return holdsStored(desc) ? messageWriter(desc, json) : undefined;
}

function messageWriter(desc: DescMessage, json: FieldJson): PiecesWriter {
  return desc.typeName === STORED_MESSAGE ? storedWriter(desc, json) : objectWriter(desc, json);
}

/**
 * Makes a writer that passes on the body of a message as it is stored. A message without a stored body is converted and
 * written by JSON.stringify.
 */
function storedWriter(desc: DescMessage, json: FieldJson): PiecesWriter {
  const convert = json.converterOf(desc);
  const write = objectWriter(desc, json);
  return (pieces, message) => {
    const body = UndecodedMessage.bodyOf(message);
    if (body === undefined) pieces.addText(JSON.stringify(convert(message)));
    else write(pieces, message, body.json);
  };
}

function objectWriter(desc: DescMessage, json: FieldJson): WriteObject {
  const members = [...desc.fields].sort((a, b) => a.number - b.number).map((field) => memberWriter(field, json));
  return (pieces, message, body) => {
    let isEmpty = true;
    for (const write of members) if (write(pieces, message, isEmpty, body)) isEmpty = false;
    pieces.addAscii(isEmpty ? "{}" : "}");
  };
}

/** The text of a key with the punctuation before it: `first` opens the object, and `next` follows another member. */
interface Key {
  readonly first: string;
  readonly next: string;
}

function keyOf({ jsonName }: DescField): Key {
  const key = `${JSON.stringify(jsonName)}:`;
  return { first: `{${key}`, next: `,${key}` };
}

function memberWriter(field: DescField, json: FieldJson): WriteMember {
  const { parent, name, localName, message: type } = field;
  const key = keyOf(field);
  if (parent.typeName === STORED_MESSAGE && name === "info") {
    const write = objectWriter(type as DescMessage, json);
    return (pieces, message, isFirst, body) => {
      pieces.addAscii(isFirst ? key.first : key.next);
      write(pieces, (message as Message & { info: Message }).info, body);
      return true;
    };
  }
  if (parent.typeName === STORED_MESSAGE && name === "parts") return bodyMember(key, "parts", json);
  if (isMetadata(field)) return bodyMember(key, "metadata", json);
  if (type === undefined || !holdsStored(type)) return plainMember(key, field, json);
  const write = messageWriter(type, json);
  const read = reader(field);
  if (field.fieldKind !== "list") {
    return (pieces, message, isFirst) => {
      const value = read(message);
      if (value === undefined) return false;
      pieces.addAscii(isFirst ? key.first : key.next);
      write(pieces, value as Message);
      return true;
    };
  }
  return (pieces, message, isFirst) => {
    const items = (message as Message & Record<string, Message[] | undefined>)[localName];
    if (items === undefined || (json.omitsZeros && items.length === 0)) return false;
    pieces.addAscii(isFirst ? key.first : key.next);
    pieces.addAscii("[");
    for (let i = 0; i < items.length; i++) {
      if (i > 0) pieces.addAscii(",");
      write(pieces, items[i] as Message);
    }
    pieces.addAscii("]");
    return true;
  };
}

function bodyMember(key: Key, name: "parts" | "metadata", { omitsZeros }: FieldJson): WriteMember {
  return (pieces, _message, isFirst, body) => {
    const piece = body?.[name];
    if (piece === undefined || (omitsZeros && name === "parts" && piece.length === NO_PARTS.length)) return false;
    pieces.addAscii(isFirst ? key.first : key.next);
    pieces.add(piece);
    return true;
  };
}

/** Caches the last value written, because most messages of a page share it. */
function plainMember(key: Key, field: DescField, json: FieldJson): WriteMember {
  const jsonOf = json.memberOf(field);
  const isPlain = field.scalar === ScalarType.INT64 || field.message?.typeName === TimestampSchema.typeName;
  let last: string | undefined;
  let lastAfter = "";
  let lastMember = "";
  return (pieces, message, isFirst) => {
    const value = jsonOf(message);
    if (value === undefined) return false;
    const before = isFirst ? key.first : key.next;
    if (typeof value === "string" && (value === last || isPlain || NEEDS_NO_ESCAPE.test(value))) {
      if (value !== last || before !== lastAfter) {
        last = value;
        lastAfter = before;
        lastMember = `${before}"${value}"`;
      }
      pieces.addAscii(lastMember);
    } else {
      pieces.addAscii(before);
      pieces.addText(JSON.stringify(value));
    }
    return true;
  };
}

function reader({ localName, oneof }: DescField): (message: Message) => unknown {
  return (message) => {
    const fields = message as Message & Record<string, unknown>;
    if (oneof === undefined) return fields[localName];
    const chosen = fields[oneof.localName] as { case: string | undefined; value?: unknown };
    return chosen.case === localName ? chosen.value : undefined;
  };
}

function isMetadata({ parent, name }: DescField): boolean {
  return parent.typeName === "sessionpool.v1.MessageInfo" && name === "metadata";
}

function holdsStored(desc: DescMessage, above: readonly DescMessage[] = []): boolean {
  if (desc.typeName === STORED_MESSAGE) return true;
  if (above.includes(desc)) return false;
  return desc.fields.some(
    ({ fieldKind, message }) => message && fieldKind !== "map" && holdsStored(message, [...above, desc]),
  );
}
