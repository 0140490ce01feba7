import {
  type Attachment,
  DEFAULT_MEDIA_TYPE,
  isSameAttachment,
  type NewAttachment,
} from "../../../domain/attachment.js";
import type { Call } from "../../../domain/call.js";
import { DomainError, invalidArgument, notFound } from "../../../domain/errors.js";
import type { Head, HistoryContext } from "../heads.js";
import type { SessionRecord, StoredAttachment } from "../log-store.js";
import type { AttachmentFinder } from "./attachment-finder.js";
import { type AttachmentRemoval, hasArrived } from "./attachment-removal.js";
import { type Arrived, cutIntoPieces } from "./piece-writer.js";

/** How many uploads to one session may be under way in this process. */
const MAX_UPLOADS = 16;
/** The same in all processes. What dead ones have left counts until it is swept, and must not lock a session soon. */
const MAX_ARRIVING = 64;

/** What the caller says of an upload, complete. */
type Wanted = Pick<Attachment, "attachmentId" | "mediaType" | "name">;
type Facts = Wanted & Arrived;

/**
 * Stores attachments. A row is added before the first piece is written, so that a sweep finds what a dead process has
 * left. When the last piece is stored, the row makes all of them visible.
 */
export class Uploader {
  readonly #context: HistoryContext;
  readonly #finder: AttachmentFinder;
  readonly #removal: AttachmentRemoval;
  /** How many uploads are under way, by the uid of their session. */
  readonly #underWay = new Map<string, number>();

  constructor(context: HistoryContext, finder: AttachmentFinder, removal: AttachmentRemoval) {
    this.#context = context;
    this.#finder = finder;
    this.#removal = removal;
  }

  /** Implements {@link StorageProvider.uploadAttachment}. */
  async upload(
    sessionId: string,
    given: NewAttachment,
    chunks: AsyncIterable<Uint8Array>,
    call?: Call,
  ): Promise<Attachment> {
    const wanted: Wanted = {
      attachmentId: given.attachmentId || this.#context.options.newMessageId(),
      mediaType: given.mediaType || DEFAULT_MEDIA_TYPE,
      name: given.name ?? "",
    };
    const { attachmentBytes } = this.#context.options.limits;
    const most = Math.min(given.size ?? attachmentBytes, attachmentBytes);
    if (given.size !== undefined) checkSize(given.size, attachmentBytes);
    const head = await this.#context.need(sessionId, call);
    const checkBytes = (size: number) => {
      checkSize(size, attachmentBytes);
      if (size > most) throw invalidArgument(`More than the ${most} bytes arrived that size says`);
    };
    // Who repeats an upload gets the same answer, whatever room is left.
    const known = given.attachmentId ? await this.#nameable(head, wanted.attachmentId, call) : undefined;
    if (known !== undefined) {
      const arrived = await cutIntoPieces(chunks, checkBytes, async () => {}, call);
      checkArrived(arrived, given);
      const same = sameOrTaken(known, { ...wanted, ...arrived }, sessionId);
      await this.#keepLonger(head.record, same, call);
      return same;
    }
    const { record } = head;
    // Counted before the store is asked, so that uploads which begin together are not all let in.
    const before = this.#underWay.get(record.uid) ?? 0;
    if (before >= MAX_UPLOADS) throw tooMany(record, before, MAX_UPLOADS);
    this.#underWay.set(record.uid, before + 1);
    try {
      return await this.#store(record, wanted, given, chunks, checkBytes, call);
    } finally {
      const left = (this.#underWay.get(record.uid) as number) - 1;
      if (left > 0) this.#underWay.set(record.uid, left);
      else this.#underWay.delete(record.uid);
    }
  }

  async #store(
    record: SessionRecord,
    wanted: Wanted,
    given: NewAttachment,
    chunks: AsyncIterable<Uint8Array>,
    checkBytes: (size: number) => void,
    call?: Call,
  ): Promise<Attachment> {
    const { attachments, quotas, counts } = this.#context;
    const used = await attachments.usage(record.uid, call);
    if (used.arriving >= MAX_ARRIVING) throw tooMany(record, used.arriving, MAX_ARRIVING);
    const { sessionAttachmentBytes } = this.#context.options.limits;
    checkRoom(record, used.bytes, given.size ?? 0, sessionAttachmentBytes);
    const log = await this.#begin(record, wanted, call);
    try {
      const store = async (seq: number, piece: Uint8Array) => {
        await quotas.checkBytes(record, piece.length, call);
        if ((await attachments.putPiece(log, seq, piece, call)) === "gone") throw await this.#lost(record, call);
        if (counts.counts(record)) quotas.note(record, piece.length);
      };
      const onBytes = (size: number) => {
        checkBytes(size);
        checkRoom(record, used.bytes, size, sessionAttachmentBytes);
      };
      const arrived = await cutIntoPieces(chunks, onBytes, store, call);
      checkArrived(arrived, given);
      const now = await attachments.usage(record.uid, call);
      checkRoom(record, now.bytes, arrived.size, sessionAttachmentBytes);
      return await this.#complete(record, log, { ...wanted, ...arrived }, call);
    } catch (error) {
      // What cannot be reached now is left to the sweep.
      await this.#abandon(record, log).catch(() => {});
      throw error;
    }
  }

  async #begin({ uid, sessionId }: SessionRecord, wanted: Wanted, call?: Call): Promise<string> {
    const { attachments, store, options } = this.#context;
    const log = this.#context.newLog(uid);
    const seenMs = await store.timeMs(call);
    const row = { ...wanted, uid, log, size: 0, sha256: "", createTimeMicros: options.nowMicros(), seenMs, pieces: 0 };
    if ((await attachments.begin({ ...row, state: "arriving" }, call)) === "gone") throw notFound("Session", sessionId);
    return log;
  }

  async #complete(record: SessionRecord, log: string, facts: Facts, call?: Call): Promise<Attachment> {
    const { attachments, store, options } = this.#context;
    // Somebody may have copied messages meanwhile that show another attachment with the id.
    const head = await this.#context.need(record.sessionId, call);
    if (head.record.uid !== record.uid) throw notFound("Session", record.sessionId);
    const { attachmentId } = facts;
    const shown = (await this.#finder.find(head, [attachmentId], call)).get(attachmentId);
    if (shown !== undefined) sameOrTaken(shown, facts, record.sessionId);
    const known = await this.#nameable(head, attachmentId, call);
    const seenMs = await store.timeMs(call);
    const { size, sha256 } = facts;
    const arrived = { log, size, sha256, createTimeMicros: options.nowMicros(), seenMs };
    const stored = known ?? (await attachments.complete(arrived, call));
    if (stored === "gone") throw await this.#lost(record, call);
    if (stored.log === log) return stored;
    const same = sameOrTaken(stored, facts, record.sessionId);
    await this.#abandon(record, log).catch(() => {});
    return same;
  }

  /** Nobody who has uploaded an attachment again should find it swept because the first time was long ago. */
  async #keepLonger({ uid }: SessionRecord, known: StoredAttachment, call?: Call): Promise<void> {
    const { attachments, store } = this.#context;
    if (known.uid === uid) await attachments.change(known.log, { seenMs: await store.timeMs(call) }, call);
  }

  /** What the messages of a session can name by an id: its own upload, or one that its messages show. */
  async #nameable(head: Head, id: string, call?: Call): Promise<StoredAttachment | undefined> {
    return (await this.#finder.findForWriting(head, [id], undefined, call)).get(id);
  }

  /** Takes back an upload that has failed. */
  async #abandon({ uid }: SessionRecord, log: string): Promise<void> {
    const { attachments } = this.#context;
    const before = await attachments.findLog(log);
    if (before?.state === "stored") return;
    await this.#removal.doom({ log });
    // A request that was thought lost may have made it whole. A sweep removes it then, unless something names it.
    const doomed = await attachments.findLog(log);
    if (doomed !== null && hasArrived(doomed)) return;
    await this.#removal.deleteNow({ uid, log });
  }

  /** The error when the row of an upload is gone. */
  async #lost({ uid, sessionId }: SessionRecord, call?: Call): Promise<DomainError> {
    const now = await this.#context.store.readRecordByUid(uid, call);
    if (!now || now.deleted) return notFound("Session", sessionId);
    return new DomainError("aborted", "The upload has rested for so long that it was given up");
  }
}

function checkRoom({ sessionId }: SessionRecord, used: number, more: number, limit: number): void {
  if (used + more <= limit) return;
  const text = `Session ${JSON.stringify(sessionId)} has uploads of ${used} bytes; with these ${more} they would exceed ${limit} (--limit-session-attachment-bytes)`;
  throw new DomainError("resource_exhausted", text);
}

function tooMany({ sessionId }: SessionRecord, uploads: number, limit: number): DomainError {
  const text = `${uploads} uploads to session ${JSON.stringify(sessionId)} are under way; at most ${limit} are allowed`;
  return new DomainError("resource_exhausted", text);
}

function checkSize(size: number, limit: number): void {
  if (size <= limit) return;
  throw invalidArgument(
    `The attachment has ${size} bytes or more; at most ${limit} are allowed (--limit-attachment-bytes)`,
  );
}

function checkArrived(arrived: Arrived, { size, sha256 }: NewAttachment): void {
  if (size !== undefined && arrived.size !== size) {
    throw invalidArgument(`${arrived.size} bytes arrived, but size is ${size}`);
  }
  if (sha256 && arrived.sha256 !== sha256.toLowerCase()) {
    throw invalidArgument(`The SHA-256 of what arrived is ${arrived.sha256}, not ${sha256.toLowerCase()}`);
  }
}

function sameOrTaken(known: StoredAttachment, facts: Facts, sessionId: string): StoredAttachment {
  if (isSameAttachment(known, facts)) return known;
  const text = `Session ${JSON.stringify(sessionId)} has another attachment ${JSON.stringify(known.attachmentId)}`;
  throw new DomainError("already_exists", text);
}
