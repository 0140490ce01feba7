import type { Entry, Naming, Segment, StoredAttachment } from "../history/log-store.js";
import { ownerOf } from "../history/record-facts.js";

/** A naming, and a key by which namings of one target are in order. */
type Place = readonly [log: string, seq: number];

/** The attachments of all namespaces of a database, and what names them. */
export class AttachmentMemory {
  readonly #rows = new Map<string, StoredAttachment>();
  /** By uid, and then by log. */
  readonly #owned = new Map<string, Set<string>>();
  /** By log and place, from 1. */
  readonly #pieces = new Map<string, Uint8Array[]>();
  /** The entries that name attachments, by log and place. */
  readonly #naming = new Map<string, Map<number, Entry>>();
  /** Where each target is named, by log and place. */
  readonly #targets = new Map<string, Map<string, Place>>();

  /** Notes what a stored entry names. */
  note(entry: Entry): void {
    const { log, seq, body } = entry;
    if (body.attachments.length === 0) return;
    const ofLog = this.#naming.get(log) ?? new Map<number, Entry>();
    this.#naming.set(log, ofLog.set(seq, entry));
    for (const { log: target } of body.attachments) {
      const places = this.#targets.get(target) ?? new Map<string, Place>();
      this.#targets.set(target, places.set(`${log} ${seq}`, [log, seq]));
    }
  }

  /** Forgets what the entry at a place has named. */
  forget(log: string, seq: number): void {
    const ofLog = this.#naming.get(log);
    const entry = ofLog?.get(seq);
    if (ofLog === undefined || entry === undefined) return;
    ofLog.delete(seq);
    if (ofLog.size === 0) this.#naming.delete(log);
    for (const { log: target } of entry.body.attachments) {
      const places = this.#targets.get(target);
      places?.delete(`${log} ${seq}`);
      if (places?.size === 0) this.#targets.delete(target);
    }
  }

  row(log: string): StoredAttachment | undefined {
    return this.#rows.get(log);
  }

  put(row: StoredAttachment): StoredAttachment {
    const stored = Object.freeze({ ...row });
    this.#rows.set(row.log, stored);
    this.#owned.set(row.uid, (this.#owned.get(row.uid) ?? new Set()).add(row.log));
    return stored;
  }

  remove(log: string): void {
    const row = this.#rows.get(log);
    this.#rows.delete(log);
    const logs = this.#owned.get(ownerOf(log));
    logs?.delete(log);
    if (row !== undefined && logs?.size === 0) this.#owned.delete(row.uid);
  }

  *all(): Generator<StoredAttachment> {
    yield* this.#rows.values();
  }

  *of(uid: string): Generator<StoredAttachment> {
    for (const log of this.#owned.get(uid) ?? []) yield this.#rows.get(log) as StoredAttachment;
  }

  /** The uids that own rows or pieces. */
  *uids(): Generator<string> {
    yield* this.#owned.keys();
    for (const log of this.#pieces.keys()) yield ownerOf(log);
  }

  putPiece(log: string, seq: number, bytes: Uint8Array): void {
    const pieces = this.#pieces.get(log) ?? [];
    this.#pieces.set(log, pieces);
    pieces[seq - 1] = Uint8Array.from(bytes);
  }

  pieces(log: string): readonly (Uint8Array | undefined)[] {
    return this.#pieces.get(log) ?? [];
  }

  pieceBytes({ log, first, last }: Segment): number {
    return this.pieces(log)
      .slice(first - 1, last)
      .reduce((sum, piece) => sum + (piece?.length ?? 0), 0);
  }

  deletePieces({ log, first, last }: Segment): void {
    const pieces = this.#pieces.get(log);
    if (pieces === undefined) return;
    for (let seq = first; seq <= Math.min(last, pieces.length); seq++) delete pieces[seq - 1];
    if (pieces.every((piece) => piece === undefined)) this.#pieces.delete(log);
  }

  deleteOwnedBy(uid: string): void {
    for (const log of [...(this.#owned.get(uid) ?? [])]) this.remove(log);
    for (const log of [...this.#pieces.keys()]) if (ownerOf(log) === uid) this.#pieces.delete(log);
  }

  namings(target: string): Naming[] {
    const places = [...(this.#targets.get(target)?.values() ?? [])];
    return places.map(([log, seq]) => this.#namingAt(log, seq, target)).sort(byPlace);
  }

  /** What entries of a log name. */
  namedIn(log: string): Naming[] {
    const found: Naming[] = [];
    for (const [seq, { body }] of this.#naming.get(log) ?? []) {
      for (const { attachmentId, log: target } of body.attachments) found.push({ log, seq, attachmentId, target });
    }
    return found;
  }

  /** The logs of a session whose entries name attachments. */
  *namingLogsOf(uid: string): Generator<string> {
    for (const log of this.#naming.keys()) if (ownerOf(log) === uid) yield log;
  }

  #namingAt(log: string, seq: number, target: string): Naming {
    const named = this.#naming
      .get(log)
      ?.get(seq)
      ?.body.attachments.find((one) => one.log === target);
    return { log, seq, attachmentId: named?.attachmentId ?? "", target };
  }
}

export function byPlace(
  a: { readonly log: string; readonly seq: number },
  b: { readonly log: string; readonly seq: number },
) {
  return compare(a.log, b.log) || a.seq - b.seq;
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
