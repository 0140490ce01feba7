import type { Collection, Filter } from "mongodb";
import type { Call } from "../../domain/call.js";
import type { SessionFilter } from "../../domain/page.js";
import type { SessionOrder } from "../../domain/session-order.js";
import type { RecordPlace, RecordQuery, SessionRecord } from "../history/log-store.js";
import {
  afterFirstBound,
  type Looked,
  type LookedPage,
  labelCondition,
  type QueryDriver,
  type QueryIndexes,
  wordCondition,
} from "../history/query-planner.js";
import { int64 } from "./entry-document.js";
import type { MongoCommands } from "./mongo-commands.js";
import { KEY_DRAFTING, KEY_OWNER } from "./mongo-indexes.js";
import { LIVING, type RecordDocument, toRecord } from "./record-document.js";

type Scope = Readonly<Record<string, unknown>>;

/** An index, and what of it is read. */
interface Driver extends QueryDriver {
  readonly hint: string;
  readonly scope: Scope;
  readonly hasTime: boolean;
}

const KEYS = { update_time: "update_time", create_time: "create_time", title: "title_key" } as const;
/** What conditions are about, and places. */
const LIGHT = {
  session_id: 1,
  update_time: 1,
  create_time: 1,
  title_key: 1,
  owner: 1,
  parent_id: 1,
  labels: 1,
  title_words: 1,
};
type LightDocument = Pick<RecordDocument, "_id" | Exclude<keyof typeof LIGHT, never>>;

/** Finds sessions of one namespace by the indexes of the collection. */
export class RecordFinder implements QueryIndexes<Driver> {
  readonly #namespace: string;
  readonly #sessions: Collection<RecordDocument>;
  readonly #commands: MongoCommands;

  constructor(namespace: string, sessions: Collection<RecordDocument>, commands: MongoCommands) {
    this.#namespace = namespace;
    this.#sessions = sessions;
    this.#commands = commands;
  }

  driversOf({ parentId, owner, labels = [], titleWords = [] }: SessionFilter): readonly Driver[] {
    const living = { namespace: this.#namespace, tombstone: LIVING };
    // Null finds those without one.
    const ofOwner = owner === undefined ? {} : { owner: owner || null };
    const owned = owner === undefined ? [] : ["owner"];
    const timed = (hint: string, scope: Scope, covers: readonly string[]): Driver => ({
      ...{ hint, scope: { ...living, ...scope }, hasTime: true, by: "update_time" },
      covers: new Set([...covers, "time"]),
    });
    const ordered = (by: "create_time" | "title", end: string): Driver => ({
      hint: owner === undefined ? `namespace_${end}` : `namespace_owner_${end}`,
      ...{ scope: { ...living, ...ofOwner }, hasTime: false, by, covers: new Set(owned) },
    });
    const label = owner === undefined ? "namespace_label_update" : "namespace_owner_label_update";
    return [
      timed("namespace_update", {}, []),
      ...(owner === undefined ? [] : [timed(KEY_OWNER, ofOwner, owned)]),
      ...(parentId === "" ? [] : [timed("namespace_parent_update", { parent_id: parentId }, ["parent"])]),
      ...labels.map((text) => timed(label, { ...ofOwner, labels: text }, [...owned, labelCondition(text)])),
      ...titleWords.map((word) => ({
        ...{ hint: "namespace_title_word", scope: { ...living, title_words: word }, hasTime: false },
        covers: new Set([wordCondition(word)]),
      })),
      ordered("create_time", "create"),
      ordered("title", "title"),
    ];
  }

  countEach(drivers: readonly Driver[], most: number, filter: SessionFilter, call?: Call): Promise<readonly number[]> {
    return Promise.all(drivers.map((driver) => this.#count(driver, scopeOf(driver, filter), most, call)));
  }

  countMeeting(driver: Driver, filter: SessionFilter, call?: Call): Promise<number> {
    return this.#count(driver, allOf(driver, filter), undefined, call);
  }

  async gather(driver: Driver, query: RecordQuery, { limit, after }: LookedPage, call?: Call): Promise<Looked[]> {
    const found = await this.#pages(driver, query, allOf(driver, query), { limit, after }, call);
    return found.map((document) => ({ place: placeOf(document, query.order), record: toRecord(document) }));
  }

  async look(driver: Driver, query: RecordQuery, page: LookedPage, call?: Call): Promise<Looked[]> {
    const scope = scopeOf(driver, page.after ? afterFirstBound(query) : query);
    const looked = await this.#pages<LightDocument>(driver, query, scope, page, call, LIGHT);
    const met = looked.filter((document) => isMet(document, query)).map(({ _id }) => _id);
    const found = await this.#commands.read(call, (limits) =>
      this.#sessions.find({ _id: { $in: met }, tombstone: LIVING }, { ...limits, batchSize: met.length + 1 }).toArray(),
    );
    const documents = new Map(found.map((document) => [document._id, document]));
    return looked.map((light) => {
      const document = documents.get(light._id);
      return { place: placeOf(light, query.order), record: document ? recordAt(light, document, query) : null };
    });
  }

  /** Sessions with drafts are in another part of the index. */
  async sample(limit: number, call?: Call): Promise<readonly SessionRecord[]> {
    const parts = [null, true].map((drafting) => {
      const filter = { namespace: this.#namespace, drafting, tombstone: LIVING } as unknown as Filter<RecordDocument>;
      return this.#commands.read(call, (limits) =>
        this.#sessions
          .find(filter, { ...limits, limit, batchSize: limit + 1 })
          .sort({ _id: 1 })
          .hint(KEY_DRAFTING)
          .toArray(),
      );
    });
    const found = (await Promise.all(parts)).flat();
    return found
      .toSorted((a, b) => (a._id < b._id ? -1 : 1))
      .slice(0, limit)
      .map(toRecord);
  }

  #count({ hint }: Driver, scope: Scope, limit: number | undefined, call?: Call): Promise<number> {
    return this.#commands.read(call, (limits) =>
      this.#sessions.countDocuments(scope as Filter<RecordDocument>, {
        ...limits,
        ...(limit !== undefined && { limit }),
        hint,
      }),
    );
  }

  /** Two ranges of an index instead of one filter: first what ties with the place, then what follows. */
  async #pages<Found extends LightDocument = RecordDocument>(
    { hint }: Driver,
    { order }: RecordQuery,
    scope: Scope,
    { limit, after }: LookedPage,
    call?: Call,
    projection?: typeof LIGHT,
  ): Promise<readonly Found[]> {
    const key = KEYS[order.by];
    const direction = order.descending ? -1 : 1;
    const find = (filter: Scope) =>
      this.#commands.read(call, (limits) =>
        this.#sessions
          .find(filter as Filter<RecordDocument>, {
            ...limits,
            limit,
            batchSize: limit + 1,
            ...(projection && { projection }),
          })
          .sort({ [key]: direction, session_id: direction })
          .hint(hint)
          .toArray(),
      ) as Promise<unknown> as Promise<readonly Found[]>;
    if (!after) return find(scope);
    const value = typeof after.key === "number" ? int64(after.key) : after.key;
    const beyond = order.descending ? "$lt" : "$gt";
    const also = (field: string, condition: Scope) => ({ $and: [scope, { [field]: condition }] });
    const [ties, others] = await Promise.all([
      find({ $and: [scope, { [key]: value }, { session_id: { [beyond]: after.sessionId } }] }),
      find(also(key, { [beyond]: value })),
    ]);
    return [...ties, ...others].slice(0, limit);
  }
}

/** What of an index is read for a filter. */
function scopeOf({ scope, hasTime }: Driver, filter: SessionFilter): Scope {
  return hasTime ? { ...scope, ...timeOf(filter) } : scope;
}

/** All conditions of a filter, and what the index begins with. */
function allOf(driver: Driver, filter: SessionFilter): Scope {
  const { parentId, owner, labels = [], titleWords = [] } = filter;
  return {
    ...driver.scope,
    ...timeOf(filter),
    ...(parentId !== "" && { parent_id: parentId }),
    ...(owner !== undefined && { owner: owner || null }),
    $and: [{}, ...labels.map((label) => ({ labels: label })), ...titleWords.map((word) => ({ title_words: word }))],
  };
}

function timeOf({ updatedSinceMicros, updatedUntilMicros }: SessionFilter): Scope {
  if (updatedSinceMicros === undefined && updatedUntilMicros === undefined) return {};
  const since = int64(updatedSinceMicros ?? Number.MIN_SAFE_INTEGER);
  return { update_time: { $gte: since, ...(updatedUntilMicros !== undefined && { $lt: int64(updatedUntilMicros) }) } };
}

function isMet(document: LightDocument, filter: SessionFilter): boolean {
  const { parentId, owner, updatedSinceMicros, updatedUntilMicros, labels = [], titleWords = [] } = filter;
  const updated = Number(document.update_time);
  return (
    (parentId === "" || document.parent_id === parentId) &&
    (owner === undefined || (document.owner ?? "") === owner) &&
    (updatedSinceMicros === undefined || updated >= updatedSinceMicros) &&
    (updatedUntilMicros === undefined || updated < updatedUntilMicros) &&
    labels.every((label) => document.labels?.includes(label)) &&
    titleWords.every((word) => document.title_words?.includes(word))
  );
}

/**
 * The record as found at the place of `light`, which was read before; null if it no longer belongs there. Lists go on
 * after the place that their last record says, so none may say a later one. Appends change update times all the time,
 * so that alone leaves no session out: it is shown with the time at which it was found.
 */
function recordAt(light: LightDocument, document: RecordDocument, query: RecordQuery): SessionRecord | null {
  const found = { ...document, update_time: light.update_time };
  const isThere = query.order.by !== "title" || document.title_key === light.title_key;
  return isThere && isMet(found, query) ? toRecord(found) : null;
}

function placeOf(document: LightDocument, { by }: SessionOrder): RecordPlace {
  const key = document[KEYS[by]];
  return { key: by === "title" ? (key as string) : Number(key), sessionId: document.session_id };
}
