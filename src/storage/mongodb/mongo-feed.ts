import type { Call } from "../../domain/call.js";
import { DomainError } from "../../domain/errors.js";
import { digestOf } from "../history/feed-facts.js";
import type { FeedChange, FeedCursor, FeedEnds, FeedPage, FeedTable, StateChange } from "../history/log-store.js";
import { int64 } from "./entry-document.js";
import type { FeedPlaces } from "./feed-places.js";
import { FinalPlaces } from "./final-places.js";
import type { MongoCollections } from "./mongo-collections.js";
import type { MongoCommands } from "./mongo-commands.js";
import { KEY_DEPARTED, type MongoDepartures } from "./mongo-departures.js";
import { KEY_PLACE } from "./mongo-indexes.js";
import { type RecordDocument, toRecord } from "./record-document.js";
import { msOf, placeOf } from "./record-feed.js";
import type { SafeReads } from "./safe-reads.js";
import type { ServerClock } from "./server-clock.js";

const KEY_STATE = "1";
/** After every key at a place. */
const LAST_KEY = "2";

interface Parts {
  readonly commands: MongoCommands;
  readonly safeReads: SafeReads;
  readonly clock: Pick<ServerClock, "knownMs">;
  readonly places: FeedPlaces;
  readonly departures: MongoDepartures;
}

/**
 * The feed of a namespace of a MongoDB database. The server gives a change its place when it begins to work on it, so
 * changes become visible in another order.
 */
export class MongoFeed implements FeedTable {
  /**
   * The engine writes the update time, and with it the place, a second after an append, and beside it when the stored
   * time is a minute old. A process that is killed in between leaves the place as it is. The rest is for clocks that
   * differ by a minute, and for an append that is still under way.
   */
  readonly slackMs = 150_000;
  readonly late = { usual: placeOf(2000), placedMs: 1000 };
  readonly #namespace: string;
  readonly #collections: Pick<MongoCollections, "sessions" | "schema">;
  readonly #parts: Parts;
  readonly #finals = new FinalPlaces();
  #final = 0;

  constructor(namespace: string, collections: Pick<MongoCollections, "sessions" | "schema">, parts: Parts) {
    this.#namespace = namespace;
    this.#collections = collections;
    this.#parts = parts;
  }

  async ends(call?: Call): Promise<FeedEnds> {
    const last = await this.#parts.places.last(call);
    this.#finals.note(last);
    const final = await this.#readFinal(call);
    return { ...(await this.#endsAt(last, call)), final };
  }

  /**
   * Reads states before departures: what a session was made with after another of its id was deleted comes later. Reads
   * last up to where rows were removed.
   */
  async read(after: FeedCursor, limit: number, call?: Call): Promise<FeedPage> {
    const final = await this.#readFinal(call);
    const states = await this.#states(after, limit, call);
    const { waiting, rows } = await this.#parts.departures.after(after, limit, call);
    // What one of them has after its full page is not known yet.
    const ofFull = [states, rows].filter(({ length }) => length === limit).map((full) => full.at(-1) as FeedChange);
    const [end] = ofFull.map(cursorOf).sort(compare);
    const changes = new Map<string, FeedChange>();
    for (const change of [...waiting, ...rows, ...states]) {
      const at = cursorOf(change);
      if (compare(at, after) > 0 && (end === undefined || compare(at, end) <= 0)) {
        changes.set(`${at.place} ${at.key}`, change);
      }
    }
    const sorted = [...changes.values()].sort((a, b) => compare(cursorOf(a), cursorOf(b)));
    const last = Math.max(after.place, sorted.at(-1)?.place ?? 0);
    this.#finals.note(last);
    return { ...(await this.#endsAt(last, call)), final, changes: sorted, next: end ?? null };
  }

  async recent(sinceMicros: number, call?: Call): Promise<readonly StateChange[]> {
    return this.#find({ place: { $gt: int64(placeOf(sinceMicros / 1000)) } }, undefined, call);
  }

  /** What is under way is within `slackMs`. */
  async settle(): Promise<void> {}

  prune(beforeMs: number, call?: Call): Promise<number> {
    return this.#parts.departures.prune(placeOf(beforeMs), call);
  }

  digest(uid: string, text: string): string {
    return digestOf(uid, text);
  }

  /**
   * The place up to which everything is visible to reads that begin after this. What was carried out may not be stored
   * by a majority yet, so a read that waits for this comes first. While nothing changes, it is not needed.
   */
  async #readFinal(call?: Call): Promise<number> {
    const { final } = this.#finals;
    if (final > this.#final) {
      const { commands, safeReads } = this.#parts;
      const { schema } = this.#collections;
      await commands.read(call, (limits) => schema.findOne({ _id: "feed" }, { ...limits, ...safeReads.options }));
      this.#final = Math.max(this.#final, final);
    }
    return this.#final;
  }

  /** The ends of a feed in which this is the last place. */
  async #endsAt(last: number, call?: Call): Promise<FeedEnds> {
    const { commands, places, clock } = this.#parts;
    const { schema } = this.#collections;
    const [named, first] = await Promise.all([
      commands.read(call, (limits) => schema.findOne({ _id: "feed" }, limits)),
      places.first(call),
    ]);
    if (named?.feed_id === undefined) throw new DomainError("unavailable", "The database was removed");
    return {
      feedId: `${named.feed_id} ${schema.dbName}`,
      first,
      last,
      nowMs: Math.max(clock.knownMs(), Math.floor(msOf(last))),
    };
  }

  async #states({ place, key = LAST_KEY }: FeedCursor, limit: number, call?: Call): Promise<readonly StateChange[]> {
    const uid = key.startsWith(KEY_STATE) ? key.slice(1) : "";
    const [ties, later] = await Promise.all([
      key < LAST_KEY ? this.#find({ place: int64(place), _id: { $gt: uid } }, limit, call) : [],
      this.#find({ place: { $gt: int64(place) } }, limit, call),
    ]);
    return [...ties, ...later].slice(0, limit);
  }

  async #find(range: object, limit: number | undefined, call?: Call): Promise<readonly StateChange[]> {
    const page = limit !== undefined && { limit, batchSize: limit + 1 };
    const found = await this.#parts.commands.read(call, (limits) =>
      this.#collections.sessions
        .find({ namespace: this.#namespace, ...range }, { ...limits, ...page })
        .sort({ place: 1, _id: 1 })
        .hint(KEY_PLACE)
        .toArray(),
    );
    return found.map(toState);
  }
}

function toState(document: RecordDocument): StateChange {
  const place = Number(document.place);
  const placedAtMicros = Math.floor(msOf(place) * 1000);
  return { kind: "state", place, madeAt: Number(document.made_place ?? 0), placedAtMicros, record: toRecord(document) };
}

function cursorOf(change: FeedChange): Required<FeedCursor> & { readonly key: string } {
  if (change.kind === "state") return { place: change.place, key: `${KEY_STATE}${change.record.uid}` };
  return { place: change.place, key: `${KEY_DEPARTED}${change.uid}` };
}

function compare(a: FeedCursor, b: FeedCursor): number {
  const { key: ofA = LAST_KEY } = a;
  const { key: ofB = LAST_KEY } = b;
  return a.place - b.place || (ofA < ofB ? -1 : ofA > ofB ? 1 : 0);
}
