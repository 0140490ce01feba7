import {
  type Attachment,
  type AttachmentContent,
  type AttachmentCursor,
  type AttachmentPage,
  type AttachmentRange,
  type NewAttachment,
  PIECE_BYTES,
} from "../../../domain/attachment.js";
import { type Call, checkCall } from "../../../domain/call.js";
import { DomainError, invalidArgument, notFound } from "../../../domain/errors.js";
import type { Head, HistoryContext } from "../heads.js";
import type { Entry, StoredAttachment } from "../log-store.js";
import { AttachmentCopies } from "./attachment-copies.js";
import { AttachmentFinder } from "./attachment-finder.js";
import type { AttachmentRemoval } from "./attachment-removal.js";
import { Uploader } from "./uploader.js";

/** The operations on attachments. */
export class Attachments {
  readonly #context: HistoryContext;
  readonly #finder: AttachmentFinder;
  readonly #uploader: Uploader;
  readonly #removal: AttachmentRemoval;
  readonly #copies: AttachmentCopies;

  constructor(context: HistoryContext, removal: AttachmentRemoval) {
    this.#context = context;
    this.#finder = new AttachmentFinder(context);
    this.#uploader = new Uploader(context, this.#finder, removal);
    this.#removal = removal;
    const upload = this.upload.bind(this);
    this.#copies = new AttachmentCopies(context, this.#finder, upload, (one, call) =>
      this.#pieces(one, 0, one.size, call),
    );
  }

  /** Implements {@link StorageProvider.uploadAttachment}. */
  upload(
    sessionId: string,
    attachment: NewAttachment,
    chunks: AsyncIterable<Uint8Array>,
    call?: Call,
  ): Promise<Attachment> {
    return this.#uploader.upload(sessionId, attachment, chunks, call);
  }

  /** Implements {@link StorageProvider.getAttachment}. */
  async get(
    sessionId: string,
    attachmentId: string,
    { offset = 0, length = Number.POSITIVE_INFINITY }: AttachmentRange,
    call?: Call,
  ): Promise<AttachmentContent> {
    const attachment = await this.#find(sessionId, attachmentId, call);
    const { size } = attachment;
    if (offset > 0 && offset >= size) {
      const text = `offset is ${offset}; the attachment has ${size} bytes`;
      throw new DomainError("out_of_range", text);
    }
    return { attachment, pieces: this.#pieces(attachment, offset, Math.min(size, offset + length), call) };
  }

  /** Implements {@link StorageProvider.listAttachments}. */
  async list(
    sessionId: string,
    { limit, cursor }: { readonly limit: number; readonly cursor?: AttachmentCursor | undefined },
    call?: Call,
  ): Promise<AttachmentPage> {
    return this.#withHead(sessionId, call, async (head) => {
      if (cursor !== undefined && cursor.sessionUid !== head.record.uid) {
        throw invalidArgument(`page_token belongs to another session than ${JSON.stringify(sessionId)}`);
      }
      return this.#finder.list(head, cursor?.attachmentId ?? "", limit, call);
    });
  }

  /** Implements {@link StorageProvider.deleteAttachment}. */
  async delete(sessionId: string, attachmentId: string, call?: Call): Promise<void> {
    const attachment = await this.#withHead(sessionId, call, async (head) => {
      const known = await this.#finder.ownOrShown(head, attachmentId, call);
      if (known !== undefined) return known;
      await this.#context.checkCurrent(head.record, call);
      throw notFound("Attachment", attachmentId);
    });
    if (await this.#removal.isNamed(attachment, call)) throw isNamed(attachmentId);
    await this.#removal.doom(attachment, call);
    // While a draft is open, a sweep does the rest. Nobody can see the attachment any more.
    await this.#removal.finish(attachment, call);
    if (await this.#removal.isNamed(attachment, call)) throw isNamed(attachmentId);
  }

  /** The entries as they are copied to a session, which gets its own copies of what they name. */
  copyNamed(target: Head, entries: readonly Entry[], call?: Call): Promise<readonly Entry[]> {
    return this.#copies.copy(target, entries, call);
  }

  #find(sessionId: string, attachmentId: string, call?: Call): Promise<StoredAttachment> {
    return this.#withHead(sessionId, call, async (head) => {
      const found = (await this.#finder.find(head, [attachmentId], call)).get(attachmentId);
      if (found !== undefined) return found;
      await this.#context.checkCurrent(head.record, call);
      throw notFound("Attachment", attachmentId);
    });
  }

  /** The attachment with this log, whoever names it, and all its bytes. Null when there is none. */
  async stored(log: string, onLost: () => DomainError, call?: Call): Promise<AttachmentContent | null> {
    const attachment = await this.#context.attachments.findLog(log, call);
    return attachment && { attachment, pieces: this.#pieces(attachment, 0, attachment.size, call, onLost) };
  }

  /** Reads one piece ahead of the reader. */
  async *#pieces(
    { log, attachmentId }: StoredAttachment,
    from: number,
    to: number,
    call?: Call,
    onLost = () => removedMeanwhile(attachmentId),
  ) {
    const { attachments } = this.#context;
    const read = (seq: number) => {
      const reading = attachments.readPieces(log, seq, 1, call);
      reading.catch(() => {});
      return reading;
    };
    let seq = Math.floor(from / PIECE_BYTES) + 1;
    let next = from < to ? read(seq) : null;
    for (let at = from; at < to && next !== null; ) {
      checkCall(call);
      const [piece] = await next;
      if (piece === undefined) throw onLost();
      const start = (seq - 1) * PIECE_BYTES;
      const bytes = piece.subarray(at - start, Math.min(piece.length, to - start));
      at += bytes.length;
      seq += 1;
      next = at < to ? read(seq) : null;
      yield bytes;
    }
  }

  #withHead<T>(sessionId: string, call: Call | undefined, work: (head: Head) => Promise<T>): Promise<T> {
    return this.#context.retrying(sessionId, call, async (saw) => {
      const head = await this.#context.need(sessionId, call);
      saw(head);
      return work(head);
    });
  }
}

function removedMeanwhile(attachmentId: string): DomainError {
  return new DomainError("unavailable", `Attachment ${JSON.stringify(attachmentId)} was removed while it was read`);
}

function isNamed(attachmentId: string): DomainError {
  const text = `Messages or drafts name attachment ${JSON.stringify(attachmentId)}; it is kept as long as they are stored`;
  return new DomainError("failed_precondition", text);
}
