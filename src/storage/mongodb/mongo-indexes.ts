import { type Db, MongoServerError } from "mongodb";
import { DomainError } from "../../domain/errors.js";

export interface MongoIndex {
  readonly collection: (typeof INDEXED)[number];
  readonly name: string;
  readonly key: Readonly<Record<string, 1 | -1>>;
  readonly unique: boolean;
  /** Only documents that have this field are in the index. */
  readonly ifPresent?: string;
}

/** The collections that have indexes besides those of `_id`. */
export const INDEXED = ["messages", "sessions", "departures", "attachments", "attachment_pieces"] as const;

/** The names of indexes, which errors of the server and hints to it use. */
export const KEY_LOG_SEQ = "log_seq";
export const KEY_LOG_ID = "log_id";
export const KEY_SESSION_TIME = "session_time";
export const KEY_OWNER = "namespace_owner_update";
export const KEY_CREATOR = "namespace_creator";
export const KEY_UID = "namespace_uid";
export const KEY_DRAFTING = "namespace_drafting";
export const KEY_TERMS = "terms_time";
/** The index of words of earlier versions. */
export const EARLIER_WORDS = "words_time";
export const KEY_TARGET = "named_target";
export const KEY_NAMED = "log_named";
export const KEY_USAGE = "uid_state_size";
export const KEY_LOG_USAGE = "log_usage";
export const KEY_BIN = "namespace_delete";
export const KEY_BIN_OWNER = "namespace_owner_delete";
export const KEY_BIN_ID = "namespace_session_delete";
export const KEY_PURGE = "namespace_purge";
export const KEY_PLACE = "namespace_place";
export const KEY_DEPARTURES = "namespace_departures";
export const KEY_ROW_PLACE = "namespace_place_uid";
const KEY_SESSION_ID = "namespace_session";

/** All indexes that every database has. Every query of this folder uses one of them or `_id`. */
export const INDEXES: readonly MongoIndex[] = [
  { collection: "messages", name: KEY_LOG_SEQ, key: { log: 1, seq: 1 }, unique: true },
  { collection: "messages", name: KEY_LOG_ID, key: { log: 1, id: 1 }, unique: true },
  { collection: "messages", name: KEY_SESSION_TIME, key: { session_id: 1, timestamp: 1, seq: 1 }, unique: false },
  { collection: "sessions", name: KEY_SESSION_ID, key: { namespace: 1, session_id: 1, tombstone: 1 }, unique: true },
  {
    collection: "sessions",
    name: "namespace_update",
    key: { namespace: 1, tombstone: 1, update_time: 1, session_id: 1 },
    unique: false,
  },
  {
    collection: "sessions",
    name: "namespace_parent_update",
    key: { namespace: 1, parent_id: 1, tombstone: 1, update_time: 1, session_id: 1 },
    unique: false,
  },
  {
    collection: "sessions",
    name: "namespace_label_update",
    key: { namespace: 1, labels: 1, tombstone: 1, update_time: 1, session_id: 1 },
    unique: false,
  },
  {
    collection: "sessions",
    name: KEY_OWNER,
    key: { namespace: 1, owner: 1, tombstone: 1, update_time: 1, session_id: 1, bytes: 1 },
    unique: false,
  },
  {
    collection: "sessions",
    name: "namespace_owner_label_update",
    key: { namespace: 1, owner: 1, labels: 1, tombstone: 1, update_time: 1, session_id: 1 },
    unique: false,
  },
  {
    collection: "sessions",
    name: KEY_CREATOR,
    key: { namespace: 1, tombstone: 1, creator_key: 1, bytes: 1 },
    unique: false,
  },
  {
    collection: "sessions",
    name: "namespace_expire",
    key: { namespace: 1, tombstone: 1, expire_time: 1 },
    unique: false,
  },
  {
    collection: "sessions",
    name: "namespace_create",
    key: { namespace: 1, tombstone: 1, create_time: 1, session_id: 1 },
    unique: false,
  },
  {
    collection: "sessions",
    name: "namespace_title",
    key: { namespace: 1, tombstone: 1, title_key: 1, session_id: 1 },
    unique: false,
  },
  {
    collection: "sessions",
    name: "namespace_owner_create",
    key: { namespace: 1, owner: 1, tombstone: 1, create_time: 1, session_id: 1 },
    unique: false,
  },
  {
    collection: "sessions",
    name: "namespace_owner_title",
    key: { namespace: 1, owner: 1, tombstone: 1, title_key: 1, session_id: 1 },
    unique: false,
  },
  {
    collection: "sessions",
    name: "namespace_title_word",
    key: { namespace: 1, title_words: 1, tombstone: 1 },
    unique: false,
  },
  { collection: "sessions", name: "namespace_sweep", key: { namespace: 1, forks: 1, sweep_time: 1 }, unique: false },
  {
    collection: "sessions",
    name: KEY_BIN,
    key: { namespace: 1, delete_time: 1, session_id: 1 },
    unique: false,
    ifPresent: "delete_time",
  },
  {
    collection: "sessions",
    name: KEY_BIN_OWNER,
    key: { namespace: 1, owner: 1, delete_time: 1, session_id: 1 },
    unique: false,
    ifPresent: "delete_time",
  },
  {
    collection: "sessions",
    name: KEY_BIN_ID,
    key: { namespace: 1, session_id: 1, delete_time: 1 },
    unique: false,
    ifPresent: "delete_time",
  },
  {
    collection: "sessions",
    name: KEY_PURGE,
    key: { namespace: 1, purge_time: 1 },
    unique: false,
    ifPresent: "purge_time",
  },
  // Descending, because older servers refuse two indexes with the same key, and KEY_DEPARTURES has the ascending one.
  { collection: "sessions", name: KEY_UID, key: { namespace: 1, _id: -1 }, unique: false },
  { collection: "sessions", name: KEY_DRAFTING, key: { namespace: 1, drafting: 1, _id: 1 }, unique: false },
  {
    collection: "sessions",
    name: KEY_PLACE,
    key: { namespace: 1, place: 1, _id: 1 },
    unique: false,
    ifPresent: "place",
  },
  {
    collection: "sessions",
    name: KEY_DEPARTURES,
    key: { namespace: 1, _id: 1 },
    unique: false,
    ifPresent: "departures",
  },
  { collection: "departures", name: KEY_ROW_PLACE, key: { namespace: 1, place: 1, uid: 1 }, unique: false },
  {
    collection: "messages",
    name: KEY_TARGET,
    key: { "named.log": 1, log: 1, seq: 1 },
    unique: false,
    ifPresent: "named",
  },
  {
    collection: "messages",
    name: KEY_NAMED,
    key: { log: 1, "named.id": 1, seq: 1 },
    unique: false,
    ifPresent: "named",
  },
  {
    collection: "messages",
    name: KEY_LOG_USAGE,
    // All that is read of usage, so that no document is.
    key: { log: 1, seq: 1, usage: 1, usage_sums: 1, timestamp: 1, session_id: 1, origin: 1 },
    unique: false,
    ifPresent: "usage",
  },
  { collection: "attachments", name: "uid_slot", key: { uid: 1, slot: 1 }, unique: true },
  { collection: "attachments", name: KEY_USAGE, key: { uid: 1, state: 1, size: 1 }, unique: false },
  {
    collection: "attachments",
    name: "namespace_state_seen",
    key: { namespace: 1, state: 1, seen_ms: 1 },
    unique: false,
  },
  { collection: "attachment_pieces", name: "log_seq_size", key: { log: 1, seq: 1, size: 1 }, unique: false },
];

/**
 * The index of words that `--search` adds. It covers all documents, because it also finds those that have no words yet.
 */
export const SEARCH_INDEX: MongoIndex = {
  collection: "messages",
  name: KEY_TERMS,
  key: { terms: 1, timestamp: -1, log: -1, seq: -1 },
  unique: false,
};

/**
 * The indexes that `prepareDatabase` makes, as lines for mongosh. Only an index of words of earlier versions is ever
 * dropped.
 */
export function indexStatements(): readonly string[] {
  return [...INDEXES.map(statementOf), `${statementOf(SEARCH_INDEX)} // only for --search`];
}

function statementOf({ collection, key, ...index }: MongoIndex): string {
  const options = optionsOf(index);
  return `db.${collection}.createIndex(${JSON.stringify(key)}, ${JSON.stringify(options)})`;
}

function optionsOf({ name, unique, ifPresent }: Omit<MongoIndex, "collection" | "key">) {
  const filter = ifPresent !== undefined && { partialFilterExpression: { [ifPresent]: { $exists: true } } };
  return { name, ...(unique && { unique }), ...filter };
}

/** Makes the missing indexes of a collection. `failed_precondition`: one of the same name is defined differently. */
export async function makeIndexes(
  db: Db,
  collection: MongoIndex["collection"],
  wanted: readonly MongoIndex[],
): Promise<void> {
  const present = new Map<string, string>();
  for (const index of await keysOf(db, collection)) present.set(index.name, describe(index));
  for (const { key, ...index } of wanted) {
    const { name } = index;
    const description = describe({ key, ...optionsOf(index) });
    if (present.has(name) && present.get(name) !== description) {
      throw new DomainError(
        "failed_precondition",
        `Key ${name} of collection ${collection} is not ${description}; rename or drop it`,
      );
    }
  }
  const missing = wanted.filter(({ name }) => !present.has(name));
  if (missing.length === 0) return;
  await db
    .collection(collection)
    .createIndexes(missing.map(({ key, ...index }) => ({ key: { ...key } as never, ...optionsOf(index) })));
}

interface FoundIndex {
  readonly key: object;
  readonly unique?: boolean;
  readonly partialFilterExpression?: object;
}

async function keysOf(db: Db, collection: string): Promise<readonly (FoundIndex & { readonly name: string })[]> {
  try {
    return (await db.collection(collection).listIndexes().toArray()) as never;
  } catch (error) {
    const isMissing = error instanceof MongoServerError && error.code === NAMESPACE_NOT_FOUND;
    if (isMissing) return [];
    throw error;
  }
}

const NAMESPACE_NOT_FOUND = 26;

function describe({ key, unique, partialFilterExpression }: FoundIndex): string {
  const fields = Object.entries(key).map(([field, direction]) => `${field}: ${Number(direction)}`);
  const partial = partialFilterExpression ? ` of documents with ${Object.keys(partialFilterExpression)}` : "";
  return `${unique ? "unique " : ""}{ ${fields.join(", ")} }${partial}`;
}
