import type { Call } from "../../domain/call.js";
import type { ArrivedAttachment, AttachmentTable, Naming, Segment, StoredAttachment } from "../history/log-store.js";
import { ownerOf } from "../history/record-facts.js";
import { type AttachmentMemory, byPlace, compare } from "./attachment-memory.js";

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
