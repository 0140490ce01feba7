import { type Collection, type Document, MongoNetworkError, MongoServerError } from "mongodb";
import { beforeEach, describe, expect, it } from "vitest";
import type { FeedPlaces } from "../../../../src/storage/mongodb/feed-places.js";
import { MongoCommands } from "../../../../src/storage/mongodb/mongo-commands.js";
import { MongoRecordCreator } from "../../../../src/storage/mongodb/mongo-record-creator.js";
import type { RecordDocument } from "../../../../src/storage/mongodb/record-document.js";
import { WriteIds } from "../../../../src/storage/mongodb/write-ids.js";
import { record } from "../../../contract/log-store/fixtures.js";

type Stored = { -readonly [field in keyof RecordDocument]: RecordDocument[field] };

/** What happens to one send of a record. */
type Fate = "done" | "done, answer lost" | "still on its way" | "not done";

/**
 * The collection of sessions with its unique keys. Each write that is sent meets the next of `fates`, or `done` if
 * there is none.
 */
class Sessions {
  readonly documents: Stored[] = [];
  fates: Fate[] = [];
  /** Called when the session "s" begins to live, before that is answered. */
  onLiving = (): void => {};
  /** Called when the answer to a send is lost. */
  onLost = (): void => {};
  readonly #onTheirWay: (() => void)[] = [];

  get collection(): Collection<RecordDocument> {
    return {
      insertOne: (document: Stored) => this.#send(() => this.#put(document)),
      // A pipeline that sets fields, and then replaces the document by a literal.
      updateOne: (current: Partial<Stored>, pipeline: Document[], { upsert = false }: { upsert?: boolean }) => {
        const document = pipeline[1]?.$replaceWith.$mergeObjects[0].$literal as Stored;
        return this.#send(() => (upsert ? this.#put(document) : this.#replace(current, document)));
      },
      findOne: this.#findOne.bind(this),
    } as never;
  }

  /** Carries out the writes that are still on their way. */
  arrive(): void {
    for (const effect of this.#onTheirWay.splice(0)) {
      try {
        effect();
      } catch (error) {
        expect(error).toBeInstanceOf(MongoServerError);
      }
    }
  }

  #put(document: Stored, replaced?: Stored): void {
    const isTaken = this.documents.some(
      (one) =>
        one !== replaced &&
        (one._id === document._id || (one.session_id === document.session_id && one.tombstone === document.tombstone)),
    );
    if (isTaken) throw new MongoServerError({ code: 11000, message: "E11000 duplicate key error" });
    if (replaced) this.documents.splice(this.documents.indexOf(replaced), 1);
    this.documents.push({ ...document });
    if (document.tombstone === "") this.onLiving();
  }

  #replace({ _id, write }: Partial<Stored>, document: Stored): void {
    const current = this.documents.find((one) => one._id === _id && write?.equals(one.write));
    if (current) this.#put(document, current);
  }

  living(sessionId: string): string[] {
    return this.documents.filter((one) => one.session_id === sessionId && one.tombstone === "").map(({ _id }) => _id);
  }

  async #send(effect: () => void): Promise<void> {
    const fate = this.fates.shift() ?? "done";
    if (fate === "still on its way") this.#onTheirWay.push(effect);
    if (fate.startsWith("done")) effect();
    if (fate === "done") return;
    this.onLost();
    throw new MongoNetworkError("lost");
  }

  async #findOne({ _id }: { _id: string }): Promise<Stored | null> {
    return this.documents.find((one) => one._id === _id) ?? null;
  }
}

describe("the creation of a record", () => {
  let sessions: Sessions;
  let knownMs: number;
  let creator: MongoRecordCreator;
  const child = record("u", { sessionId: "s", sources: ["parent"] });

  beforeEach(() => {
    sessions = new Sessions();
    knownMs = 5000;
    const safeReads = { options: { readConcern: { level: "linearizable" } } } as const;
    const parts = {
      commands: new MongoCommands(5000),
      ids: new WriteIds(),
      safeReads,
      clock: { knownMs: () => knownMs },
      places: { next: async () => ({}) } as unknown as FeedPlaces,
    };
    creator = new MongoRecordCreator("default", sessions.collection, parts);
  });

  async function createOther(): Promise<void> {
    expect(await creator.create(record("other", { sessionId: "s" }))).toBe("created");
  }

  function deleteOther(): void {
    const [other] = sessions.documents;
    if (other) other.tombstone = other._id;
  }

  it.each<Fate>(["done, answer lost", "not done", "still on its way"])(
    "happens once when the first send was %s",
    async (fate) => {
      sessions.fates = [fate];
      expect(await creator.create(child)).toBe("created");
      sessions.arrive();
      expect(sessions.living("s")).toEqual(["u"]);
    },
  );

  it("that was answered `exists` does not happen later by a send that is still on its way", async () => {
    await createOther();
    sessions.fates = ["still on its way"];
    expect(await creator.create(child)).toBe("exists");
    deleteOther();
    sessions.arrive();
    expect(sessions.living("s")).toEqual([]);
    expect(sessions.documents.find(({ _id }) => _id === "u")).toMatchObject({ sources: [], sweep_time: null });
  });

  it("that was answered `exists` does not happen later, even if answers to later sends are lost", async () => {
    await createOther();
    sessions.fates = ["still on its way", "not done", "done", "done, answer lost"];
    expect(await creator.create(child)).toBe("exists");
    deleteOther();
    sessions.arrive();
    expect(sessions.living("s")).toEqual([]);
  });

  it("happens by the first send if that arrives before its uid is blocked", async () => {
    await createOther();
    sessions.fates = ["still on its way", "not done"];
    sessions.onLost = () => {
      deleteOther();
      sessions.arrive();
    };
    expect(await creator.create(child)).toBe("created");
    expect(sessions.living("s")).toEqual(["u"]);
  });

  it("leaves nothing behind after `exists` when no send can be on its way", async () => {
    await createOther();
    expect(await creator.create(child)).toBe("exists");
    expect(sessions.documents).toHaveLength(1);
  });

  it("keeps a session that others use already, however late the answer arrives", async () => {
    sessions.fates = ["not done"];
    sessions.onLiving = () => {
      knownMs += 60_001;
    };
    expect(await creator.create(child)).toBe("created");
    expect(sessions.living("s")).toEqual(["u"]);
  });

  it("does not happen when its uid was blocked so late that the record may have been there and been swept", async () => {
    sessions.fates = ["still on its way"];
    sessions.onLost = () => {
      knownMs += 60_001;
    };
    await expect(creator.create(child)).rejects.toMatchObject({ code: "unavailable" });
    sessions.arrive();
    expect(sessions.living("s")).toEqual([]);
  });

  it("happens once when the answers to the first send, to the block and to the record in its place are lost", async () => {
    sessions.fates = ["still on its way", "done, answer lost", "done, answer lost"];
    expect(await creator.create(child)).toBe("created");
    sessions.arrive();
    expect(sessions.living("s")).toEqual(["u"]);
  });

  it("is unknown when another session has the id and the record may still be put in the place of the block", async () => {
    await createOther();
    sessions.fates = ["not done", "done", "still on its way"];
    await expect(creator.create(child)).rejects.toMatchObject({ code: "unavailable" });
    deleteOther();
    sessions.arrive();
    expect(sessions.living("s")).toEqual(["u"]);
  });

  it("with a uid that is blocked is answered `exists`", async () => {
    await createOther();
    sessions.fates = ["not done"];
    expect(await creator.create(child)).toBe("exists");
    deleteOther();
    expect(await creator.create(child)).toBe("exists");
    expect(sessions.living("s")).toEqual([]);
  });
});
