import {
  type ArrivedAttachment,
  type AttachmentTable,
  type Call,
  isWritable,
  type Naming,
  ownerOf,
  type Segment,
  type SessionRecord,
  type StoredAttachment,
} from "session-pool";
import type { ToyLog } from "./toy-log.js";

/** The rows and pieces of all namespaces. Each row is kept as JSON. */
export class ToyAttachments {
  readonly rows = new Map<string, string>();
  readonly pieces = new Map<string, Map<number, Buffer>>();

  get uids(): string[] {
    return [...this.rows.keys(), ...this.pieces.keys()].map(ownerOf);
  }

  all(): StoredAttachment[] {
    return [...this.rows.values()].map((text) => JSON.parse(text));
  }

  bytes({ log, first, last }: Segment): number {
    const within = [...(this.pieces.get(log) ?? [])].filter(([seq]) => seq >= first && seq <= last);
    return within.reduce((sum, [, piece]) => sum + piece.length, 0);
  }

  /** Deletes pieces of a range, or all of a uid. */
  delete(target: { readonly uid: string } | Segment): void {
    if ("uid" in target) {
      for (const log of [...this.rows.keys()]) if (ownerOf(log) === target.uid) this.rows.delete(log);
      for (const log of [...this.pieces.keys()]) if (ownerOf(log) === target.uid) this.pieces.delete(log);
      return;
    }
    const pieces = this.pieces.get(target.log);
    for (const seq of [...(pieces?.keys() ?? [])]) if (seq >= target.first && seq <= target.last) pieces?.delete(seq);
    if (pieces?.size === 0) this.pieces.delete(target.log);
  }
}

/** What the attachments of a namespace need of its store. */
export interface ToyOwner {
  readonly attachments: ToyAttachments;
  readonly logs: ReadonlyMap<string, ToyLog>;
  readonly enter: (call: Call | undefined) => void;
  readonly record: (uid: string) => SessionRecord | undefined;
}

/** What names an attachment is looked up in the entries, so no index can differ from them. */
export class ToyAttachmentTable implements AttachmentTable {
  readonly #owner: ToyOwner;

  constructor(owner: ToyOwner) {
    this.#owner = owner;
  }

  async begin(attachment: StoredAttachment, call?: Call): Promise<"stored" | "gone"> {
    this.#owner.enter(call);
    if (!this.#lives(attachment.uid)) return "gone";
    if (!this.#row(attachment.log)) this.#put(attachment);
    return "stored";
  }

  async putPiece(log: string, seq: number, bytes: Uint8Array, call?: Call): Promise<"stored" | "gone"> {
    this.#owner.enter(call);
    if (this.#row(log)?.state !== "arriving") return "gone";
    const { pieces } = this.#owner.attachments;
    pieces.set(log, (pieces.get(log) ?? new Map()).set(seq, Buffer.from(bytes)));
    return "stored";
  }

  async complete({ log, size, sha256, createTimeMicros, seenMs }: ArrivedAttachment, call?: Call) {
    this.#owner.enter(call);
    const row = this.#row(log);
    if (row?.state === "stored") return row;
    if (row?.state !== "arriving" || !this.#lives(row.uid)) return "gone";
    const [known] = this.#rows().filter((one) => one.uid === row.uid && isStored(one, [row.attachmentId]));
    return known ?? this.#put({ ...row, size, sha256, createTimeMicros, seenMs, state: "stored" });
  }

  async readPieces(log: string, first: number, limit: number, call?: Call): Promise<readonly Uint8Array[]> {
    this.#owner.enter(call);
    const found: Uint8Array[] = [];
    const pieces = this.#owner.attachments.pieces.get(log);
    for (let seq = first; found.length < limit; seq++) {
      const piece = pieces?.get(seq);
      if (piece === undefined) break;
      found.push(piece);
    }
    return found;
  }

  async lastPiece(log: string, call?: Call): Promise<number> {
    this.#owner.enter(call);
    return Math.max(0, ...(this.#owner.attachments.pieces.get(log)?.keys() ?? []));
  }

  async find(uid: string, attachmentIds: readonly string[], call?: Call): Promise<readonly StoredAttachment[]> {
    this.#owner.enter(call);
    return this.#rows().filter((row) => row.uid === uid && isStored(row, attachmentIds));
  }

  async findLog(log: string, call?: Call): Promise<StoredAttachment | null> {
    this.#owner.enter(call);
    return this.#row(log) ?? null;
  }

  async list(uid: string, afterLog: string, limit: number, call?: Call): Promise<readonly StoredAttachment[]> {
    this.#owner.enter(call);
    const rows = this.#rows().filter((row) => row.uid === uid && row.log > afterLog);
    return rows.sort((a, b) => compare(a.log, b.log)).slice(0, limit);
  }

  async listSeen(state: StoredAttachment["state"], untilMs: number, limit: number, call?: Call) {
    this.#owner.enter(call);
    const rows = this.#rows().filter((row) => row.state === state && row.seenMs <= untilMs);
    return rows.sort((a, b) => a.seenMs - b.seenMs).slice(0, limit);
  }

  async change(log: string, change: { readonly seenMs: number; readonly state?: "doomed" }, call?: Call) {
    this.#owner.enter(call);
    const row = this.#row(log);
    if (row) this.#put({ ...row, ...change });
  }

  async remove(log: string, call?: Call): Promise<void> {
    this.#owner.enter(call);
    if (this.#row(log)) this.#owner.attachments.rows.delete(log);
  }

  async usage(uid: string, call?: Call): Promise<{ readonly bytes: number; readonly arriving: number }> {
    this.#owner.enter(call);
    const rows = this.#rows().filter((row) => row.uid === uid);
    const bytes = rows.reduce((sum, { size }) => sum + size, 0);
    return { bytes, arriving: rows.filter(({ state }) => state === "arriving").length };
  }

  async namings(
    target: string,
    after: Pick<Naming, "log" | "seq"> | undefined,
    limit: number,
    call?: Call,
  ): Promise<readonly Naming[]> {
    this.#owner.enter(call);
    const found = this.#namings().filter((one) => one.target === target && (!after || byPlace(one, after) > 0));
    return found.sort(byPlace).slice(0, limit);
  }

  async findNamings(logs: readonly string[], ids: readonly string[], call?: Call): Promise<readonly Naming[]> {
    this.#owner.enter(call);
    return this.#namings().filter(({ log, attachmentId }) => logs.includes(log) && ids.includes(attachmentId));
  }

  async listNamings(logs: readonly string[], afterId: string, limit: number, call?: Call): Promise<readonly Naming[]> {
    this.#owner.enter(call);
    const found = this.#namings().filter(({ log, attachmentId }) => logs.includes(log) && attachmentId > afterId);
    return found.sort((a, b) => compare(a.attachmentId, b.attachmentId)).slice(0, limit);
  }

  async targetsIn(where: Segment | { readonly foreignTo: string }, limit: number, call?: Call) {
    this.#owner.enter(call);
    const isMeant = ({ log, seq, target }: Naming) =>
      "foreignTo" in where
        ? ownerOf(log) === where.foreignTo && ownerOf(target) !== where.foreignTo
        : log === where.log && seq >= where.first && seq <= where.last;
    const targets = this.#namings()
      .filter(isMeant)
      .map(({ target }) => target);
    return [...new Set(targets)].slice(0, limit);
  }

  #lives(uid: string): boolean {
    const record = this.#owner.record(uid);
    return record !== undefined && isWritable(record);
  }

  /** The rows of the namespace, which is that of the record. */
  #rows(): StoredAttachment[] {
    return this.#owner.attachments.all().filter(({ uid }) => this.#owner.record(uid));
  }

  #row(log: string): StoredAttachment | undefined {
    return this.#rows().find((row) => row.log === log);
  }

  #put(row: StoredAttachment): StoredAttachment {
    this.#owner.attachments.rows.set(row.log, JSON.stringify(row));
    return row;
  }

  #namings(): Naming[] {
    return [...this.#owner.logs].flatMap(([log, { entries }]) =>
      entries.flatMap(({ seq, body }) =>
        body.attachments.map((one) => ({ log, seq, attachmentId: one.attachmentId, target: one.log })),
      ),
    );
  }
}

function isStored({ state, attachmentId }: StoredAttachment, ids: readonly string[]): boolean {
  return state === "stored" && ids.includes(attachmentId);
}

function byPlace(a: Pick<Naming, "log" | "seq">, b: Pick<Naming, "log" | "seq">): number {
  return compare(a.log, b.log) || a.seq - b.seq;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
