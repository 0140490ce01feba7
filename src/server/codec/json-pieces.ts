import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { StoredMessage } from "../../api/stored-message.js";
import type { BodyJson, JsonText } from "../../domain/message-body.js";

/** JSON in the making: text, and bytes that are passed on as they are. */
export class JsonPieces {
  readonly #pieces: JsonText[] = [];
  #text = "";

  add(piece: JsonText): void {
    if (typeof piece === "string") {
      this.#text += piece;
      return;
    }
    this.#pieces.push(this.#text, piece);
    this.#text = "";
  }

  /** Bytes where there were some, else text. */
  finish(): JsonText {
    if (this.#pieces.length === 0) return this.#text;
    this.#pieces.push(this.#text);
    const bytes = Buffer.allocUnsafe(this.#pieces.reduce((sum, piece) => sum + mostBytes(piece), 0));
    let end = 0;
    for (const piece of this.#pieces) {
      end += typeof piece === "string" ? bytes.write(piece, end) : piece.copy(bytes, end);
    }
    return bytes.subarray(0, end);
  }
}

/** No UTF-16 code unit takes more than three bytes. */
function mostBytes(piece: JsonText): number {
  return typeof piece === "string" ? 3 * piece.length : piece.length;
}

export type PiecesWriter = (pieces: JsonPieces, message: Message) => void;

/** How the values of fields are written that hold no stored message. */
export interface FieldJson {
  /** Whether empty lists and the like are left out. */
  readonly omitsZeros: boolean;
  /** Makes what JSON.stringify writes of a field; undefined when the field is left out. */
  memberOf(field: DescField): (message: Message) => unknown;
  /** The same of a whole message. */
  converterOf(desc: DescMessage): (message: unknown) => unknown;
}

/** Adds `separator`, key and value; false when the field is left out. `body`: of the stored message that is being written. */
type WriteMember = (pieces: JsonPieces, message: Message, separator: string, body: BodyJson | undefined) => boolean;
type WriteObject = (pieces: JsonPieces, message: Message, body?: BodyJson) => void;

/** ASCII without control characters, quotes and backslashes. */
const NEEDS_NO_ESCAPE = /^[ !#-[\]-~]*$/;
const NO_PARTS = "[]";
const STORED_MESSAGE = "sessionpool.v1.MessageWithParts";

/** Makes a writer for a type that can hold stored messages, which passes on their bodies; undefined for any other type. */
export function piecesWriter(desc: DescMessage, json: FieldJson): PiecesWriter | undefined {
  return holdsStored(desc) ? messageWriter(desc, json) : undefined;
}

function messageWriter(desc: DescMessage, json: FieldJson): PiecesWriter {
  return desc.typeName === STORED_MESSAGE ? storedWriter(desc, json) : objectWriter(desc, json);
}

/** A message whose body is known as values is written as any other. */
function storedWriter(desc: DescMessage, json: FieldJson): PiecesWriter {
  const convert = json.converterOf(desc);
  const write = objectWriter(desc, json);
  return (pieces, message) => {
    const body = StoredMessage.bodyOf(message);
    if (body === undefined) pieces.add(JSON.stringify(convert(message)));
    else write(pieces, message, body.json);
  };
}

function objectWriter(desc: DescMessage, json: FieldJson): WriteObject {
  const members = [...desc.fields].sort((a, b) => a.number - b.number).map((field) => memberWriter(field, json));
  return (pieces, message, body) => {
    let separator = "{";
    for (const write of members) if (write(pieces, message, separator, body)) separator = ",";
    pieces.add(separator === "{" ? "{}" : "}");
  };
}

function memberWriter(field: DescField, json: FieldJson): WriteMember {
  const { parent, name, localName, message: type } = field;
  const key = `${JSON.stringify(field.jsonName)}:`;
  if (parent.typeName === STORED_MESSAGE && name === "info") {
    const write = objectWriter(type as DescMessage, json);
    return (pieces, message, separator, body) => {
      pieces.add(separator + key);
      write(pieces, (message as Message & { info: Message }).info, body);
      return true;
    };
  }
  if (parent.typeName === STORED_MESSAGE && name === "parts") return bodyMember(key, "parts", json);
  if (isMetadata(field)) return bodyMember(key, "metadata", json);
  if (type === undefined || !holdsStored(type)) return plainMember(key, json.memberOf(field));
  const write = messageWriter(type, json);
  const read = reader(field);
  if (field.fieldKind !== "list") {
    return (pieces, message, separator) => {
      const value = read(message);
      if (value === undefined) return false;
      pieces.add(separator + key);
      write(pieces, value as Message);
      return true;
    };
  }
  return (pieces, message, separator) => {
    const items = (message as Message & Record<string, Message[] | undefined>)[localName];
    if (items === undefined || (json.omitsZeros && items.length === 0)) return false;
    pieces.add(`${separator}${key}[`);
    for (let i = 0; i < items.length; i++) {
      if (i > 0) pieces.add(",");
      write(pieces, items[i] as Message);
    }
    pieces.add("]");
    return true;
  };
}

function bodyMember(key: string, name: "parts" | "metadata", { omitsZeros }: FieldJson): WriteMember {
  return (pieces, _message, separator, body) => {
    const piece = body?.[name];
    if (piece === undefined || (omitsZeros && name === "parts" && piece.length === NO_PARTS.length)) return false;
    pieces.add(separator + key);
    pieces.add(piece);
    return true;
  };
}

function plainMember(key: string, jsonOf: (message: Message) => unknown): WriteMember {
  return (pieces, message, separator) => {
    const value = jsonOf(message);
    if (value === undefined) return false;
    pieces.add(separator + key + (typeof value === "string" ? quote(value) : JSON.stringify(value)));
    return true;
  };
}

/** What JSON.stringify writes of a text, several times as fast for ids and times. */
function quote(text: string): string {
  return NEEDS_NO_ESCAPE.test(text) ? `"${text}"` : JSON.stringify(text);
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
