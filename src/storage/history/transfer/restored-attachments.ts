import { partOf } from "../../../domain/attachment.js";
import type { Call } from "../../../domain/call.js";
import { DomainError, invalidArgument } from "../../../domain/errors.js";
import { MessageBody } from "../../../domain/message-body.js";
import type { BackupAttachment, BackupMessage, SharedAttachment, SharedRange } from "../../../domain/session-image.js";
import { isWithin } from "../attachments/attachment-finder.js";
import { cutIntoPieces } from "../attachments/piece-writer.js";
import type { HistoryContext } from "../heads.js";
import type { NextRecord } from "../log-store.js";

/** The attachments that messages of one session name while it is being restored. */
export class RestoredAttachments {
  readonly #context: HistoryContext;
  readonly #record: NextRecord;
  readonly #shared: ReadonlyMap<number, SharedAttachment>;
  /** The shared ones that messages name by now, by their logs. */
  readonly #named = new Map<string, string>();
  readonly #written = new Map<number, SharedAttachment>();

  constructor(context: HistoryContext, record: NextRecord, shared: ReadonlyMap<number, SharedAttachment>) {
    this.#context = context;
    this.#record = record;
    this.#shared = shared;
  }

  /** Those that belong to the restored session, by their numbers. */
  get written(): ReadonlyMap<number, SharedAttachment> {
    return this.#written;
  }

  /** The body of a message as it is stored. What it names is stored before. */
  async bodyOf({ body, attachments = [] }: BackupMessage, call?: Call): Promise<MessageBody> {
    if (attachments.length === 0 && body.attachments.length === 0) return body;
    const named: { attachmentId: string; log: string }[] = [];
    for (const one of attachments) named.push({ attachmentId: one.attachmentId, log: await this.#logOf(one, call) });
    return MessageBody.of({ parts: body.parts, metadata: body.metadata, usage: body.usage }, named);
  }

  /**
   * Whether nothing can remove the shared ones any more that messages name by now. What shared ranges name stays with
   * these. Any other one must not be doomed: whoever dooms it from now on finds the messages that name it.
   */
  async areSharedKept(ranges: readonly SharedRange[], call?: Call): Promise<boolean> {
    for (const [log, attachmentId] of this.#named) {
      const { attachments } = this.#context;
      const row = await attachments.findLog(log, call);
      if (row?.state === "stored") continue;
      const namings = await attachments.findNamings([...new Set(ranges.map((one) => one.log))], [attachmentId], call);
      if (!namings.some((naming) => naming.target === log && isWithin(ranges, naming))) return false;
    }
    return true;
  }

  async #logOf(attachment: BackupAttachment, call?: Call): Promise<string> {
    const { number, attachmentId } = attachment;
    const shared = this.#shared.get(number);
    if (shared !== undefined) this.#named.set(shared.log, attachmentId);
    const known = shared ?? this.#written.get(number);
    if (known !== undefined) return known.log;
    const log = await this.#write(attachment, call);
    this.#written.set(number, { log, ownerId: this.#record.sessionId });
    return log;
  }

  async #write({ open }: BackupAttachment, call?: Call): Promise<string> {
    const { attachments, store, counts, quotas } = this.#context;
    const record = this.#record;
    const { uid, sessionId } = record;
    const { attachment, pieces } = await open();
    const { attachmentId, createTimeMicros, size, sha256 } = attachment;
    const log = this.#context.newLog(uid);
    const row = { ...partOf(attachment), createTimeMicros, uid, log, seenMs: await store.timeMs(call), pieces: 0 };
    if ((await attachments.begin({ ...row, state: "arriving" }, call)) === "gone") throw sweptAway(sessionId);
    const put = async (seq: number, piece: Uint8Array) => {
      if ((await attachments.putPiece(log, seq, piece, call)) === "gone") throw sweptAway(sessionId);
      if (counts.counts(record)) quotas.note(record, piece.length);
    };
    const arrived = await cutIntoPieces(pieces, () => {}, put, call);
    if (arrived.size !== size || arrived.sha256 !== sha256) {
      const found = `${arrived.size} bytes with the SHA-256 ${arrived.sha256}`;
      const text = `Attachment ${JSON.stringify(attachmentId)} has ${found}, not ${size} with ${sha256}`;
      throw invalidArgument(text);
    }
    const seenMs = await store.timeMs(call);
    const stored = await attachments.complete({ log, size, sha256, createTimeMicros, seenMs }, call);
    if (stored === "gone") throw sweptAway(sessionId);
    // Its id was free when it was uploaded, because the other one with the id is to go with what names it.
    if (stored.log !== log) await attachments.change(log, { seenMs, state: "doomed" }, call);
    return log;
  }
}

/** The error of a restore whose session was taken for one that nobody restores any more. */
export function sweptAway(sessionId: string): DomainError {
  const text = `Session ${JSON.stringify(sessionId)} took so long that a sweep has cleared it away; import it again`;
  return new DomainError("unavailable", text);
}
