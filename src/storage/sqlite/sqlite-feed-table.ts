import { setImmediate } from "node:timers/promises";
import type { Call } from "../../domain/call.js";
import type { FeedCursor, FeedEnds, FeedPage, FeedTable } from "../history/log-store.js";
import { UPDATE_TIME_SLACK_MICROS } from "../history/record-facts.js";
import type { FeedRows } from "./feed-rows.js";
import type { SqliteConnection } from "./sqlite-connection.js";

/** How many rows are removed before other work may run. */
const PRUNED_AT_ONCE = 500;

/** The feed of a namespace of a SQLite file. */
export class SqliteFeedTable implements FeedTable {
  readonly slackMs = UPDATE_TIME_SLACK_MICROS / 1000;
  readonly #connection: SqliteConnection;
  readonly #rows: FeedRows;

  constructor(connection: SqliteConnection, rows: FeedRows) {
    this.#connection = connection;
    this.#rows = rows;
  }

  async ends(call?: Call): Promise<FeedEnds> {
    return this.#atOneMoment(() => this.#rows.ends(), call);
  }

  async read(after: FeedCursor, limit: number, call?: Call): Promise<FeedPage> {
    return this.#atOneMoment(() => this.#rows.read(after, limit), call);
  }

  async recent(sinceMicros: number, call?: Call): ReturnType<FeedTable["recent"]> {
    return this.#connection.read(() => this.#rows.recent(sinceMicros), call);
  }

  /** There is one writer at a time, so whoever was writing has ended once this has been the writer. */
  async settle(call?: Call): Promise<void> {
    await this.#connection.write(() => {}, call);
  }

  async prune(beforeMs: number, call?: Call): Promise<number> {
    for (let pruned = 0; ; await setImmediate()) {
      const some = await this.#connection.write(() => this.#rows.prune(beforeMs, PRUNED_AT_ONCE), call);
      pruned += some;
      if (some < PRUNED_AT_ONCE) return pruned;
    }
  }

  digest(uid: string, text: string): string {
    return this.#rows.digest(uid, text);
  }

  #atOneMoment<T>(reads: () => T, call: Call | undefined): Promise<T> {
    return this.#connection.read(() => this.#connection.atOneMoment(reads), call);
  }
}
