import type { Entry, Naming, Segment } from "../history/log-store.js";
import { ownerOf } from "../history/record-facts.js";
import { fromColumn, toColumn } from "../text-column.js";
import { byColumn, logsOfOwner } from "./attachment-rows.js";
import { IDS_AT_ONCE } from "./attachment-sql.js";
import type { Bound, Row, Statements } from "./statements.js";

/** Some namings that a scan has looked at, and where it continues; null at its end. */
export interface ScannedNamings {
  readonly namings: readonly Naming[];
  readonly next: Naming | null;
}

/**
 * What stored entries say of attachments. All methods are synchronous; changes must be made inside a transaction that
 * the caller holds.
 */
export class NamingTable {
  readonly #sql: Statements;

  constructor(statements: Statements) {
    this.#sql = statements;
  }

  /** Stores rows that `namingRows` has made. */
  insert(rows: readonly Bound[][]): void {
    for (const row of rows) this.#sql.insertNaming.run(...row);
  }

  /** Replaces what the entry at a place names. */
  replace(entry: Entry): void {
    this.#sql.deleteNamings.run(toColumn(entry.log), entry.seq, entry.seq);
    this.insert(namingRows([entry]));
  }

  of(target: string, after: { readonly log: string; readonly seq: number } | undefined, limit: number): Naming[] {
    const { log, seq } = after ?? { log: "", seq: 0 };
    return this.#sql.namings.all(toColumn(target), toColumn(log), seq, limit).map(toNaming);
  }

  /** What entries of a log name with these ids, each given once. */
  find(log: string, ids: readonly string[]): Naming[] {
    const column = toColumn(log);
    const found: Row[] = [];
    for (let start = 0; start < ids.length; start += IDS_AT_ONCE) {
      const some = ids.slice(start, start + IDS_AT_ONCE).map(toColumn);
      const padding = Array(IDS_AT_ONCE - some.length).fill(some[0]);
      found.push(...this.#sql.findNamings.all(column, ...some, ...padding));
    }
    return found.map(toNaming);
  }

  /** What entries of a log name, by id, after an id. */
  list(log: string, afterId: string, limit: number): Naming[] {
    return this.#sql.listNamings.all(toColumn(log), toColumn(afterId), limit).map(toNaming);
  }

  /** What entries name in a range, or in all logs of a session, after what was looked at before. */
  scan(where: Segment | { readonly foreignTo: string }, after: Naming | null, limit: number): ScannedNamings {
    const [from, to] = boundsOf(where);
    const place = after === null ? from : [toColumn(after.log), after.seq, toColumn(after.attachmentId)];
    const namings = this.#sql.namingsAfter.all(...place, ...to, limit).map(toNaming);
    return { namings, next: namings.length < limit ? null : (namings.at(-1) ?? null) };
  }
}

/** The values of `insertNaming` for all that these entries name. */
export function namingRows(entries: readonly Entry[]): Bound[][] {
  return entries.flatMap(({ log, seq, body }) =>
    body.attachments.map((one) => [toColumn(log), seq, toColumn(one.attachmentId), toColumn(one.log)]),
  );
}

/** Whether the target of a naming belongs to another session than the entry that names it. */
export function isForeign({ log, target }: Naming): boolean {
  return ownerOf(log) !== ownerOf(target);
}

export function byId(a: Naming, b: Naming): number {
  return byColumn(a.attachmentId, b.attachmentId);
}

/** The values before the first naming, and those of the last place. */
function boundsOf(where: Segment | { readonly foreignTo: string }): readonly [Bound[], Bound[]] {
  if ("foreignTo" in where) {
    const [first, end] = logsOfOwner(where.foreignTo);
    return [
      [first, 0, ""],
      [end, 0],
    ];
  }
  const log = toColumn(where.log);
  return [
    [log, where.first, ""],
    [log, where.last],
  ];
}

function toNaming(row: Row): Naming {
  const [log, seq, id, target] = row as readonly [string, number, string, string];
  return { log: fromColumn(log), seq, attachmentId: fromColumn(id), target: fromColumn(target) };
}
