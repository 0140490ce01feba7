import { setImmediate } from "node:timers/promises";
import type { Call } from "../../domain/call.js";
import type { ArrivedAttachment, AttachmentTable, Naming, Segment, StoredAttachment } from "../history/log-store.js";
import type { AttachmentRows } from "./attachment-rows.js";
import { byId, isForeign, type NamingTable, type ScannedNamings } from "./naming-table.js";
import type { SessionTable } from "./session-table.js";
import type { SqliteConnection } from "./sqlite-connection.js";

/** How many logs and rows are looked at before other work may run. */
const LOGS_AT_ONCE = 250;
const SCANNED_AT_ONCE = 5000;

interface Tables {
  readonly sessions: SessionTable;
  readonly rows: AttachmentRows;
  readonly namings: NamingTable;
}

/** The attachments of a namespace of a SQLite file. */
export class SqliteAttachmentTable implements AttachmentTable {
  readonly #connection: SqliteConnection;
  readonly #sessions: SessionTable;
  readonly #rows: AttachmentRows;
  readonly #namings: NamingTable;

  constructor(connection: SqliteConnection, { sessions, rows, namings }: Tables) {
    this.#connection = connection;
    this.#sessions = sessions;
    this.#rows = rows;
    this.#namings = namings;
  }

  async begin(attachment: StoredAttachment, call?: Call): Promise<"stored" | "gone"> {
    return this.#connection.write(() => {
      if (!this.#sessions.isWritable(attachment.uid)) return "gone";
      this.#rows.insert(attachment);
      return "stored";
    }, call);
  }

  async putPiece(log: string, seq: number, bytes: Uint8Array, call?: Call): Promise<"stored" | "gone"> {
    return this.#connection.write(() => {
      if (this.#rows.ofLog(log)?.state !== "arriving") return "gone";
      this.#rows.putPiece(log, seq, bytes);
      return "stored";
    }, call);
  }

  async complete(arrived: ArrivedAttachment, call?: Call): Promise<StoredAttachment | "gone"> {
    return this.#connection.write(() => {
      const row = this.#rows.ofLog(arrived.log);
      if (row?.state === "stored") return row;
      if (row?.state !== "arriving" || !this.#sessions.isWritable(row.uid)) return "gone";
      return this.#rows.stored(row.uid, row.attachmentId) ?? this.#rows.complete(arrived);
    }, call);
  }

  async readPieces(log: string, first: number, limit: number, call?: Call): Promise<readonly Uint8Array[]> {
    return this.#connection.read(() => this.#rows.pieces(log, first, limit), call);
  }

  async lastPiece(log: string, call?: Call): Promise<number> {
    return this.#connection.read(() => this.#rows.lastPiece(log), call);
  }

  async find(uid: string, attachmentIds: readonly string[], call?: Call): Promise<readonly StoredAttachment[]> {
    const ids = new Set(attachmentIds);
    return this.#connection.read(() => [...ids].flatMap((id) => this.#rows.stored(uid, id) ?? []), call);
  }

  async findLog(log: string, call?: Call): Promise<StoredAttachment | null> {
    return this.#connection.read(() => this.#rows.ofLog(log), call);
  }

  async list(uid: string, afterLog: string, limit: number, call?: Call): Promise<readonly StoredAttachment[]> {
    return this.#connection.read(() => this.#rows.list(uid, afterLog, limit), call);
  }

  async listSeen(
    state: StoredAttachment["state"],
    untilMs: number,
    limit: number,
    call?: Call,
  ): Promise<readonly StoredAttachment[]> {
    return this.#connection.read(() => this.#rows.seen(state, untilMs, limit), call);
  }

  async change(
    log: string,
    { seenMs, state, pieces }: { readonly seenMs: number; readonly state?: "doomed"; readonly pieces?: number },
    call?: Call,
  ): Promise<void> {
    await this.#connection.write(() => this.#rows.change(log, seenMs, state ?? null, pieces ?? null), call);
  }

  async remove(log: string, call?: Call): Promise<void> {
    await this.#connection.write(() => this.#rows.remove(log), call);
  }

  async usage(uid: string, call?: Call): Promise<{ readonly bytes: number; readonly arriving: number }> {
    return this.#connection.read(() => this.#rows.usage(uid), call);
  }

  async namings(
    target: string,
    after: { readonly log: string; readonly seq: number } | undefined,
    limit: number,
    call?: Call,
  ): Promise<readonly Naming[]> {
    return this.#connection.read(() => this.#namings.of(target, after, limit), call);
  }

  async findNamings(
    logs: readonly string[],
    attachmentIds: readonly string[],
    call?: Call,
  ): Promise<readonly Naming[]> {
    const ids = [...new Set(attachmentIds)];
    const found: Naming[] = [];
    for await (const some of this.#inLogs(logs, (log) => this.#namings.find(log, ids), call)) found.push(...some);
    return found;
  }

  async listNamings(logs: readonly string[], afterId: string, limit: number, call?: Call): Promise<readonly Naming[]> {
    let found: Naming[] = [];
    for await (const some of this.#inLogs(logs, (log) => this.#namings.list(log, afterId, limit), call)) {
      found = [...found, ...some].sort(byId).slice(0, limit);
    }
    return found;
  }

  async targetsIn(
    where: Segment | { readonly foreignTo: string },
    limit: number,
    call?: Call,
  ): Promise<readonly string[]> {
    const targets = new Set<string>();
    const look = (after: Naming | null) => () => this.#namings.scan(where, after, SCANNED_AT_ONCE);
    for (let after: Naming | null = null; ; await setImmediate()) {
      const { namings, next }: ScannedNamings = await this.#connection.read(look(after), call);
      for (const naming of namings) if (!("foreignTo" in where) || isForeign(naming)) targets.add(naming.target);
      if (next === null || targets.size >= limit) return [...targets].slice(0, limit);
      after = next;
    }
  }

  /** Looks into each log once, and lets other work run now and then. Logs may be written to meanwhile. */
  async *#inLogs(logs: readonly string[], look: (log: string) => Naming[], call?: Call): AsyncGenerator<Naming[]> {
    const names = [...new Set(logs)];
    for (let start = 0; start < names.length; start += LOGS_AT_ONCE) {
      if (start > 0) await setImmediate();
      const some = names.slice(start, start + LOGS_AT_ONCE);
      yield await this.#connection.read(() => some.flatMap(look), call);
    }
  }
}
