import { createHash } from "node:crypto";
import { create, type JsonObject, type JsonValue, type MessageInitShape } from "@bufbuild/protobuf";
import { MessageWithPartsSchema, PartSchema } from "../../../gen/sessionpool/v1/message_service_pb.js";

type NewMessage = MessageInitShape<typeof MessageWithPartsSchema>;
type NewPart = MessageInitShape<typeof PartSchema>;

/** A value that is kept in an attachment, under an id that is a hash of everything that an upload is compared by. */
export interface Upload {
  readonly attachmentId: string;
  readonly mediaType: string;
  readonly name: string;
  readonly bytes: Buffer;
}

interface Found {
  readonly path: readonly (string | number)[];
  readonly upload: Upload;
  readonly form: "text" | "data_url";
}

/** Texts of more bytes are kept in attachments, and their beginnings at their places. */
const MOST_INLINE_BYTES = 256 * 1024;
const PREVIEW_BYTES = 16 * 1024;
/** Data URLs of at least so many bytes are kept in attachments. */
const LEAST_FILE_BYTES = 4 * 1024;
/** The service takes as many parts of a message that name attachments. */
const MOST_ATTACHMENTS = 100;
const DATA_URL = /^data:([^,]{0,255});base64,/;
const MEDIA_TYPE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+\/[!#$%&'*+.^_`|~0-9A-Za-z-]+(\s*;[ -~]*)?$/;

/**
 * Takes large texts and data URLs out of a message, by the rule of docs/clients.md. Who reads the items gets them back,
 * and so do the adapters. The same message has the same uploads, so sending it again uploads nothing new.
 */
export function attachLarge(message: NewMessage): {
  readonly message: NewMessage;
  readonly uploads: readonly Upload[];
} {
  const all: Found[] = [];
  const parts = (message.parts ?? []).map((part) => cutPart(part, all));
  const uploads = [...new Map(all.map(({ upload }) => [upload.attachmentId, upload])).values()];
  const named = new Set(parts.map(({ attachment }) => attachment?.attachmentId));
  const others = uploads.filter(({ attachmentId }) => !named.has(attachmentId));
  const naming = others.map(({ attachmentId: id }) => {
    return create(PartSchema, { id, type: "attachment", attachment: { attachmentId: id } });
  });
  if (uploads.length === 0) return { message, uploads };
  const { info } = message;
  return { message: create(MessageWithPartsSchema, { ...(info && { info }), parts: [...parts, ...naming] }), uploads };
}

function cutPart(part: NewPart, all: Found[]): NewPart {
  const before = all.length;
  const text = cut(part.text ?? "", ["text"], all, {}) as string;
  const data = cut((part.data ?? {}) as JsonObject, ["data"], all, {}) as JsonObject;
  const found = all.slice(before);
  const [first] = found;
  if (first === undefined) return part;
  const listed = found.map(({ path, upload, form }) => ({ path: [...path], attachment_id: upload.attachmentId, form }));
  const { id = "", type = "" } = part;
  const { attachmentId } = first.upload;
  return create(PartSchema, { id, type, text, data: { ...data, $attachments: listed }, attachment: { attachmentId } });
}

/** The value with what stays at the places of what was found. */
function cut(value: JsonValue, path: Found["path"], all: Found[], holder: JsonObject): JsonValue {
  if (typeof value === "string") return cutText(value, path, all, holder);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item, i) => cut(item, [...path, i], all, {}));
  const kept = new Map(Object.entries(value));
  for (const key of [...kept.keys()].sort()) kept.set(key, cut(value[key] as JsonValue, [...path, key], all, value));
  return Object.fromEntries(kept);
}

function cutText(text: string, path: Found["path"], all: Found[], { filename }: JsonObject): string {
  if (text.length < LEAST_FILE_BYTES || all.length === MOST_ATTACHMENTS) return text;
  const [head = "", type = ""] = DATA_URL.exec(text) ?? [];
  const bytes = Buffer.from(text.slice(head.length), "base64");
  if (head !== "" && bytes.length >= LEAST_FILE_BYTES && bytes.toString("base64") === text.slice(head.length)) {
    const mediaType = MEDIA_TYPE.test(type) ? type : "application/octet-stream";
    all.push({ path, form: "data_url", upload: uploadOf(mediaType, isName(filename) ? filename : "", bytes) });
    return head;
  }
  if (!text.isWellFormed() || Buffer.byteLength(text) <= MOST_INLINE_BYTES) return text;
  all.push({ path, form: "text", upload: uploadOf("text/plain; charset=utf-8", "", Buffer.from(text)) });
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(PREVIEW_BYTES)).read);
}

function isName(value: JsonValue | undefined): value is string {
  return typeof value === "string" && value.isWellFormed() && Buffer.byteLength(value) <= 255 && !/\p{Cc}/u.test(value);
}

function uploadOf(mediaType: string, name: string, bytes: Buffer): Upload {
  const attachmentId = createHash("sha256").update(`${mediaType}\n${name}\n`).update(bytes).digest("hex");
  return { attachmentId, mediaType, name, bytes };
}
