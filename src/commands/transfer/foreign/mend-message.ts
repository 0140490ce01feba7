import type { JsonObject } from "../../../domain/json.js";
import type { Limits } from "../../../domain/limits.js";
import type { ForeignMessage, ForeignPart } from "../readers/reader.js";
import type { FileMessage } from "../session-file.js";
import { cutText } from "./cut-text.js";
import { cutMessage, moveBulky, splitParts } from "./fit-message.js";
import { withSuffix } from "./mend-id.js";
import { type OnMend, storableStruct, storableText } from "./storable.js";

/** What a message gets from its place in a session. */
interface Place {
  readonly id: string;
  readonly timestampMicros: number;
}

/**
 * Makes a message one that the service accepts: several, if it has too many parts. Nothing is lost except the ends of
 * texts in messages that are too large.
 */
export function mendMessage(
  { role, parts, metadata }: ForeignMessage,
  { id, timestampMicros }: Place,
  limits: Limits,
  onMend: OnMend,
): FileMessage[] {
  const mended = parts.map((part) => mendPart(part, limits, onMend));
  const fields = metadata && mendMetadata(metadata, limits, onMend);
  if (fields?.moved) {
    mended.push({ id: "", type: "metadata", text: "", data: fields.moved });
    onMend("metadata too large, whose largest fields are a part now");
  }
  const message: FileMessage = {
    id,
    role: cutText(storableText(role, onMend), limits.idBytes) || "unknown",
    timestampMicros,
    parts: mended,
    ...(fields && Object.keys(fields.kept).length > 0 && { metadata: fields.kept }),
  };
  const split = splitParts(message, limits.parts, (count) => withSuffix(id, `~${count}`, limits.idBytes));
  if (split.length > 1) onMend("messages with too many parts, which are several messages now");
  return split.map((one) => {
    const cut = cutMessage(one, limits);
    if (cut) onMend("messages too large, whose longest texts were cut");
    return cut ?? one;
  });
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
