import type { Part, PartAttachment } from "../../../domain/chat-message.js";
import type { JsonObject } from "../../../domain/json.js";
import type { Limits } from "../../../domain/limits.js";
import type { ForeignMessage, ForeignPart } from "../readers/reader.js";
import type { FileMessage } from "../session-file.js";
import { type AttachedValue, attachmentOf, attachValues } from "./attach-values.js";
import { cutText } from "./cut-text.js";
import { cutMessage, moveBulky, splitParts } from "./fit-message.js";
import { withSuffix } from "./mend-id.js";
import { type OnMend, storableStruct, storableText } from "./storable.js";

/** What a message gets from its place in a session. */
interface Place {
  readonly id: string;
  readonly timestampMicros: number;
  /** What is known of the files that parts have as attachments, by the number of the part. */
  readonly files: ReadonlyMap<number, PartAttachment>;
}

export interface MendedMessage {
  readonly messages: readonly FileMessage[];
  /** What parts had within themselves, and name now. */
  readonly attached: readonly AttachedValue[];
}

/**
 * Makes a message one that the service accepts: several, if it has too many parts. Large texts and files become
 * attachments. Nothing is lost except the ends of texts in messages that are too large even so.
 */
export function mendMessage(
  { role, parts, metadata, usage }: ForeignMessage,
  { id, timestampMicros, files }: Place,
  limits: Limits,
  onMend: OnMend,
): MendedMessage {
  const mended: Part[] = parts.map((part, i) => {
    const attachment = files.get(i);
    return { ...mendPart(part, limits, onMend), ...(attachment && { attachment }) };
  });
  const fields = metadata && mendMetadata(metadata, limits, onMend);
  if (fields?.moved) {
    mended.push({ id: "", type: "metadata", text: "", data: fields.moved });
    onMend("metadata too large, whose largest fields are a part now");
  }
  const { parts: named, attached } = attachAll(mended, limits);
  const message: FileMessage = {
    id,
    role: cutText(storableText(role, onMend), limits.idBytes) || "unknown",
    timestampMicros,
    parts: named,
    ...(fields && Object.keys(fields.kept).length > 0 && { metadata: fields.kept }),
    ...(usage && { usage }),
  };
  const split = splitParts(message, limits.parts, (count) => withSuffix(id, `~${count}`, limits.idBytes));
  if (split.length > 1) onMend("messages with too many parts, which are several messages now");
  const messages = split.map((one) => {
    const cut = cutMessage(one, limits);
    if (cut) onMend("messages too large, whose longest texts were cut");
    return cut ?? one;
  });
  return { messages, attached };
}

/** Takes what is large out of parts. Attachments that no part names are named by parts at the end. */
function attachAll(given: readonly Part[], limits: Limits): { parts: Part[]; attached: AttachedValue[] } {
  const attached = new Map<string, AttachedValue>();
  const named = given.flatMap(({ attachment }) => attachment ?? []);
  const parts = given.map((one) => {
    const room = limits.messageAttachments - named.length - attached.size;
    const { part, attached: own } = attachValues(one, Math.max(room, 0), limits);
    for (const value of own) attached.set(value.attachmentId, value);
    return part;
  });
  const shown = new Set(parts.map(({ attachment }) => attachment?.attachmentId));
  for (const value of attached.values()) {
    if (shown.has(value.attachmentId)) continue;
    parts.push({ id: value.attachmentId, type: "attachment", text: "", attachment: attachmentOf(value) });
  }
  return { parts, attached: [...attached.values()] };
}

/** Metadata that fits, and the fields that do not. */
export function mendMetadata(
  metadata: JsonObject,
  { metadataBytes, structDepth }: Limits,
  onMend: OnMend,
): { readonly kept: JsonObject; readonly moved?: JsonObject } {
  // The part that takes what is too large has the same depth.
  const storable = storableStruct(metadata, structDepth, onMend);
  return moveBulky(storable, metadataBytes) ?? { kept: storable };
}

function mendPart({ id = "", type, text = "", data }: ForeignPart, { structDepth }: Limits, onMend: OnMend) {
  const struct = data && storableStruct(data, structDepth, onMend);
  return {
    id: storableText(id, onMend),
    type: storableText(type, onMend) || "unknown",
    text: storableText(text, onMend),
    ...(struct && Object.keys(struct).length > 0 && { data: struct }),
  };
}
