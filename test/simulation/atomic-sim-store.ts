import type { Call } from "../../src/domain/call.js";
import type { Entry, FeedTable, Range, RangeOptions, Segment, Tail } from "../../src/storage/history/log-store.js";
import type { Row, SimDatabase } from "./sim-database.js";
import {
  endOf,
  entriesById,
  orUnknown,
  placesOf,
  rangeOf,
  SimStore,
  sealRow,
  toRows,
  UNKNOWN,
  unavailable,
} from "./sim-store.js";
import type { Steps } from "./steps.js";

/** The requests that may give a session another place in the feed. */
const WRITES: ReadonlySet<string> = new Set(["createRecord", "replaceRecord", "publishRecord", "revive", "append"]);

/**
 * A store that does every call in one step, as memory and SQLite do: it stores all of a batch or nothing, and seals in
 * one step. Like them it has no `touchRecords`, because its `append` moves the update time itself.
 */
export class AtomicSimStore extends SimStore {
  readonly feed: FeedTable | undefined;

  constructor(db: SimDatabase, steps: Steps) {
    super(db, steps, true);
    this.feed = db.feed?.table((...request) => super.request(...request));
  }

  /** Where there is a feed, a write takes its place in a step before it changes anything. */
  protected override async request<T>(
    call: Call | undefined,
    name: string,
    args: readonly unknown[],
    effect: () => T,
  ): Promise<T> {
    const { feed } = this.db;
    if (feed === undefined || !WRITES.has(name)) return super.request(call, name, args, effect);
    const place = await super.request(call, "begin", [name], () => feed.begin());
    return super.request(call, name, args, () => feed.within(place, effect));
  }

  async append(
    log: string,
    seq: number,
    entries: readonly Entry[],
    call?: Call,
  ): Promise<number | "idTaken" | "unnamed"> {
    const rows = toRows(entries);
    for (let isRepeat = false; ; isRepeat = true) {
      const stored = await orUnknown(
        this.request(call, "append", [log, seq, entries.map((e) => e.id)], () => this.#insertAll(log, seq, rows)),
      );
      if (stored === "unnamed" && isRepeat) throw unavailable();
      if (stored !== UNKNOWN) return stored;
    }
  }

  seal(log: string, _lastSeq?: number, call?: Call): Promise<number | "unnamed"> {
    return this.request(call, "seal", [log], () => {
      if (this.db.names(log) === false) return "unnamed";
      const end = this.#end(log);
      if (end.state !== "sealed") this.db.insert(log, sealRow(log, this.#top(log) + 1));
      return end.last?.seq ?? 0;
    });
  }

  readRange(log: string, first: number, last: number, options?: RangeOptions, call?: Call): Promise<Range> {
    return this.request(call, "readRange", [log, first, last, options], () =>
      rangeOf(this.db, log, first, last, options),
    );
  }

  tail(log: string, call?: Call): Promise<Tail> {
    return this.request(call, "tail", [log], () => ({ ...this.#end(log), isNamed: this.db.names(log) }));
  }

  findById(logs: readonly string[], ids: readonly string[], call?: Call): Promise<readonly Entry[]> {
    return this.request(call, "findById", [logs, ids], () =>
      [...new Set(logs)].flatMap((log) => entriesById(this.db, log, ids)),
    );
  }

  deleteEntries(target: { readonly uid: string } | Segment, limit: number, call?: Call): Promise<boolean> {
    return this.request(call, "deleteEntries", [target, limit], () => {
      const places = placesOf(this.db, target);
      for (const { log, seq } of places.slice(0, limit)) this.db.remove(log, seq);
      this.db.removeAttached(target);
      return places.length > limit;
    });
  }

  #insertAll(log: string, seq: number, rows: readonly Row[]): number | "idTaken" | "unnamed" {
    const first = rows[0];
    if (first && this.db.row(log, first.seq) === first) return rows.length;
    // Rule: named-logs-only.
    if (!this.db.names(log)) return "unnamed";
    if (this.#top(log) !== seq - 1 || this.db.row(log, seq - 1)?.entry === null) return 0;
    const ids = new Set(rows.map((row) => row.id));
    if (ids.size < rows.length || rows.some((row) => this.db.rowById(log, row.id))) return "idTaken";
    for (const row of rows) this.db.insert(log, row);
    // Rule: update-time-with-append.
    this.db.touchOwner(log);
    return rows.length;
  }

  #end(log: string): Omit<Tail, "isNamed"> {
    return endOf(this.db.rows(log), this.isAtomic);
  }

  #top(log: string): number {
    return this.db.rows(log).at(-1)?.seq ?? 0;
  }
}
