import type { Newest, NewestOptions } from "../history/log-store.js";
import { newestOf } from "../history/newest.js";
import { toColumn } from "../text-column.js";
import type { MessageTable } from "./message-table.js";
import { type EndColumns, pageToEntries } from "./rows.js";
import type { SessionTable } from "./session-table.js";
import { RECORD_COLUMNS, type Row, type Statements } from "./statements.js";

/** The end of an open log and its last messages, the newest first. */
type OpenEnd = Pick<Newest, "end"> & Pick<Newest["messages"], "entries">;

/** Reads the ends of the sessions of one namespace. */
export class NewestReader {
  readonly #sql: Statements;
  readonly #sessions: SessionTable;
  readonly #messages: MessageTable;

  constructor(statements: Statements, sessions: SessionTable, messages: MessageTable) {
    this.#sql = statements;
    this.#sessions = sessions;
    this.#messages = messages;
  }

  /** Called inside a transaction, because a page in several logs takes several statements. */
  read(sessionId: string, options: NewestOptions): Newest | null {
    const { limit, maxBytes } = options;
    const { namespace } = this.#sessions;
    // If no message exceeds its share, all of them fit.
    const share = Math.floor(maxBytes / limit);
    const row = this.#sql.readNewest.get(namespace, toColumn(sessionId), limit, share) as Row;
    if (row[0] === null) return null;
    const record = this.#sessions.recordOf(row.slice(0, RECORD_COLUMNS));
    const { log, segments } = record;
    const known = openEnd(log, row.slice(RECORD_COLUMNS) as unknown as EndColumns, limit, share);
    if (known !== null && (known.entries.length === limit || segments.length === 0)) {
      return { record, end: known.end, messages: { entries: known.entries, cut: false } };
    }
    const { last, state } = known?.end ?? this.#messages.tail(log, namespace);
    const end = { last, state };
    const messages = newestOf(record, end, options, (from, ...range) =>
      from === log && known !== null ? { entries: known.entries, cut: false } : this.#messages.read(from, ...range),
    );
    return { record, end, messages };
  }
}

/** Null when the row does not tell everything, because messages are too large or missing. */
function openEnd(
  log: string,
  [seal, largest, columns, bodies]: EndColumns,
  limit: number,
  share: number,
): OpenEnd | null {
  if (largest !== null && largest > share) return null;
  const entries = columns === null ? [] : pageToEntries(log, columns, bodies).reverse();
  const [newest] = entries;
  const lastSeq = newest?.seq ?? 0;
  const isWhole = entries.length === Math.min(limit, lastSeq) && entries.every(({ seq }, i) => seq === lastSeq - i);
  if (!isWhole || (seal !== null && seal !== lastSeq + 1)) return null;
  const last = newest ? { seq: lastSeq, id: newest.id, timestampMicros: newest.timestampMicros } : null;
  return { end: { last, state: seal === null ? "open" : "sealed" }, entries };
}
