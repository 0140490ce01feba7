import { createHash } from "node:crypto";
import type { Part, PartAttachment } from "../../../src/domain/chat-message.js";
import { DomainError, invalidArgument, notFound } from "../../../src/domain/errors.js";
import { openDrafts } from "./naive-drafts.js";
import type { NaiveMessage, NaiveSession, NaiveUpload } from "./naive-session.js";

export const ATTACHMENTS = ["p", "q"] as const;

export function upload(session: NaiveSession, attachmentId: string, bytes: string): PartAttachment {
  const known = session.uploads.get(attachmentId);
  const shown = shownBy(reachable(session), attachmentId);
  const facts = factsOf(attachmentId, bytes);
  const sha256 = known ? factsOf(attachmentId, known.bytes).sha256 : shown?.sha256;
  if (sha256 !== undefined && sha256 !== facts.sha256) throw new DomainError("already_exists", "Other bytes");
  // What only a draft or an unrevert shows cannot be named by messages, so it becomes the session's own as well.
  const isNameable = known !== undefined || shownBy(visible(session), attachmentId) !== undefined;
  if (!isNameable) session.uploads.set(attachmentId, { bytes, isNamed: false });
  return facts;
}

/** What an answer shows of an attachment that is read. */
export function read(session: NaiveSession, attachmentId: string): PartAttachment {
  const shown = shownBy(reachable(session), attachmentId);
  if (shown !== undefined) return shown;
  const own = session.uploads.get(attachmentId);
  if (own === undefined || own.isNamed) throw notFound("Attachment", attachmentId);
  return factsOf(attachmentId, own.bytes);
}

export function remove(session: NaiveSession, attachmentId: string): void {
  const shown = shownBy(reachable(session), attachmentId);
  if (shown !== undefined) throw new DomainError("failed_precondition", `Something names ${attachmentId}`);
  if (!session.uploads.delete(attachmentId)) throw notFound("Attachment", attachmentId);
}

/** The ids of the attachments that messages and open drafts show, with the ids of those, all in order. */
export function listed(session: NaiveSession): readonly (readonly [string, readonly string[]])[] {
  const drafts = openDrafts(session).map(({ message }) => message);
  return ATTACHMENTS.flatMap((id) => {
    const naming = [...session.messages, ...drafts].filter(({ parts }) => shownBy(parts, id));
    return naming.length === 0 ? [] : [[id, naming.map((one) => one.id).sort()] as const];
  });
}

/** Fills in what parts say of attachments. What only a draft or an unrevert shows must be the session's own. */
export function filled(session: NaiveSession, parts: readonly Part[]): readonly Part[] {
  return parts.map((part) => {
    if (part.attachment === undefined) return part;
    const { attachmentId } = part.attachment;
    const own = session.uploads.get(attachmentId);
    const known = shownBy(visible(session), attachmentId) ?? (own && factsOf(attachmentId, own.bytes));
    if (known === undefined) throw invalidArgument(`No attachment ${attachmentId}`);
    return { ...part, attachment: known };
  });
}

/** Notes that something which is stored now has these parts. */
export function noteNamed(session: NaiveSession, parts: readonly Part[]): void {
  for (const { attachment } of parts) {
    const own = attachment && session.uploads.get(attachment.attachmentId);
    if (own) own.isNamed = true;
  }
}

/** Gives a session its own copies of what copied messages name. */
export function copyNamed(
  target: NaiveSession,
  copied: readonly NaiveMessage[],
  sources: readonly NaiveUpload[],
): void {
  for (const { attachment } of copied.flatMap(({ parts }) => parts)) {
    if (attachment === undefined || shownBy(reachable(target), attachment.attachmentId)) continue;
    const source = sources.find(({ bytes }) => factsOf("", bytes).sha256 === attachment.sha256);
    const bytes = source?.bytes ?? "";
    target.uploads.set(attachment.attachmentId, { bytes, isNamed: true });
  }
}

/**
 * Whether callers cannot know what a session has under an id: what named its own upload is not shown any more, so a
 * sweep removes the upload sooner or later. Once it has removed what named the upload, the upload may be read again for
 * as long as one that nothing has named.
 */
export function isUncertain(session: NaiveSession, attachmentId: string): boolean {
  const own = session.uploads.get(attachmentId);
  return own?.isNamed === true && shownBy(reachable(session), attachmentId) === undefined;
}

/** Whether a session has other bytes under one of the ids that messages name. */
export function hasOthers(session: NaiveSession, messages: readonly NaiveMessage[]): boolean {
  return messages.some(({ parts }) =>
    parts.some(({ attachment }) => {
      if (attachment === undefined) return false;
      const { attachmentId, sha256 } = attachment;
      const own = session.uploads.get(attachmentId);
      const has = shownBy(reachable(session), attachmentId) ?? (own && factsOf(attachmentId, own.bytes));
      return has !== undefined && has.sha256 !== sha256;
    }),
  );
}

export function factsOf(attachmentId: string, bytes: string): PartAttachment {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { attachmentId, mediaType: "application/octet-stream", name: "", size: bytes.length, sha256 };
}

function visible(session: NaiveSession): readonly Part[] {
  return session.messages.flatMap(({ parts }) => parts);
}

/** All parts by which a session may read an attachment. */
function reachable(session: NaiveSession): readonly Part[] {
  const drafts = openDrafts(session).map(({ message }) => message);
  return [...session.messages, ...(session.undo ?? []), ...drafts].flatMap(({ parts }) => parts);
}

function shownBy(parts: readonly Part[], attachmentId: string): PartAttachment | undefined {
  return parts.find(({ attachment }) => attachment?.attachmentId === attachmentId)?.attachment;
}
