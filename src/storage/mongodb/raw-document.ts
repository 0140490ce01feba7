import { BSON } from "mongodb";
import { MessageBody } from "../../domain/message-body.js";
import type { Entry } from "../history/log-store.js";

/** The types of BSON that the fields of messages have. */
const DOUBLE = 1;
const STRING = 2;
const INT32 = 16;
const INT64 = 18;

/** A field's name and where its value begins. */
type Fields = Map<string, { readonly type: number; readonly offset: number }>;

/**
 * The place of a document of a log, and its message; null for a seal. To decode whole documents would take three times
 * as long, mostly for bodies that are never read.
 */
export function readRawDocument(bytes: Uint8Array): { readonly seq: number; readonly entry: Entry | null } {
  const raw = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const fields = fieldsOf(raw);
  const text = (name: string) => textOf(raw, fields, name);
  const number = (name: string) => numberOf(raw, fields, name);
  const seq = number("seq") ?? 0;
  const body = bytesOf(raw, fields, "body");
  if (body === undefined) return { seq, entry: null };
  const sessionId = text("session_id") ?? "";
  const entry: Entry = {
    log: text("log") ?? "",
    seq,
    id: text("id") ?? "",
    timestampMicros: number("timestamp") ?? 0,
    role: text("role") ?? "",
    body: MessageBody.stored(body),
    sessionId,
    originSessionId: text("origin") ?? sessionId,
    remaining: number("owed") ?? 0,
  };
  return { seq, entry };
}

function fieldsOf(raw: Buffer): Fields {
  const fields: Fields = new Map();
  for (const [type, nameOffset, nameLength, offset] of BSON.onDemand.parseToElements(raw)) {
    fields.set(raw.toString("latin1", nameOffset, nameOffset + nameLength), { type, offset });
  }
  return fields;
}

function bytesOf(raw: Buffer, fields: Fields, name: string): Buffer | undefined {
  const field = fields.get(name);
  if (field?.type !== STRING) return undefined;
  const start = field.offset + 4;
  // Its length counts the zero at its end.
  return raw.subarray(start, start + raw.readInt32LE(field.offset) - 1);
}

function textOf(raw: Buffer, fields: Fields, name: string): string | undefined {
  return bytesOf(raw, fields, name)?.toString();
}

function numberOf(raw: Buffer, fields: Fields, name: string): number | undefined {
  const field = fields.get(name);
  switch (field?.type) {
    case INT32:
      return raw.readInt32LE(field.offset);
    case INT64:
      return Number(raw.readBigInt64LE(field.offset));
    case DOUBLE:
      return raw.readDoubleLE(field.offset);
    default:
      return undefined;
  }
}
