import { type Collection, MongoNetworkError, ObjectId } from "mongodb";
import { expect, it } from "vitest";
import type { NextRecord } from "../../../../src/storage/history/log-store.js";
import type { FeedPlaces } from "../../../../src/storage/mongodb/feed-places.js";
import type { MongoCollections } from "../../../../src/storage/mongodb/mongo-collections.js";
import { MongoCommands } from "../../../../src/storage/mongodb/mongo-commands.js";
import { MongoDepartures } from "../../../../src/storage/mongodb/mongo-departures.js";
import { MongoRecords } from "../../../../src/storage/mongodb/mongo-records.js";
import type { RecordDocument } from "../../../../src/storage/mongodb/record-document.js";
import { WriteIds } from "../../../../src/storage/mongodb/write-ids.js";

const record: NextRecord = {
  uid: "u1",
  sessionId: "s",
  parentId: "",
  forkPointId: "",
  inheritedCount: 0,
  title: "",
  createTimeMicros: 1,
  updateTimeMicros: 1,
  origin: null,
  revision: 4,
  sessionRevision: 1,
  segments: [],
  log: "u1.1",
  lastTimestampMicros: 0,
  ancestry: [],
  undo: null,
  namedLogs: [],
  drafts: [],
  rollovers: { count: 0, atMs: 0 },
  dropped: [],
  edits: [],
  sources: [],
  deleted: false,
  markedAtMs: null,
};

/** Records in a collection that loses its first answer, and then holds another writer's record at this revision. */
function recordsThatHold(revision: number | null): MongoRecords {
  let sends = 0;
  const sessions = {
    findOneAndUpdate: async () => {
      if (sends++ === 0) throw new MongoNetworkError("lost");
      return null;
    },
    findOne: async () => (revision === null ? null : { revision, write: new ObjectId() }),
  } as unknown as Collection<RecordDocument>;
  return recordsIn(sessions);
}

function recordsIn(sessions: Collection<RecordDocument>): MongoRecords {
  const safeReads = { options: { readConcern: { level: "majority" } } } as const;
  const commands = new MongoCommands(5000);
  return new MongoRecords("default", sessions, {
    ...{ commands, ids: new WriteIds(), safeReads, clock: { knownMs: () => 0 } },
    places: { next: async () => ({}) } as unknown as FeedPlaces,
    departures: new MongoDepartures("default", { sessions } as MongoCollections, commands),
  });
}

it("replace returns null after a lost answer when another write came first", async () => {
  expect(await recordsThatHold(4).replace(record, 3)).toBeNull();
});

it.each([5, null])(
  "replace fails with unavailable after a lost answer when the record's revision is now %s",
  async (revision) => {
    await expect(recordsThatHold(revision).replace(record, 3)).rejects.toMatchObject({ code: "unavailable" });
  },
);

it.each([
  ["published", { tombstone: "" }],
  ["gone", null],
  ["unavailable", { tombstone: "u1" }],
])("publish answers %s when its first answer was lost and the record is now %j", async (answer, found) => {
  let sends = 0;
  const sessions = {
    updateOne: async () => {
      if (sends++ === 0) throw new MongoNetworkError("lost");
      return { matchedCount: 0 };
    },
    findOne: async () => found,
  } as unknown as Collection<RecordDocument>;
  const published = recordsIn(sessions).publish(record);
  expect(await published.catch(({ code }) => code)).toBe(answer);
});
