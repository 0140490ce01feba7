import type { Collection, Filter, ObjectId } from "mongodb";
import type { Call } from "../../domain/call.js";
import { DomainError } from "../../domain/errors.js";
import type { NextRecord, SessionRecord } from "../history/log-store.js";
import type { FeedPlaces } from "./feed-places.js";
import type { MongoCommands } from "./mongo-commands.js";
import type { MongoDepartures } from "./mongo-departures.js";
import { duplicateKey } from "./mongo-errors.js";
import { MongoRecordCreator } from "./mongo-record-creator.js";
import { LIVING, type RecordDocument, toRecord, toReplacement } from "./record-document.js";
import type { SafeReads } from "./safe-reads.js";
import type { ServerClock } from "./server-clock.js";
import type { WriteIds } from "./write-ids.js";

interface Parts {
  readonly commands: MongoCommands;
  readonly ids: WriteIds;
  readonly safeReads: SafeReads;
  readonly clock: Pick<ServerClock, "knownMs">;
  readonly places: FeedPlaces;
  readonly departures: MongoDepartures;
}

/** Makes, reads and replaces single records of one namespace, the latter by compare-and-set. */
export class MongoRecords {
  readonly #namespace: string;
  readonly #sessions: Collection<RecordDocument>;
  readonly #commands: MongoCommands;
  readonly #ids: WriteIds;
  readonly #safeReads: SafeReads;
  readonly #places: FeedPlaces;
  readonly #departures: MongoDepartures;
  readonly #creator: MongoRecordCreator;

  constructor(namespace: string, sessions: Collection<RecordDocument>, parts: Parts) {
    this.#namespace = namespace;
    this.#sessions = sessions;
    this.#commands = parts.commands;
    this.#ids = parts.ids;
    this.#safeReads = parts.safeReads;
    this.#places = parts.places;
    this.#departures = parts.departures;
    this.#creator = new MongoRecordCreator(namespace, sessions, parts);
  }

  create(record: NextRecord, call?: Call): Promise<"created" | "exists"> {
    return this.#creator.create(record, call);
  }

  async read(sessionId: string, call?: Call): Promise<SessionRecord | null> {
    const document = await this.#findOne(this.#living(sessionId), call);
    return document && toRecord(document);
  }

  async raiseForks(sessionId: string, call?: Call): Promise<SessionRecord | null> {
    const document = await this.#commands.writeOnce(call, (limits) =>
      this.#sessions.findOneAndUpdate(
        this.#living(sessionId),
        { $inc: { forks: 1 } },
        { ...limits, returnDocument: "after" },
      ),
    );
    return document && toRecord(document);
  }

  async replace(record: NextRecord, ifRevision: number, call?: Call): Promise<SessionRecord | null> {
    const write = this.#ids.next();
    // Rule: compare-and-set. The session id selects the shard.
    const current = {
      _id: record.uid,
      namespace: this.#namespace,
      session_id: record.sessionId,
      revision: ifRevision,
    };
    const replacement = await this.#replacement(record, write, call);
    const outcome = await this.#commands.settle(call, async (isRepeat) => {
      const document = await this.#commands.write(call, (limits) =>
        this.#sessions.findOneAndUpdate(current, replacement, { ...limits, returnDocument: "after" }),
      );
      return document ?? (isRepeat ? this.#outcomeOf(record.uid, ifRevision, write, call) : null);
    });
    if (outcome === null) return null;
    if (outcome !== "unknown") {
      if (outcome.departures) await this.#departures.move(outcome, call);
      return toRecord(outcome);
    }
    const id = JSON.stringify(record.sessionId);
    throw new DomainError("unavailable", `Whether the change of session ${id} was made is unknown`);
  }

  async revive(record: NextRecord, ifRevision: number, call?: Call): Promise<SessionRecord | "exists" | null> {
    const write = this.#ids.next();
    const current = {
      _id: record.uid,
      namespace: this.#namespace,
      session_id: record.sessionId,
      revision: ifRevision,
    };
    const replacement = await this.#replacement(record, write, call);
    const outcome = await this.#commands.settle(call, async (isRepeat) => {
      try {
        const document = await this.#commands.write(call, (limits) =>
          this.#sessions.findOneAndUpdate(current, replacement, { ...limits, returnDocument: "after" }),
        );
        if (document) return document;
      } catch (error) {
        if (!duplicateKey(error)) throw error;
        // An earlier send may still arrive, once the other session is deleted.
        return isRepeat ? "unknown" : "exists";
      }
      return isRepeat ? this.#outcomeOf(record.uid, ifRevision, write, call) : null;
    });
    if (outcome === null || outcome === "exists") return outcome;
    if (outcome !== "unknown") return toRecord(outcome);
    const id = JSON.stringify(record.sessionId);
    throw new DomainError("unavailable", `Whether session ${id} was brought back is unknown`);
  }

  async publish(record: NextRecord, call?: Call): Promise<"published" | "exists" | "gone"> {
    const write = this.#ids.next();
    const hidden = {
      _id: record.uid,
      namespace: this.#namespace,
      session_id: record.sessionId,
      restoring: true as const,
    };
    const replacement = await this.#replacement(record, write, call, { nextRevision: true });
    const outcome = await this.#commands.settle(call, async (isRepeat) => {
      try {
        const { matchedCount } = await this.#commands.write(call, (limits) =>
          this.#sessions.updateOne(hidden, replacement, limits),
        );
        if (matchedCount === 1) return "published";
      } catch (error) {
        if (!duplicateKey(error)) throw error;
        return isRepeat ? "unknown" : "exists";
      }
      const found = await this.#findOne({ _id: record.uid }, call);
      if (found?.tombstone === LIVING) return "published";
      // The session may have been published, forked and deleted since. After `gone`, the caller would delete its
      // messages, which the fork shows.
      return isRepeat && found ? "unknown" : "gone";
    });
    if (outcome !== "unknown") return outcome;
    const id = JSON.stringify(record.sessionId);
    throw new DomainError("unavailable", `Whether session ${id} was restored is unknown`);
  }

  async readByUid(uid: string, call?: Call): Promise<SessionRecord | null> {
    const document = await this.#findOne({ _id: uid, namespace: this.#namespace }, call);
    return document && toRecord(document);
  }

  async addFork(uid: string, delta: 1 | -1, call?: Call): Promise<boolean> {
    const filter = { _id: uid, namespace: this.#namespace };
    const { matchedCount } = await this.#commands.writeOnce(call, (limits) =>
      this.#sessions.updateOne(filter, { $inc: { forks: delta } }, limits),
    );
    return matchedCount === 1;
  }

  async delete(uid: string, call?: Call): Promise<boolean> {
    // A tombstone without this time only blocks its uid, and must stay.
    const dead = { _id: uid, namespace: this.#namespace, tombstone: uid, sweep_time: { $ne: null } };
    const told = { ...dead, departures: { $exists: false } };
    const remove = () => this.#commands.writeOnce(call, (limits) => this.#sessions.deleteOne(told, limits));
    if ((await remove()).deletedCount === 1) return true;
    const document = await this.#findOne(dead, call);
    if (!document?.departures) return false;
    await this.#departures.moveNow(document, call);
    return (await remove()).deletedCount === 1;
  }

  async #replacement(record: NextRecord, write: ObjectId, call?: Call, options: { nextRevision?: true } = {}) {
    const place = await this.#places.next(call);
    return toReplacement(this.#namespace, record, write, { place, ...options });
  }

  /**
   * The outcome of a write whose answer was lost. `unknown`: the record has been changed since, after this write or
   * another one.
   */
  async #outcomeOf(
    uid: string,
    ifRevision: number,
    write: ObjectId,
    call?: Call,
  ): Promise<RecordDocument | null | "unknown"> {
    const document = await this.#findOne({ _id: uid }, call);
    if (document?.write.equals(write)) return document;
    return document?.revision === ifRevision + 1 ? null : "unknown";
  }

  #living(sessionId: string): Filter<RecordDocument> {
    return { namespace: this.#namespace, session_id: sessionId, tombstone: LIVING };
  }

  #findOne(filter: Filter<RecordDocument>, call?: Call): Promise<RecordDocument | null> {
    return this.#commands.read(call, (limits) =>
      this.#sessions.findOne(filter, { ...limits, ...this.#safeReads.options }),
    );
  }
}
