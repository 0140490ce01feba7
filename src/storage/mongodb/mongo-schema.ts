import { randomUUID } from "node:crypto";
import type { Db, Filter } from "mongodb";
import { DomainError } from "../../domain/errors.js";
import type { SearchOption, SearchScope } from "../../domain/search.js";
import { collectionsOf, type MongoCollections, type SchemaDocument } from "./mongo-collections.js";
import type { MongoCommands } from "./mongo-commands.js";
import { duplicateKey } from "./mongo-errors.js";
import { EARLIER_WORDS, INDEXED, INDEXES, makeIndexes, SEARCH_INDEX } from "./mongo-indexes.js";
import { LIVING, listingFields, type RecordDocument, toRecord } from "./record-document.js";
import { digestsOf } from "./record-feed.js";

/**
 * Increases with every change that an older version cannot read, and with every new field of a record, which an older
 * process would lose when it writes the record again. Since 2, sweeps mark what they may clear away, and records name
 * their logs and drafts. Since 3, they name their owners. Since 4, messages may name attachments. Since 5, they may
 * have usage, deleted sessions may be kept, and lists find sessions by their titles. Since 6, records have places in
 * the feed.
 */
export const SCHEMA_VERSION = 6;

/** How many sessions of an earlier version are changed at a time. */
const CHANGED_AT_ONCE = 500;

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
    await makeIndexes(
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
