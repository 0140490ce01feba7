import { randomUUID } from "node:crypto";
import { type Collection, type Db, type Filter, type Long, MongoServerError, type ObjectId } from "mongodb";
import { DomainError } from "../../domain/errors.js";
import type { SearchOption, SearchScope } from "../../domain/search.js";
import type { Todo } from "../../domain/todo.js";
import type { AttachmentDocument, PieceDocument } from "./attachment-document.js";
import type { LogDocument } from "./entry-document.js";
import type { MongoCommands } from "./mongo-commands.js";
import { duplicateKey } from "./mongo-errors.js";
import { LIVING, listingFields, type RecordDocument, toRecord } from "./record-document.js";
import { type DepartureDocument, digestsOf } from "./record-feed.js";

/**
 * Increases with every change that an older version cannot read, and with every new field of a record, which an older
 * process would lose when it writes the record again. Since 2, sweeps mark what they may clear away, and records name
 * their logs and drafts. Since 3, they name their owners. Since 4, messages may name attachments. Since 5, they may
 * have usage, deleted sessions may be kept, and lists find sessions by their titles. Since 6, records have places in
 * the feed.
 */
export const SCHEMA_VERSION = 6;

export interface TodosDocument {
  /** The namespace. */
  readonly _id: string;
  readonly revision: number;
  readonly todos: readonly Todo[];
  /** Distinguishes a repeated write from another writer's. */
  readonly write: ObjectId;
}

export interface RegisterDocument {
  /** The name. */
  readonly _id: string;
  readonly revision: number;
  readonly text: string;
}

/** What is no longer said by the record of a session that was deleted or changed; see DepartureDocument. */
export interface DepartureRow extends DepartureDocument {
  /** The uid and the place. */
  readonly _id: string;
  readonly namespace: string;
  readonly uid: string;
  readonly session_id: string;
}

/** The feed of a namespace. */
export interface FeedDocument {
  /** The namespace. */
  readonly _id: string;
  /** The last place whose row was removed. */
  readonly first: Long | number;
}

interface SchemaDocument {
  readonly _id: "version" | "clock" | "search" | "feed";
  /** Only in the document `version`. */
  readonly version?: number;
  /** Only in the document `clock`, which sweeps write to learn the server's time. */
  readonly ticks?: number;
  /** Only in the document `search`: what of messages is in the index of words. Without it, their texts are. */
  readonly indexed?: SearchScope;
  /** Only in the document `feed`: distinguishes the feeds of this database from those of others. */
  readonly feed_id?: string;
}

export interface MongoCollections {
  readonly sessions: Collection<RecordDocument>;
  readonly messages: Collection<LogDocument>;
  readonly attachments: Collection<AttachmentDocument>;
  readonly pieces: Collection<PieceDocument>;
  readonly departures: Collection<DepartureRow>;
  readonly feeds: Collection<FeedDocument>;
  readonly todos: Collection<TodosDocument>;
  readonly registers: Collection<RegisterDocument>;
  readonly schema: Collection<SchemaDocument>;
}

export interface MongoIndex {
  readonly collection: (typeof INDEXED)[number];
  readonly name: string;
  readonly key: Readonly<Record<string, 1 | -1>>;
  readonly unique: boolean;
  /** Only documents that have this field are in the index. */
  readonly ifPresent?: string;
}

/** How many sessions of an earlier version are changed at a time. */
const CHANGED_AT_ONCE = 500;
const INDEXED = ["messages", "sessions", "departures", "attachments", "attachment_pieces"] as const;

/** The names of indexes, which errors of the server and hints to it use. */
export const KEY_LOG_SEQ = "log_seq";
export const KEY_LOG_ID = "log_id";
export const KEY_SESSION_TIME = "session_time";
export const KEY_OWNER = "namespace_owner_update";
export const KEY_CREATOR = "namespace_creator";
export const KEY_DRAFTING = "namespace_drafting";
export const KEY_TERMS = "terms_time";
/** The index of words of earlier versions. */
const EARLIER_WORDS = "words_time";
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

export function collectionsOf(db: Db): MongoCollections {
  return {
    sessions: db.collection("sessions"),
    messages: db.collection("messages"),
    attachments: db.collection("attachments"),
    pieces: db.collection("attachment_pieces"),
    departures: db.collection("departures"),
    feeds: db.collection("feeds"),
    todos: db.collection("todos"),
    registers: db.collection("registers"),
    schema: db.collection("schema"),
  };
}

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

/**
 * Makes missing indexes, with `search` also the index of words, and stores the version; any number of processes may do
 * so at once. Resolves to what of messages is in the index of words; undefined where they are not searched. An index
 * never gets narrower, so that processes with different settings do not undo each other's work. `failed_precondition`:
 * a newer version made the database, or an index of the same name is defined differently.
 */
export async function prepareDatabase(
  db: Db,
  commands: MongoCommands,
  { search = false }: { readonly search?: SearchOption | undefined } = {},
): Promise<SearchScope | undefined> {
  const { schema } = collectionsOf(db);
  const found = await schema.findOne({ _id: "version" });
  if (found?.version !== undefined && found.version > SCHEMA_VERSION) {
    throw new DomainError(
      "failed_precondition",
      `Database ${JSON.stringify(db.databaseName)} has schema ${found.version}, made by a newer version; this one knows ${SCHEMA_VERSION}`,
    );
  }
  const isSearched = search === "existing" ? await hasSearch(db) : search !== false;
  const indexes = isSearched ? [...INDEXES, SEARCH_INDEX] : INDEXES;
  for (const collection of INDEXED) {
    await makeKeys(
      db,
      collection,
      indexes.filter((index) => index.collection === collection),
    );
  }
  const { version = SCHEMA_VERSION } = found ?? {};
  const { sessions } = collectionsOf(db);
  if (version < 5) await listSessions(sessions, commands);
  if (version < 6) await digestSessions(sessions, commands);
  await nameFeeds(schema, commands);
  await storeVersion(schema, commands, found);
  return isSearched ? await prepareSearch(db, commands, search) : undefined;
}

/**
 * Adds what lists find sessions by to those of an earlier version. The version is stored afterwards, so another start
 * goes on if this one is ended.
 */
function listSessions(sessions: MongoCollections["sessions"], commands: MongoCommands): Promise<void> {
  const missing = { tombstone: LIVING, title_key: { $exists: false } };
  return changeAll(sessions, commands, missing, ({ title }) => listingFields(title));
}

/** Adds the digests by which readers of the feed select sessions, also after their owner and labels have changed. */
function digestSessions(sessions: MongoCollections["sessions"], commands: MongoCommands): Promise<void> {
  const missing = {
    tombstone: LIVING,
    digests: { $exists: false },
    $or: [{ owner: { $exists: true } }, { labels: { $exists: true } }],
  };
  return changeAll(sessions, commands, missing, (document) => digestsOf(toRecord(document)));
}

/** Sets fields in the sessions that meet a condition, which those that have the fields no longer meet. */
async function changeAll(
  sessions: MongoCollections["sessions"],
  commands: MongoCommands,
  condition: Filter<RecordDocument>,
  fieldsOf: (document: RecordDocument) => Partial<RecordDocument>,
): Promise<void> {
  for (let after = ""; ; ) {
    const page = { limit: CHANGED_AT_ONCE, batchSize: CHANGED_AT_ONCE + 1 };
    const found = await commands.read(undefined, (limits) =>
      sessions
        .find({ _id: { $gt: after }, ...condition }, { ...limits, ...page })
        .sort({ _id: 1 })
        .hint("_id_")
        .toArray(),
    );
    const last = found.at(-1);
    if (last === undefined) return;
    const changes = found.map((document) => ({ document, fields: fieldsOf(document) }));
    const updates = changes
      .filter(({ fields }) => Object.keys(fields).length > 0)
      .map(({ document: { _id, revision }, fields }) => ({
        updateOne: { filter: { _id, revision, ...condition }, update: { $set: fields } },
      }));
    if (updates.length > 0) {
      await commands.settle(undefined, () =>
        commands.write(undefined, (limits) => sessions.bulkWrite(updates, { ...limits, ordered: false })),
      );
    }
    after = last._id;
  }
}

/** Gives the feeds of a new database their id. */
async function nameFeeds(schema: MongoCollections["schema"], commands: MongoCommands): Promise<void> {
  if (await schema.findOne({ _id: "feed" })) return;
  const feed_id = randomUUID();
  try {
    await commands.settle(undefined, () =>
      commands.write(undefined, (limits) =>
        schema.updateOne({ _id: "feed" }, { $setOnInsert: { feed_id } }, { ...limits, upsert: true }),
      ),
    );
  } catch (error) {
    if (!duplicateKey(error)) throw error;
  }
}

async function storeVersion(
  schema: MongoCollections["schema"],
  commands: MongoCommands,
  found: SchemaDocument | null,
): Promise<void> {
  if (found?.version === SCHEMA_VERSION) return;
  if (found) {
    await commands.settle(undefined, () =>
      commands.write(undefined, (limits) =>
        schema.updateOne(
          { _id: "version", version: { $lt: SCHEMA_VERSION } },
          { $set: { version: SCHEMA_VERSION } },
          limits,
        ),
      ),
    );
    return;
  }
  try {
    await commands.settle(undefined, () =>
      commands.write(undefined, (limits) => schema.insertOne({ _id: "version", version: SCHEMA_VERSION }, limits)),
    );
  } catch (error) {
    if (!duplicateKey(error)) throw error;
  }
}

/** Notes what the index of words is to have, unless it has that already, and drops one of earlier versions. */
async function prepareSearch(db: Db, commands: MongoCommands, search: SearchOption): Promise<SearchScope> {
  const { messages, schema } = collectionsOf(db);
  if (search === "all") {
    await commands.settle(undefined, () =>
      commands.write(undefined, (limits) =>
        schema.updateOne({ _id: "search" }, { $set: { indexed: "all" } }, { ...limits, upsert: true }),
      ),
    );
  }
  if (search !== "existing" && (await messages.indexExists(EARLIER_WORDS))) {
    // Several processes may do so.
    await messages.dropIndex(EARLIER_WORDS).catch(() => {});
  }
  return (await schema.findOne({ _id: "search" }))?.indexed ?? "text";
}

/** Whether the database has the index of words. */
async function hasSearch(db: Db): Promise<boolean> {
  const [collection] = await db.listCollections({ name: SEARCH_INDEX.collection }, { nameOnly: true }).toArray();
  return collection !== undefined && (await db.collection(SEARCH_INDEX.collection).indexExists(SEARCH_INDEX.name));
}

async function makeKeys(db: Db, collection: MongoIndex["collection"], wanted: readonly MongoIndex[]): Promise<void> {
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
