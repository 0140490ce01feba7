import type { Newest, NewestOptions, SessionRecord } from "../history/log-store.js";
import { newestOf } from "../history/newest.js";
import type { MessageTable } from "./message-table.js";
import { type EndColumns, pageToEntries } from "./rows.js";
import type { SessionTable } from "./session-table.js";
import type { SqliteConnection } from "./sqlite-connection.js";
import { RECORD_COLUMNS, type Row } from "./statements.js";
import { toColumn } from "./text-column.js";

/** Reads the ends of the sessions of one namespace. Its method is synchronous. */
export class NewestReader {
  readonly #connection: SqliteConnection;
  readonly #sessions: SessionTable;
  readonly #messages: MessageTable;

  constructor(connection: SqliteConnection, sessions: SessionTable, messages: MessageTable) {
    this.#connection = connection;
    this.#sessions = sessions;
    this.#messages = messages;
  }

  read(sessionId: string, options: NewestOptions): Newest | null {
    const { limit, maxBytes } = options;
    const { namespace } = this.#sessions;
    // If no message exceeds its share, all of them fit.
    const share = Math.floor(maxBytes / limit);
    const { readNewest } = this.#connection.statements;
    const row = readNewest.get(namespace, toColumn(sessionId), limit, share) as Row;
    if (row[0] === null) return null;
    const record = this.#sessions.recordOf(row.slice(0, RECORD_COLUMNS));
    return fromRow(record, row, limit, share) ?? this.#connection.atOneMoment(() => this.#inParts(sessionId, options));
  }

  #inParts(sessionId: string, options: NewestOptions): Newest | null {
    const record = this.#sessions.living(sessionId);
    if (record === null) return null;
    const { last, state } = this.#messages.tail(record.log, this.#sessions.namespace);
    const end = { last, state };
    return { record, end, messages: newestOf(record, end, options, (...range) => this.#messages.read(...range)) };
  }
}

/**
 * The end of a session whose open log holds all that was asked for; null when the row does not tell everything, because
 * messages are in other logs, too large or missing.
 */
function fromRow(record: SessionRecord, row: Row, limit: number, share: number): Newest | null {
  const [seal, largest, columns, bodies] = row.slice(RECORD_COLUMNS) as unknown as EndColumns;
  if (largest !== null && largest > share) return null;
  const entries = columns === null ? [] : pageToEntries(record.log, columns, bodies).reverse();
  const [newest] = entries;
  const lastSeq = newest?.seq ?? 0;
  const isWhole = entries.length === Math.min(limit, lastSeq) && entries.every(({ seq }, i) => seq === lastSeq - i);
  const isAll = entries.length === limit || record.segments.length === 0;
  if (!isWhole || !isAll || (seal !== null && seal !== lastSeq + 1)) return null;
  const last = newest ? { seq: lastSeq, id: newest.id, timestampMicros: newest.timestampMicros } : null;
  return { record, end: { last, state: seal === null ? "open" : "sealed" }, messages: { entries, cut: false } };
}
