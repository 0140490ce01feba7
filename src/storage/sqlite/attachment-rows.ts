import type { ArrivedAttachment, Segment, StoredAttachment } from "../history/log-store.js";
import { ownerOf } from "../history/record-facts.js";
import { fromColumn, toColumn } from "../text-column.js";
import type { Row, Statements } from "./statements.js";

/** A deletion reads what it frees; chunks of this size keep the event loop responsive. */
const DELETE_BYTES = 2 * 1024 * 1024;

/**
 * The rows of a namespace's attachments, and all pieces. All methods are synchronous; changes must be made inside a
 * transaction that the caller holds.
 */
export class AttachmentRows {
  readonly #sql: Statements;
  /** As a column holds it. */
  readonly #namespace: string;

  constructor(statements: Statements, namespace: string) {
    this.#sql = statements;
    this.#namespace = toColumn(namespace);
  }

  insert(row: StoredAttachment): void {
    const texts = [row.log, row.attachmentId, row.state, row.mediaType, row.name].map(toColumn);
    const facts = [row.size, row.sha256, row.createTimeMicros, row.seenMs, row.pieces];
    this.#sql.insertAttachment.run(this.#namespace, toColumn(row.uid), ...texts, ...facts);
  }

  ofLog(log: string): StoredAttachment | null {
    const row = this.#sql.attachmentOfLog.get(toColumn(log), this.#namespace);
    return row === undefined ? null : toAttachment(row);
  }

  stored(uid: string, attachmentId: string): StoredAttachment | null {
    const row = this.#sql.attachmentById.get(this.#namespace, toColumn(uid), toColumn(attachmentId));
    return row === undefined ? null : toAttachment(row);
  }

  list(uid: string, afterLog: string, limit: number): StoredAttachment[] {
    const [first, end] = logsOfOwner(uid);
    const after = toColumn(afterLog);
    const from = after > first ? after : first;
    return this.#sql.attachmentsOfOwner.all(from, end, this.#namespace, limit).map(toAttachment);
  }

  seen(state: StoredAttachment["state"], untilMs: number, limit: number): StoredAttachment[] {
    return this.#sql.attachmentsSeen.all(this.#namespace, state, untilMs, limit).map(toAttachment);
  }

  usage(uid: string): { readonly bytes: number; readonly arriving: number } {
    const [bytes, arriving] = this.#sql.attachmentUsage.get(...logsOfOwner(uid), this.#namespace) as [number, number];
    return { bytes, arriving };
  }

  complete({ log, size, sha256, createTimeMicros, seenMs }: ArrivedAttachment): StoredAttachment {
    this.#sql.completeAttachment.run(size, sha256, createTimeMicros, seenMs, toColumn(log));
    return this.ofLog(log) as StoredAttachment;
  }

  change(log: string, seenMs: number, state: "doomed" | null, pieces: number | null): void {
    this.#sql.changeAttachment.run(seenMs, state, pieces, toColumn(log), this.#namespace);
  }

  remove(log: string): void {
    this.#sql.deleteAttachment.run(toColumn(log), this.#namespace);
  }

  putPiece(log: string, seq: number, bytes: Uint8Array): void {
    this.#sql.insertPiece.run(toColumn(log), seq, bytes);
  }

  /** The pieces from a place on, up to the first gap. */
  pieces(log: string, first: number, limit: number): Uint8Array[] {
    const rows = this.#sql.readPieces.all(toColumn(log), first, limit) as [number, Uint8Array][];
    const end = rows.findIndex(([seq], i) => seq !== first + i);
    return (end < 0 ? rows : rows.slice(0, end)).map(([, bytes]) => bytes);
  }

  lastPiece(log: string): number {
    return (this.#sql.lastPiece.get(toColumn(log))?.[0] ?? 0) as number;
  }

  pieceBytes({ log, first, last }: Segment): number {
    return this.#sql.pieceBytes.get(toColumn(log), first, last)?.[0] as number;
  }

  /**
   * Deletes at most `limit` pieces of a range, or of a uid, and then also at most `limit` rows of the uid, in whatever
   * namespace. Returns whether there may be more.
   */
  delete(target: { readonly uid: string } | Segment, limit: number): boolean {
    if (this.#deletePieces(target, limit)) return true;
    if (!("uid" in target)) return false;
    const [first, end] = logsOfOwner(target.uid);
    const logs = this.#sql.attachmentLogsOfOwner.all(first, end, limit);
    const last = logs.at(-1);
    if (last !== undefined) this.#sql.deleteAttachmentsOfOwner.run(first, last[0] as string);
    return logs.length === limit;
  }

  /** The first uid at or after the given one that owns a row or a piece. */
  nextOwner(from: string): string | undefined {
    const { nextAttachment, nextPieces } = this.#sql;
    const found = [nextAttachment, nextPieces].flatMap((next) => (next.get(toColumn(from))?.[0] as string) ?? []);
    return found.map((column) => ownerOf(fromColumn(column))).sort(byColumn)[0];
  }

  #deletePieces(target: { readonly uid: string } | Segment, limit: number): boolean {
    const { piecesOfRange, piecesOfOwner } = this.#sql;
    const rows =
      "uid" in target
        ? piecesOfOwner.all(...logsOfOwner(target.uid), limit)
        : piecesOfRange.all(toColumn(target.log), target.first, target.last, limit);
    let bytes = 0;
    for (const [i, [log, seq, length]] of (rows as [string, number, number][]).entries()) {
      this.#sql.deletePieces.run(log, seq, seq);
      bytes += length;
      if (bytes >= DELETE_BYTES) return i + 1 < rows.length || rows.length === limit;
    }
    return rows.length > 0 && rows.length === limit;
  }
}

/** By the bytes of the columns that hold them, as SQLite compares. */
export function byColumn(a: string, b: string): number {
  return Buffer.compare(Buffer.from(toColumn(a)), Buffer.from(toColumn(b)));
}

/** What comes before and after the names of a uid's logs. */
export function logsOfOwner(uid: string): readonly [string, string] {
  const owner = toColumn(uid);
  return [`${owner}.`, `${owner}/`];
}

function toAttachment(row: Row): StoredAttachment {
  const [log, id, state, mediaType, name, size, sha256, createTimeMicros, seenMs, pieces] =
    row as unknown as AttachmentColumns;
  return {
    uid: ownerOf(fromColumn(log)),
    log: fromColumn(log),
    attachmentId: fromColumn(id),
    state,
    mediaType: fromColumn(mediaType),
    name: fromColumn(name),
    size,
    sha256,
    createTimeMicros,
    seenMs,
    pieces,
  };
}

type AttachmentColumns = readonly [
  log: string,
  id: string,
  state: StoredAttachment["state"],
  mediaType: string,
  name: string,
  size: number,
  sha256: string,
  createTimeMicros: number,
  seenMs: number,
  pieces: number,
];
