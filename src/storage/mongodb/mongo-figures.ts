import { type Db, type Filter, MongoServerError } from "mongodb";
import type { Call } from "../../domain/call.js";
import { MOST_UNINDEXED, type StoreFigures } from "../history/log-store.js";
import { collectionsOf } from "./mongo-collections.js";
import { KEY_DRAFTING, KEY_TERMS } from "./mongo-indexes.js";
import type { MongoShared } from "./mongo-log-store.js";
import { LIVING, type RecordDocument } from "./record-document.js";
import { MARKS } from "./search-words.js";

const COMMAND_NOT_FOUND = 59;
const COMMAND_NOT_SUPPORTED = 115;

/** Figures of a database that holds these namespaces. Each query follows an index. */
export async function readFigures(
  shared: MongoShared,
  namespaces: readonly string[],
  call?: Call,
): Promise<StoreFigures> {
  const nowMs = await shared.clock.timeMs(call);
  let sessions = 0;
  let openDrafts = 0;
  let unsweptAgeMs = 0;
  for (const namespace of namespaces) {
    sessions += await countLiving(shared, namespace, call);
    openDrafts += await countDrafts(shared, namespace, call);
    const marked = { namespace, forks: 0, sweep_time: { $gt: new Date(0) }, restoring: { $exists: false } };
    const mark = await first(shared, marked, "sweep_time", call);
    const expiring = { namespace, tombstone: LIVING, expire_time: { $gt: Number.MIN_SAFE_INTEGER } };
    const expiry = await first(shared, expiring, "expire_time", call);
    if (mark?.sweep_time) unsweptAgeMs = Math.max(unsweptAgeMs, nowMs - mark.sweep_time.getTime());
    if (expiry?.expire_time) unsweptAgeMs = Math.max(unsweptAgeMs, nowMs - Number(expiry.expire_time) / 1000);
  }
  const bytes = await sizeOf(shared, call);
  return { bytes, sessions, openDrafts, unsweptAgeMs, unindexed: await countUnindexed(shared, call) };
}

/** Undefined where the server does not know the command. */
async function sizeOf({ db, commands }: MongoShared, call?: Call): Promise<number | undefined> {
  try {
    const { storageSize, indexSize } = await commands.read(call, (limits) => statsOf(db, limits));
    return Number(storageSize) + Number(indexSize);
  } catch (error) {
    const { cause } = error as Error;
    const code = cause instanceof MongoServerError ? cause.code : undefined;
    if (code === COMMAND_NOT_FOUND || code === COMMAND_NOT_SUPPORTED) return undefined;
    throw error;
  }
}

function statsOf(db: Db, limits: object) {
  return db.command({ dbStats: 1 }, limits);
}

function countLiving({ db, commands }: MongoShared, namespace: string, call?: Call): Promise<number> {
  const { sessions } = collectionsOf(db);
  return commands.read(call, (limits) =>
    sessions.countDocuments({ namespace, tombstone: LIVING }, { ...limits, hint: "namespace_update" }),
  );
}

async function countDrafts({ db, commands }: MongoShared, namespace: string, call?: Call): Promise<number> {
  const { sessions } = collectionsOf(db);
  const drafting = { namespace, drafting: true, tombstone: LIVING } as const;
  return commands.read(call, async (limits) => {
    const options = { ...limits, projection: { _id: 0, "drafts.end": 1 }, hint: KEY_DRAFTING };
    let open = 0;
    for await (const { drafts = [] } of sessions.find(drafting, options))
      open += drafts.filter(({ end }) => end === undefined).length;
    return open;
  });
}

/** The record with the least value of a field, of which only times are read. */
function first(
  { db, commands }: MongoShared,
  filter: Filter<RecordDocument>,
  field: "sweep_time" | "expire_time",
  call?: Call,
): Promise<Pick<RecordDocument, "sweep_time" | "expire_time"> | null> {
  const { sessions } = collectionsOf(db);
  const projection = { _id: 0, sweep_time: 1, expire_time: 1 } as const;
  return commands.read(call, (limits) =>
    sessions.findOne(filter, { ...limits, projection, sort: { [field]: 1 } } as never),
  );
}

async function countUnindexed({ db, commands, indexed }: MongoShared, call?: Call): Promise<number | undefined> {
  if (!indexed) return undefined;
  const { messages } = collectionsOf(db);
  let count = 0;
  for (const terms of indexed === "all" ? [null, MARKS.text] : [null]) {
    count += await commands.read(call, (limits) =>
      messages.countDocuments({ terms } as never, { ...limits, limit: MOST_UNINDEXED, hint: KEY_TERMS }),
    );
  }
  return Math.min(count, MOST_UNINDEXED);
}
