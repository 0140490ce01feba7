import { call, readBytes, sendFile, target } from "./http.js";
import type { Attachment, PartAttachment } from "./types.js";

export interface AttachmentList {
  readonly attachments: readonly Attachment[];
  readonly nextPageToken: string;
}

export function listAttachments(id: string, pageToken: string, signal?: AbortSignal): Promise<AttachmentList> {
  return call(target(["session", id, "attachment"], { page_token: pageToken }), { signal });
}

/** Reads the bytes of an attachment. `onRead` hears how many have come, each time. */
export async function readAttachment(
  sessionId: string,
  { attachmentId, mediaType }: Pick<PartAttachment, "attachmentId" | "mediaType">,
  options: { readonly signal?: AbortSignal | undefined; readonly onRead?: (bytes: number) => void } = {},
): Promise<Blob> {
  const bytes = await readBytes(target(["session", sessionId, "attachment", attachmentId]), options);
  return new Blob([...bytes], { type: mediaType });
}

/** A repeated upload with the same id stores nothing twice. */
export function uploadAttachment(
  sessionId: string,
  attachmentId: string,
  file: File,
  options: { readonly signal: AbortSignal; readonly onSent: (bytes: number) => void },
): Promise<Attachment> {
  const query = { attachment_id: attachmentId, name: file.name };
  return sendFile(target(["session", sessionId, "attachment"], query), file, options);
}

export function deleteAttachment(sessionId: string, attachmentId: string): Promise<unknown> {
  return call(target(["session", sessionId, "attachment", attachmentId]), { method: "DELETE" });
}
