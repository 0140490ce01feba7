import { createHash } from "node:crypto";
import { DEFAULT_MEDIA_TYPE, PIECE_BYTES, partOf } from "../../../domain/attachment.js";
import type { Limits } from "../../../domain/limits.js";
import type { ForeignAttachment } from "../readers/reader.js";
import { contentId, isAllowed } from "./attach-values.js";

/** What is known of a file as an attachment, once it was read. Throws an Error when it is too large. */
export async function factsOf({ name: given, mediaType: type, source }: ForeignAttachment, limits: Limits) {
  const name = isAllowed({ name: given }, limits) ? given : "";
  const mediaType = type !== "" && isAllowed({ mediaType: type }, limits) ? type : DEFAULT_MEDIA_TYPE;
  const { attachmentBytes } = limits;
  const id = contentId(mediaType, name);
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of source.open()) {
    size += chunk.length;
    if (size > attachmentBytes) {
      throw new Error(`it has more than ${attachmentBytes} bytes (--limit-attachment-bytes)`);
    }
    id.update(chunk);
    hash.update(chunk);
  }
  return partOf({ attachmentId: id.digest("hex"), mediaType, name, size, sha256: hash.digest("hex") });
}

/** Bytes in pieces of at most PIECE_BYTES. */
export async function* piecesOf(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) yield chunk.subarray(at, at + PIECE_BYTES);
  }
}
