import type { Call } from "../../domain/call.js";
import type { ArrivedAttachment, AttachmentTable, Naming, Segment, StoredAttachment } from "../history/log-store.js";
import type { MongoAttachmentRows } from "./mongo-attachment-rows.js";
import type { MongoNamings } from "./mongo-namings.js";
import type { MongoPieces } from "./mongo-pieces.js";

/** The attachments of one namespace. It passes each operation on to rows, pieces, or what names them. */
export class MongoAttachmentTable implements AttachmentTable {
  readonly #rows: MongoAttachmentRows;
  readonly #pieces: MongoPieces;
  readonly #namings: MongoNamings;

  constructor(rows: MongoAttachmentRows, pieces: MongoPieces, namings: MongoNamings) {
    this.#rows = rows;
    this.#pieces = pieces;
    this.#namings = namings;
  }

  begin(attachment: StoredAttachment, call?: Call): Promise<"stored" | "gone"> {
    return this.#rows.begin(attachment, call);
  }

  putPiece(log: string, seq: number, bytes: Uint8Array, call?: Call): Promise<"stored" | "gone"> {
    return this.#pieces.put(log, seq, bytes, call);
  }

  complete(arrived: ArrivedAttachment, call?: Call): Promise<StoredAttachment | "gone"> {
    return this.#rows.complete(arrived, call);
  }

  readPieces(log: string, first: number, limit: number, call?: Call): Promise<readonly Uint8Array[]> {
    return this.#pieces.read(log, first, limit, call);
  }

  lastPiece(log: string, call?: Call): Promise<number> {
    return this.#pieces.last(log, call);
  }

  find(uid: string, attachmentIds: readonly string[], call?: Call): Promise<readonly StoredAttachment[]> {
    return this.#rows.find(uid, attachmentIds, call);
  }

  findLog(log: string, call?: Call): Promise<StoredAttachment | null> {
    return this.#rows.findLog(log, call);
  }

  list(uid: string, afterLog: string, limit: number, call?: Call): Promise<readonly StoredAttachment[]> {
    return this.#rows.list(uid, afterLog, limit, call);
  }

  listSeen(
    state: StoredAttachment["state"],
    untilMs: number,
    limit: number,
    call?: Call,
  ): Promise<readonly StoredAttachment[]> {
    return this.#rows.listSeen(state, untilMs, limit, call);
  }

  change(log: string, change: Parameters<AttachmentTable["change"]>[1], call?: Call): Promise<void> {
    return this.#rows.change(log, change, call);
  }

  remove(log: string, call?: Call): Promise<void> {
    return this.#rows.remove(log, call);
  }

  clearLate(untilMs: number, call?: Call): Promise<void> {
    return this.#pieces.clearLate(untilMs, call);
  }

  usage(uid: string, call?: Call): Promise<{ readonly bytes: number; readonly arriving: number }> {
    return this.#rows.usage(uid, call);
  }

  namings(
    target: string,
    after: { readonly log: string; readonly seq: number } | undefined,
    limit: number,
    call?: Call,
  ): Promise<readonly Naming[]> {
    return this.#namings.of(target, after, limit, call);
  }

  findNamings(logs: readonly string[], attachmentIds: readonly string[], call?: Call): Promise<readonly Naming[]> {
    return this.#namings.find(logs, attachmentIds, call);
  }

  listNamings(logs: readonly string[], afterId: string, limit: number, call?: Call): Promise<readonly Naming[]> {
    return this.#namings.list(logs, afterId, limit, call);
  }

  targetsIn(where: Segment | { readonly foreignTo: string }, limit: number, call?: Call): Promise<readonly string[]> {
    return this.#namings.targetsIn(where, limit, call);
  }
}
