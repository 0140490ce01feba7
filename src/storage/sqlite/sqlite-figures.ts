import { setImmediate } from "node:timers/promises";
import type { Call } from "../../domain/call.js";
import type { DraftRef, StoreFigures } from "../history/log-store.js";
import { openDrafts } from "../history/record-facts.js";
import { toColumn } from "../text-column.js";
import { namespacesOf } from "./session-table.js";
import type { SqliteConnection } from "./sqlite-connection.js";
import type { Row } from "./statements.js";

/** How many records are looked at before other work may run: about a millisecond's worth. */
const COUNTED_AT_ONCE = 5000;
const DRAFTING_AT_ONCE = 500;

/** Reads the figures that the indexes of a file tell. Other work may run between the steps. */
export class SqliteFigures {
  readonly #connection: SqliteConnection;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  async read(nowMs: number, call?: Call): Promise<Pick<StoreFigures, "sessions" | "openDrafts" | "unsweptAgeMs">> {
    const sql = this.#connection.statements;
    let unsweptAgeMs = 0;
    let drafts = 0;
    for (const namespace of await this.#step(() => namespacesOf(sql), call)) {
      const column = toColumn(namespace);
      const [mark] = await this.#step(() => sql.oldestMark.get(column) ?? [nowMs], call);
      const [expiry] = await this.#step(() => sql.firstExpiry.get(column) ?? [nowMs * 1000], call);
      unsweptAgeMs = Math.max(unsweptAgeMs, nowMs - Number(mark), nowMs - Number(expiry) / 1000);
      drafts += await this.#openDrafts(column, call);
    }
    return { sessions: await this.#sessions(call), openDrafts: drafts, unsweptAgeMs };
  }

  async #sessions(call?: Call): Promise<number> {
    const sql = this.#connection.statements;
    let counted = 0;
    for (let place: Row = ["", ""]; ; counted += COUNTED_AT_ONCE) {
      const ahead = await this.#step(() => sql.sessionAhead.get(...place, COUNTED_AT_ONCE - 1), call);
      if (ahead === undefined) {
        const [rest] = (await this.#step(() => sql.sessionsAfter.get(...place), call)) as [number];
        return counted + rest;
      }
      place = ahead;
    }
  }

  async #openDrafts(namespace: string, call?: Call): Promise<number> {
    const sql = this.#connection.statements;
    let drafts = 0;
    for (let after = ""; ; ) {
      const rows = await this.#step(() => sql.draftsAfter.all(namespace, after, DRAFTING_AT_ONCE), call);
      for (const [uid, refs] of rows as [string, string][]) {
        drafts += openDrafts({ drafts: JSON.parse(refs) as DraftRef[] }).length;
        after = uid;
      }
      if (rows.length < DRAFTING_AT_ONCE) return drafts;
    }
  }

  async #step<T>(read: () => T, call?: Call): Promise<T> {
    await setImmediate();
    return this.#connection.read(read, call);
  }
}
