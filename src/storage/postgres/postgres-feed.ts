import { setTimeout as sleep } from "node:timers/promises";
import { type Call, checkCall } from "../../domain/call.js";
import { digestOf } from "../history/feed-facts.js";
import type { FeedChange, FeedCursor, FeedEnds, FeedPage, FeedTable, StateChange } from "../history/log-store.js";
import { UPDATE_TIME_SLACK_MICROS } from "../history/record-facts.js";
import { fromColumn, toColumn } from "../text-column.js";
import { toRecord } from "./rows.js";
import type { PostgresShared } from "./shared.js";
import type { Row } from "./values.js";

const PRUNED_AT_ONCE = 1000;
const LOOK_MS = 20;
/** After every key at a place. */
const LAST_KEY = "2";
/** How many columns of a row are about the feed. */
const OF_ENDS = 5;

/** The feed of a namespace of a PostgreSQL database. Its places are the numbers of transactions. */
export class PostgresFeed implements FeedTable {
  readonly slackMs = UPDATE_TIME_SLACK_MICROS / 1000;
  readonly #shared: PostgresShared;
  /** As a column holds it. */
  readonly #namespace: string;

  constructor(shared: PostgresShared, namespace: string) {
    this.#shared = shared;
    this.#namespace = toColumn(namespace);
  }

  async ends(call?: Call): Promise<FeedEnds> {
    const { pool, sql } = this.#shared;
    const [row] = await pool.read(sql.feedEnds, [this.#namespace], call);
    return toEnds(row as Row);
  }

  async read({ place, key = LAST_KEY }: FeedCursor, limit: number, call?: Call): Promise<FeedPage> {
    const { pool, sql } = this.#shared;
    const [ends, ...rows] = await pool.read(sql.readFeed, [this.#namespace, place, key, limit], call);
    const last = rows.at(-1);
    const next =
      rows.length < limit || last === undefined
        ? null
        : { place: last[OF_ENDS + 1] as number, key: last[OF_ENDS + 2] as string };
    return { ...toEnds(ends as Row), isBehind: ends?.[4] as boolean, changes: rows.map(toChange), next };
  }

  async recent(sinceMicros: number, call?: Call): Promise<readonly StateChange[]> {
    const { pool, sql } = this.#shared;
    const rows = await pool.read(sql.changedSince, [this.#namespace, sinceMicros], call);
    const states = rows.map(([place, madeAt, ...record]): StateChange => {
      return { kind: "state", place: place as number, madeAt: (madeAt ?? 0) as number, record: toRecord(record) };
    });
    return states.sort((a, b) => a.place - b.place);
  }

  /** Waits for the transactions that are running now. */
  async settle(call?: Call): Promise<void> {
    const { pool, sql } = this.#shared;
    const transaction = async (text: string) => (await pool.read(text, [], call))[0]?.[0] as number;
    const newest = await transaction(sql.newestTransaction);
    while ((await transaction(sql.oldestTransaction)) < newest) {
      checkCall(call);
      await sleep(LOOK_MS);
    }
  }

  async prune(beforeMs: number, call?: Call): Promise<number> {
    const { pool, sql } = this.#shared;
    for (let pruned = 0; ; ) {
      const values = [this.#namespace, Math.floor(beforeMs), PRUNED_AT_ONCE];
      const [row] = await pool.settle(call, () => pool.run(sql.pruneFeed, values, call));
      const some = row?.[0] as number;
      pruned += some;
      if (some < PRUNED_AT_ONCE) return pruned;
    }
  }

  digest(uid: string, text: string): string {
    return digestOf(toColumn(uid), toColumn(text));
  }
}

function toEnds([feedId, first, oldest, nowMs]: Row): FeedEnds {
  return { feedId: feedId as string, first: first as number, last: (oldest as number) - 1, nowMs: nowMs as number };
}

function toChange(row: Row): FeedChange {
  const [kind, place, , uid, sessionId, owner, labels, madeAt, ...record] = row.slice(OF_ENDS);
  if (kind === "state") {
    return { kind, place: place as number, madeAt: (madeAt ?? 0) as number, record: toRecord(record) };
  }
  // Digests need no escapes in the text of an array.
  const digests = (labels as string).slice(1, -1).split(",");
  return {
    kind: kind as "deleted" | "left",
    place: place as number,
    uid: fromColumn(uid as string),
    sessionId: fromColumn(sessionId as string),
    past: { owner: owner as string, labels: digests[0] === "" ? [] : digests },
  };
}
