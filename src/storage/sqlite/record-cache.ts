import type { SessionRecord } from "../history/log-store.js";
import { rowToRecord } from "./rows.js";
import type { Row } from "./statements.js";

const KEPT = 256;
/** A record whose JSON is longer is parsed each time, so that the cache stays below a few MB. */
const MAX_BODY_LENGTH = 8192;

/**
 * Keeps the records that were read last, because parsing a record takes as long as reading it. A kept record is used
 * only for a row that is the same in every column. It is frozen, because all its readers share it.
 */
export class RecordCache {
  readonly #kept = new Map<string, { readonly row: Row; readonly record: SessionRecord }>();

  recordOf(row: Row): SessionRecord {
    const uid = row[0] as string;
    const known = this.#kept.get(uid);
    if (known !== undefined && isSameRow(known.row, row)) return known.record;
    const record = deepFreeze(rowToRecord(row));
    this.#kept.delete(uid);
    if ((row.at(-1) as string).length <= MAX_BODY_LENGTH) this.#keep(uid, row, record);
    return record;
  }

  #keep(uid: string, row: Row, record: SessionRecord): void {
    this.#kept.set(uid, { row, record });
    if (this.#kept.size <= KEPT) return;
    const [oldest] = this.#kept.keys();
    this.#kept.delete(oldest as string);
  }
}

function isSameRow(a: Row, b: Row): boolean {
  for (let i = 0; i < b.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const key of Object.keys(value)) deepFreeze((value as Record<string, unknown>)[key]);
    Object.freeze(value);
  }
  return value;
}
