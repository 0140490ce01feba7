import type { Call } from "../../src/domain/call.js";
import { changesFeed, departureOf, digestOf, pastOf } from "../../src/storage/history/feed-facts.js";
import type {
  Departure,
  FeedChange,
  FeedCursor,
  FeedEnds,
  FeedPage,
  FeedTable,
  NextRecord,
  SessionRecord,
} from "../../src/storage/history/log-store.js";

/** After so many requests the database ends a write that has begun and not come to its change. */
const MOST_REQUESTS = 60;

type Request = <T>(call: Call | undefined, name: string, args: readonly unknown[], effect: () => T) => Promise<T>;

/** What the feed needs from its database. */
export interface SimFeedContext {
  readonly timeMs: () => number;
  readonly recordOf: (uid: string) => SessionRecord | undefined;
  readonly slackMs: () => number;
}

/**
 * The feed of a simulated database. As on PostgreSQL, a write takes its place when it begins, and changes become
 * visible in another order than their places.
 */
export class SimFeed {
  readonly #context: SimFeedContext;
  readonly #states = new Map<string, { readonly place: number; readonly madeAt: number }>();
  readonly #departures: Departure[] = [];
  /** The places of the writes that have begun, each with the number of the request that began it. */
  readonly #open = new Map<number, number>();
  #last = 0;
  #requests = 0;
  #place: number | undefined;

  constructor(context: SimFeedContext) {
    this.#context = context;
  }

  /** Begins a write and returns its place. */
  begin(): number {
    this.#count();
    const place = ++this.#last;
    this.#open.set(place, this.#requests);
    return place;
  }

  /** Changes something as the write with this place. A write that was ended meanwhile begins again. */
  within<T>(begun: number, change: () => T): T {
    const place = this.#open.has(begun) ? begun : this.begin();
    this.#place = place;
    try {
      return change();
    } finally {
      this.#place = undefined;
      this.#open.delete(place);
    }
  }

  /** Notes that a record was written. `isTouched`: by an append. */
  note(before: SessionRecord | undefined, after: NextRecord, isTouched: boolean): void {
    if (!isTouched && !changesFeed(before, after)) return;
    const { uid, sessionId } = after;
    const known = this.#states.get(uid);
    // Rule: place-with-change.
    const place = this.#place ?? ++this.#last;
    const kind = departureOf(before, after);
    // Rule: departure-with-change.
    if (kind !== null) this.#departures.push({ kind, place, uid, sessionId, past: pastOf(before as SessionRecord) });
    if (after.deleted) this.#states.delete(uid);
    else this.#states.set(uid, { place, madeAt: before?.deleted === false ? (known?.madeAt ?? 0) : place });
  }

  table(request: Request): FeedTable {
    return {
      slackMs: this.#context.slackMs(),
      ends: (call) => request(call, "feedEnds", [], () => this.#ends()),
      read: (after, limit, call) => request(call, "readFeed", [after, limit], () => this.#read(after, limit)),
      recent: (since, call) => request(call, "recent", [since], () => this.#recent(since)),
      settle: (call) => this.#settle(request, call),
      prune: async () => 0,
      digest: digestOf,
    };
  }

  #ends(): FeedEnds {
    this.#count();
    return { feedId: "simulated", first: 0, last: this.#end() - 1, nowMs: this.#context.timeMs() };
  }

  /** All changes at a place stay together. */
  #read({ place: after }: FeedCursor, limit: number): FeedPage {
    const ends = this.#ends();
    const changes = this.#changes().filter(({ place }) => place > after && place <= ends.last);
    const end = changes[limit - 1]?.place ?? Number.POSITIVE_INFINITY;
    const page = changes.filter(({ place }) => place <= end);
    const next = page.length < changes.length ? { place: end } : null;
    return { ...ends, changes: page, next, isBehind: ends.last < this.#last };
  }

  #recent(sinceMicros: number) {
    return this.#changes().flatMap((change) =>
      change.kind === "state" && change.record.updateTimeMicros >= sinceMicros ? [change] : [],
    );
  }

  async #settle(request: Request, call: Call | undefined): Promise<void> {
    const last = await request(call, "lastPlace", [], () => this.#last);
    while (await request(call, "settle", [last], () => this.#end() <= last)) {}
  }

  #changes(): FeedChange[] {
    const states = [...this.#states].map(([uid, { place, madeAt }]): FeedChange => {
      return { kind: "state", place, madeAt, record: this.#context.recordOf(uid) as SessionRecord };
    });
    return [...this.#departures, ...states].sort((a, b) => a.place - b.place);
  }

  /** The first place that a write may still get. */
  #end(): number {
    this.#count();
    // Rule: read-before-open.
    const end = Math.min(this.#last + 1, ...this.#open.keys());
    return end;
  }

  #count(): void {
    this.#requests++;
    for (const [place, begun] of this.#open) if (begun < this.#requests - MOST_REQUESTS) this.#open.delete(place);
  }
}
