import type { NextRecord, RecordFilter, RecordPage, SessionRecord, Sweepable } from "../history/log-store.js";
import { recordToRow, rowToRecord } from "./rows.js";
import type { Row, Statements } from "./statements.js";
import { fromColumn, toColumn } from "./text-column.js";

/** Records of one namespace. Nothing here waits; changes are made inside a transaction that the caller holds. */
export class SessionTable {
  readonly #sql: Statements;
  readonly #namespace: string;

  constructor(statements: Statements, namespace: string) {
    this.#sql = statements;
    this.#namespace = toColumn(namespace);
  }

  create(record: NextRecord, nowMs: number): "created" | "exists" {
    const row = recordToRow(record, null, nowMs);
    const uid = toColumn(record.uid);
    const { sessionId, parentId, updateTime, revision, deletedAt, sweepAt, body } = row;
    const values = [sessionId, parentId, updateTime, revision, deletedAt, sweepAt, body] as const;
    if (this.#sql.insertRecord.run(uid, this.#namespace, ...values) === 1) return "created";
    return this.#sql.recordByUid.get(uid, this.#namespace) === undefined ? "exists" : "created";
  }

  living(sessionId: string): SessionRecord | null {
    return recordOrNull(this.#sql.recordById.get(this.#namespace, toColumn(sessionId)));
  }

  raise(sessionId: string): SessionRecord | null {
    const record = this.living(sessionId);
    if (record === null) return null;
    this.#sql.addFork.run(1, toColumn(record.uid));
    return { ...record, forks: record.forks + 1 };
  }

  replace(record: NextRecord, ifRevision: number, nowMs: number): SessionRecord | null {
    const before = this.#byUid(record.uid);
    if (before?.revision !== ifRevision) return null;
    const row = recordToRow(record, before.deletedAtMs, nowMs);
    const { sessionId, parentId, updateTime, revision, deletedAt, sweepAt, body } = row;
    const uid = toColumn(record.uid);
    this.#sql.updateRecord.run(sessionId, parentId, updateTime, revision, deletedAt, sweepAt, body, uid);
    return rowToRecord([uid, sessionId, parentId, updateTime, revision, before.forks, deletedAt, body]);
  }

  addFork(uid: string, delta: number, ifRevision: number | undefined): boolean {
    const record = this.#byUid(uid);
    if (record === null || (ifRevision !== undefined && record.revision !== ifRevision)) return false;
    if (delta !== 0) this.#sql.addFork.run(delta, toColumn(uid));
    return true;
  }

  list({ parentId }: RecordFilter, { limit, after }: RecordPage): SessionRecord[] {
    const scope = parentId === "" ? [this.#namespace] : [this.#namespace, toColumn(parentId)];
    if (after === undefined) {
      const first = parentId === "" ? this.#sql.newest : this.#sql.children;
      return first.all(...scope, limit).map(rowToRecord);
    }
    const rest = parentId === "" ? this.#sql.newestAfter : this.#sql.childrenAfter;
    return rest.all(...scope, after.updateTimeMicros, toColumn(after.sessionId), limit).map(rowToRecord);
  }

  touch(times: ReadonlyMap<string, number>): void {
    for (const [uid, micros] of times) this.#sql.touch.run(micros, toColumn(uid), this.#namespace, micros);
  }

  sweepable(untilMs: number, limit: number): Sweepable[] {
    return this.#sql.toSweep.all(this.#namespace, untilMs, limit).map((row) => {
      const record = rowToRecord(row);
      return { record, dropped: record.dropped.filter(({ droppedAtMs }) => (droppedAtMs as number) <= untilMs) };
    });
  }

  deleteTombstone(uid: string): boolean {
    return this.#sql.deleteTombstone.run(toColumn(uid), this.#namespace) === 1;
  }

  scan(afterUid: string, limit: number): SessionRecord[] {
    return this.#sql.scan.all(this.#namespace, toColumn(afterUid), limit).map(rowToRecord);
  }

  /** Whether there is a record with this uid in any namespace. */
  ownerExists(uid: string): boolean {
    return this.#sql.ownerExists.get(toColumn(uid)) !== undefined;
  }

  #byUid(uid: string): SessionRecord | null {
    return recordOrNull(this.#sql.recordByUid.get(toColumn(uid), this.#namespace));
  }
}

/** Namespaces that have records or todos. */
export function namespacesOf(sql: Statements): string[] {
  const found = new Set<string>();
  let row = sql.firstNamespace.get();
  for (; row !== undefined; row = sql.nextNamespace.get(row[0] as string)) found.add(row[0] as string);
  row = sql.firstTodos.get();
  for (; row !== undefined; row = sql.nextTodos.get(row[0] as string)) found.add(row[0] as string);
  return [...found].map(fromColumn).sort();
}

function recordOrNull(row: Row | undefined): SessionRecord | null {
  return row === undefined ? null : rowToRecord(row);
}
