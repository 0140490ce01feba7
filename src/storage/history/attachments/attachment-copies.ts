import { isSameAttachment, type NewAttachment, partOf } from "../../../domain/attachment.js";
import type { Call } from "../../../domain/call.js";
import type { Part } from "../../../domain/chat-message.js";
import { MessageBody, type NamedAttachment } from "../../../domain/message-body.js";
import type { Head, HistoryContext } from "../heads.js";
import type { Entry, StoredAttachment } from "../log-store.js";
import { Again } from "../retries.js";
import type { AttachmentFinder } from "./attachment-finder.js";

/** Uploads an attachment to a session. */
type Upload = (
  sessionId: string,
  given: NewAttachment,
  chunks: AsyncIterable<Uint8Array>,
  call?: Call,
) => Promise<unknown>;

/**
 * Copies the bytes that copied messages name into the session that they are copied to, which does not depend on the
 * other one then. What that session has already is not copied again, so an interrupted copy goes on.
 */
export class AttachmentCopies {
  readonly #context: HistoryContext;
  readonly #finder: AttachmentFinder;
  readonly #upload: Upload;
  readonly #read: (attachment: StoredAttachment, call?: Call) => AsyncIterable<Uint8Array>;

  constructor(
    context: HistoryContext,
    finder: AttachmentFinder,
    upload: Upload,
    read: (attachment: StoredAttachment, call?: Call) => AsyncIterable<Uint8Array>,
  ) {
    this.#context = context;
    this.#finder = finder;
    this.#upload = upload;
    this.#read = read;
  }

  /** The entries as they are written to the target. */
  async copy(target: Head, entries: readonly Entry[], call?: Call): Promise<readonly Entry[]> {
    const copies = new Map<string, StoredAttachment>();
    for (const { attachmentId, log } of entries.flatMap(({ body }) => body.attachments)) {
      if (copies.has(log)) continue;
      const source = await this.#context.attachments.findLog(log, call);
      const copy = source && (await this.#copyOf(source, attachmentId, target, call));
      if (copy) copies.set(log, copy);
    }
    return entries.map((entry) => ({ ...entry, body: renamed(entry.body, copies) }));
  }

  /** The target's own attachment with the same bytes, name and type: under the same id if that is free. */
  async #copyOf(source: StoredAttachment, id: string, target: Head, call?: Call): Promise<StoredAttachment> {
    const { mediaType, name, size, sha256 } = source;
    for (const attachmentId of idsFor(source, id)) {
      let known = await this.#finder.ownOrShown(target, attachmentId, call);
      if (known === undefined) {
        const given = { attachmentId, mediaType, name, size, sha256 };
        await this.#upload(target.record.sessionId, given, this.#read(source, call), call);
        known = await this.#finder.ownOrShown(target, attachmentId, call);
        // Somebody has deleted it at once.
        if (known === undefined) throw new Again();
      }
      if (isSameAttachment(known, source)) return known;
    }
    throw new Error("There is always another id");
  }
}

/** The ids to try for a copy, the same ones again if it is repeated. */
function* idsFor({ sha256, log }: StoredAttachment, id: string): Generator<string> {
  yield id;
  const other = `${sha256.slice(0, 32)}-${log.slice(-12)}`;
  yield other;
  for (let i = 2; ; i++) yield `${other}-${i}`;
}

function renamed(body: MessageBody, copies: ReadonlyMap<string, StoredAttachment>): MessageBody {
  if (body.attachments.length === 0) return body;
  const byId = new Map(body.attachments.map(({ attachmentId, log }) => [attachmentId, copies.get(log)]));
  const parts = body.parts.map((part): Part => {
    if (part.attachment === undefined) return part;
    const copy = byId.get(part.attachment.attachmentId);
    return { ...part, attachment: copy ? partOf(copy) : { ...part.attachment, missing: true } };
  });
  const attachments: NamedAttachment[] = [];
  for (const copy of byId.values()) if (copy) attachments.push({ attachmentId: copy.attachmentId, log: copy.log });
  return MessageBody.of({ parts, metadata: body.metadata, usage: body.usage }, attachments);
}
