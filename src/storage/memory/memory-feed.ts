import { randomUUID } from "node:crypto";
import type { Call } from "../../domain/call.js";
import { changesFeed, departureOf, digestOf, pastOf } from "../history/feed-facts.js";
import type {
  Departure,
  FeedChange,
  FeedCursor,
  FeedEnds,
  FeedPage,
  FeedTable,
  NextRecord,
  SessionRecord,
  StateChange,
} from "../history/log-store.js";
import { UPDATE_TIME_SLACK_MICROS } from "../history/record-facts.js";

type Row = Departure & { readonly atMs: number };
/** The place of a living session, which is out of date once the session has another one. */
interface Mark {
  readonly kind: "mark";
  readonly place: number;
  readonly uid: string;
}

/** What a feed needs from its store. */
export interface MemoryFeedContext {
  readonly now: () => number;
  readonly recordOf: (uid: string) => SessionRecord | undefined;
}

/** The feed of one namespace. Its places are a counter. */
export class MemoryFeed {
  /** New with every process, because nothing else of the feed outlives it. */
  readonly #feedId: string = randomUUID();
  readonly #places = new Map<string, { readonly place: number; readonly madeAt: number }>();
  /** By place. */
  #entries: (Mark | Row)[] = [];
  #outdated = 0;
  #first = 0;
  #last = 0;

  /** Whether there are rows that tell what has departed. */
  get hasDepartures(): boolean {
    return this.#entries.some(({ kind }) => kind !== "mark");
  }

  /** Notes that a record was written; `before` is the one that it replaced. `isTouched`: by an append. */
  note(
    before: SessionRecord | undefined,
    after: NextRecord,
    { atMs, isTouched }: { readonly atMs: number; readonly isTouched: boolean },
  ): void {
    if (!isTouched && !changesFeed(before, after)) return;
    // Rule: place-with-change.
    const place = ++this.#last;
    const { uid, sessionId } = after;
    const departure = departureOf(before, after);
    // Rule: departure-with-change.
    if (departure !== null) {
      const past = pastOf(before as SessionRecord);
      this.#entries.push({ kind: departure, place, uid, sessionId, past, atMs });
    }
    const known = this.#places.get(uid);
    if (known !== undefined) this.#outdated++;
    if (after.deleted) {
      this.#places.delete(uid);
    } else {
      const isNew = before === undefined || before.deleted;
      this.#places.set(uid, { place, madeAt: isNew ? place : (known?.madeAt ?? 0) });
      this.#entries.push({ kind: "mark", place, uid });
    }
    if (this.#outdated > 1000 && this.#outdated > this.#entries.length / 2) this.#compact();
  }

  table(context: MemoryFeedContext, enter: (call: Call | undefined) => void): FeedTable {
    return {
      slackMs: UPDATE_TIME_SLACK_MICROS / 1000,
      ends: async (call) => {
        enter(call);
        return this.#ends(context);
      },
      read: async (after, limit, call) => {
        enter(call);
        return this.#read(context, after, limit);
      },
      recent: async (sinceMicros, call) => {
        enter(call);
        return this.#recent(context, sinceMicros);
      },
      settle: async (call) => enter(call),
      prune: async (beforeMs, call) => {
        enter(call);
        return this.#prune(beforeMs);
      },
      digest: digestOf,
    };
  }

  #ends({ now }: MemoryFeedContext): FeedEnds {
    return { feedId: this.#feedId, first: this.#first, last: this.#last, nowMs: now() };
  }

  #read(context: MemoryFeedContext, { place }: FeedCursor, limit: number): FeedPage {
    const changes: FeedChange[] = [];
    let end = place;
    let i = this.#countUpTo(place);
    // A change and the row that belongs to it have the same place, and stay together.
    for (; i < this.#entries.length && (changes.length < limit || this.#entries[i]?.place === end); i++) {
      const entry = this.#entries[i] as Mark | Row;
      end = entry.place;
      if (entry.kind !== "mark") changes.push(entry);
      else if (this.#isCurrent(entry)) changes.push(this.#stateOf(context, entry));
    }
    return { ...this.#ends(context), changes, next: i < this.#entries.length ? { place: end } : null };
  }

  #recent(context: MemoryFeedContext, sinceMicros: number): StateChange[] {
    const marks = this.#entries.filter((entry) => entry.kind === "mark" && this.#isCurrent(entry)) as Mark[];
    const states = marks.map((mark) => this.#stateOf(context, mark));
    return states.filter(({ record }) => record.updateTimeMicros >= sinceMicros);
  }

  #stateOf({ recordOf }: MemoryFeedContext, { uid, place }: Mark): StateChange {
    const madeAt = this.#places.get(uid)?.madeAt ?? 0;
    return { kind: "state", place, record: recordOf(uid) as SessionRecord, madeAt };
  }

  #isCurrent({ uid, place }: Mark): boolean {
    return this.#places.get(uid)?.place === place;
  }

  #prune(beforeMs: number): number {
    const isOld = (entry: Mark | Row) => entry.kind !== "mark" && entry.atMs < beforeMs;
    const old = this.#entries.filter(isOld);
    this.#first = old.reduce((first, { place }) => Math.max(first, place), this.#first);
    if (old.length > 0) this.#entries = this.#entries.filter((entry) => !isOld(entry));
    return old.length;
  }

  #compact(): void {
    this.#entries = this.#entries.filter((entry) => entry.kind !== "mark" || this.#isCurrent(entry));
    this.#outdated = 0;
  }

  #countUpTo(place: number): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#entries[middle] as Mark | Row).place <= place) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
