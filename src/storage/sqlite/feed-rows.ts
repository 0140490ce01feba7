import { departureOf, digestOf, pastOf } from "../history/feed-facts.js";
import type { FeedChange, FeedCursor, FeedEnds, FeedPage, NextRecord, StateChange } from "../history/log-store.js";
import { fromColumn, toColumn } from "../text-column.js";
import { RecordCache } from "./record-cache.js";
import { RECORD_COLUMNS, type Row, type Statements } from "./statements.js";

/**
 * The feed of one namespace. A place is the time in microseconds, or the last place plus 1 if that is later, and is
 * taken in the transaction that writes; so places rise in the order of commits. All methods are synchronous; changes
 * must be made inside a transaction that the caller holds.
 */
export class FeedRows {
  readonly #sql: Statements;
  /** As a column holds it. */
  readonly #namespace: string;
  readonly #now: () => number;
  readonly #cache = new RecordCache();

  constructor(statements: Statements, namespace: string, now: () => number) {
    this.#sql = statements;
    this.#namespace = toColumn(namespace);
    this.#now = now;
  }

  /** The place of a change that is being made now. */
  nextPlace(): number {
    return Math.max(this.#last() + 1, Math.floor(this.#now() * 1000));
  }

  /** Notes a change of the feed at a place: that a record was written; `before` is the one that it replaced. */
  note(before: NextRecord, after: NextRecord, place: number): void {
    const uid = toColumn(after.uid);
    const departure = departureOf(before, after);
    if (departure !== null) {
      const { owner, labels } = pastOf(before);
      const row = [place, departure, uid, toColumn(after.sessionId), owner, JSON.stringify(labels)];
      this.#sql.insertDeparture.run(this.#namespace, this.#now(), ...row);
    }
    if (!after.deleted) this.#sql.placeRecord.run(place, before.deleted ? 1 : 0, uid);
  }

  ends(): FeedEnds {
    const [feedId] = this.#sql.feedId.get() as [string];
    return { feedId, first: this.#first(), last: this.#last(), nowMs: this.#now() };
  }

  /** The caller reads at one moment. */
  read({ place }: FeedCursor, limit: number): FeedPage {
    const states = this.#sql.changedAfter.all(this.#namespace, place, limit);
    const rows = this.#sql.departedAfter.all(this.#namespace, place, limit);
    const changes: FeedChange[] = [...rows.map(rowToDeparture), ...states.map((row) => this.#stateOf(row))];
    // What one of the tables has after its full page is not known yet.
    const known = (table: readonly Row[], at: number) =>
      table.length < limit ? Number.POSITIVE_INFINITY : (table.at(-1)?.at(at) as number);
    const end = Math.min(known(rows, 0), known(states, RECORD_COLUMNS));
    const sorted = changes.filter((change) => change.place <= end).sort((a, b) => a.place - b.place);
    return { ...this.ends(), changes: sorted, next: end === Number.POSITIVE_INFINITY ? null : { place: end } };
  }

  recent(sinceMicros: number): StateChange[] {
    const states = this.#sql.changedSince.all(this.#namespace, sinceMicros).map((row) => this.#stateOf(row));
    return states.sort((a, b) => a.place - b.place);
  }

  /** Removes at most `limit` old rows. Returns how many. */
  prune(beforeMs: number, limit: number): number {
    const places = this.#sql.departedBefore.all(this.#namespace, beforeMs, limit).map(([place]) => place as number);
    for (const place of places) this.#sql.deleteDeparture.run(this.#namespace, place);
    if (places.length > 0) this.#sql.raiseFeedFirst.run(this.#namespace, Math.max(...places));
    return places.length;
  }

  digest(uid: string, text: string): string {
    return digestOf(uid, text);
  }

  /** The last place that was given. The session that had it may be gone, and its row removed. */
  #last(): number {
    const [changed = 0] = (this.#sql.lastChanged.get(this.#namespace) ?? []) as [number?];
    const [departed = 0] = (this.#sql.lastDeparted.get(this.#namespace) ?? []) as [number?];
    return Math.max(changed, departed, this.#first());
  }

  #first(): number {
    const [first = 0] = (this.#sql.feedFirst.get(this.#namespace) ?? []) as [number?];
    return first;
  }

  #stateOf(row: Row): StateChange {
    const [place, madeAt] = row.slice(RECORD_COLUMNS) as [number, number | null];
    const record = this.#cache.recordOf(row.slice(0, RECORD_COLUMNS));
    return { kind: "state", place, record, madeAt: madeAt ?? 0 };
  }
}

function rowToDeparture(row: Row): FeedChange {
  const [place, kind, uid, sessionId, owner, labels] = row as [number, string, string, string, string, string];
  return {
    kind: kind as "deleted" | "left",
    place,
    uid: fromColumn(uid),
    sessionId: fromColumn(sessionId),
    past: { owner, labels: JSON.parse(labels) as string[] },
  };
}
