import type { Call } from "../../domain/call.js";
import type {
  ArrivedAttachment,
  AttachmentTable,
  Entry,
  Naming,
  Segment,
  StoredAttachment,
} from "../history/log-store.js";
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

/** What the attachments of one namespace need of its store. */
export interface AttachmentOwner {
  readonly memory: AttachmentMemory;
  /** Throws when the store is closed, or the call has ended. */
  readonly enter: (call: Call | undefined) => void;
  /** Whether a record of the namespace has this uid, and whether it takes entries. */
  readonly recordOf: (uid: string) => "writable" | "gone" | undefined;
}

/** The attachments of one namespace. */
export class MemoryAttachmentTable implements AttachmentTable {
  readonly #memory: AttachmentMemory;
  readonly #owner: AttachmentOwner;

  constructor(owner: AttachmentOwner) {
    this.#memory = owner.memory;
    this.#owner = owner;
  }

  async begin(attachment: StoredAttachment, call?: Call): Promise<"stored" | "gone"> {
    this.#owner.enter(call);
    if (this.#owner.recordOf(attachment.uid) !== "writable") return "gone";
    if (this.#memory.row(attachment.log) === undefined) this.#memory.put(attachment);
    return "stored";
  }

  async putPiece(log: string, seq: number, bytes: Uint8Array, call?: Call): Promise<"stored" | "gone"> {
    this.#owner.enter(call);
    if (this.#row(log)?.state !== "arriving") return "gone";
    this.#memory.putPiece(log, seq, bytes);
    return "stored";
  }

  async complete(arrived: ArrivedAttachment, call?: Call): Promise<StoredAttachment | "gone"> {
    this.#owner.enter(call);
    const row = this.#row(arrived.log);
    if (row?.state === "stored") return row;
    if (row?.state !== "arriving" || this.#owner.recordOf(row.uid) !== "writable") return "gone";
    return this.#stored(row.uid, row.attachmentId) ?? this.#memory.put({ ...row, ...arrived, state: "stored" });
  }

  async readPieces(log: string, first: number, limit: number, call?: Call): Promise<readonly Uint8Array[]> {
    this.#owner.enter(call);
    const found: Uint8Array[] = [];
    for (const piece of this.#memory.pieces(log).slice(first - 1, first - 1 + limit)) {
      if (piece === undefined) break;
      found.push(piece);
    }
    return found;
  }

  async lastPiece(log: string, call?: Call): Promise<number> {
    this.#owner.enter(call);
    return this.#memory.pieces(log).length;
  }

  async find(uid: string, attachmentIds: readonly string[], call?: Call): Promise<readonly StoredAttachment[]> {
    this.#owner.enter(call);
    return [...new Set(attachmentIds)].flatMap((id) => this.#stored(uid, id) ?? []);
  }

  async findLog(log: string, call?: Call): Promise<StoredAttachment | null> {
    this.#owner.enter(call);
    return this.#row(log) ?? null;
  }

  async list(uid: string, afterLog: string, limit: number, call?: Call): Promise<readonly StoredAttachment[]> {
    this.#owner.enter(call);
    if (this.#owner.recordOf(uid) === undefined) return [];
    const rows = [...this.#memory.of(uid)].filter(({ log }) => log > afterLog);
    return rows.sort((a, b) => compare(a.log, b.log)).slice(0, limit);
  }

  async listSeen(
    state: StoredAttachment["state"],
    untilMs: number,
    limit: number,
    call?: Call,
  ): Promise<readonly StoredAttachment[]> {
    this.#owner.enter(call);
    const rows = [...this.#memory.all()].filter(
      (row) => row.state === state && row.seenMs <= untilMs && this.#owner.recordOf(row.uid),
    );
    return rows.sort((a, b) => a.seenMs - b.seenMs).slice(0, limit);
  }

  async change(
    log: string,
    { seenMs, state, pieces }: { readonly seenMs: number; readonly state?: "doomed"; readonly pieces?: number },
    call?: Call,
  ): Promise<void> {
    this.#owner.enter(call);
    const row = this.#row(log);
    if (row !== undefined)
      this.#memory.put({ ...row, seenMs, state: state ?? row.state, pieces: pieces ?? row.pieces });
  }

  async remove(log: string, call?: Call): Promise<void> {
    this.#owner.enter(call);
    if (this.#row(log) !== undefined) this.#memory.remove(log);
  }

  async usage(uid: string, call?: Call): Promise<{ readonly bytes: number; readonly arriving: number }> {
    this.#owner.enter(call);
    let [bytes, arriving] = [0, 0];
    for (const { size, state } of this.#memory.of(uid)) {
      bytes += size;
      if (state === "arriving") arriving++;
    }
    return { bytes, arriving };
  }

  async namings(
    target: string,
    after: { readonly log: string; readonly seq: number } | undefined,
    limit: number,
    call?: Call,
  ): Promise<readonly Naming[]> {
    this.#owner.enter(call);
    const all = this.#memory.namings(target);
    return all.filter((one) => after === undefined || byPlace(one, after) > 0).slice(0, limit);
  }

  async findNamings(
    logs: readonly string[],
    attachmentIds: readonly string[],
    call?: Call,
  ): Promise<readonly Naming[]> {
    this.#owner.enter(call);
    const ids = new Set(attachmentIds);
    return this.#namedIn(logs).filter(({ attachmentId }) => ids.has(attachmentId));
  }

  async listNamings(logs: readonly string[], afterId: string, limit: number, call?: Call): Promise<readonly Naming[]> {
    this.#owner.enter(call);
    const found = this.#namedIn(logs).filter(({ attachmentId }) => attachmentId > afterId);
    return found.sort((a, b) => compare(a.attachmentId, b.attachmentId)).slice(0, limit);
  }

  async targetsIn(
    where: Segment | { readonly foreignTo: string },
    limit: number,
    call?: Call,
  ): Promise<readonly string[]> {
    this.#owner.enter(call);
    const found =
      "foreignTo" in where
        ? this.#namedIn([...this.#memory.namingLogsOf(where.foreignTo)]).filter(
            ({ target }) => ownerOf(target) !== where.foreignTo,
          )
        : this.#namedIn([where.log]).filter(({ seq }) => where.first <= seq && seq <= where.last);
    return [...new Set(found.map(({ target }) => target))].slice(0, limit);
  }

  #row(log: string): StoredAttachment | undefined {
    return this.#owner.recordOf(ownerOf(log)) === undefined ? undefined : this.#memory.row(log);
  }

  #stored(uid: string, id: string): StoredAttachment | undefined {
    if (this.#owner.recordOf(uid) === undefined) return undefined;
    // Rule: doomed-then-sealed.
    return [...this.#memory.of(uid)].find(({ attachmentId, state }) => attachmentId === id && state === "stored");
  }

  #namedIn(logs: readonly string[]): Naming[] {
    return [...new Set(logs)].flatMap((log) => this.#memory.namedIn(log));
  }
}

function byPlace(a: { readonly log: string; readonly seq: number }, b: { readonly log: string; readonly seq: number }) {
  return compare(a.log, b.log) || a.seq - b.seq;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
