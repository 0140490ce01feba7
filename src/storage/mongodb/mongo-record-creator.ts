import type { Collection, Document } from "mongodb";
import type { Call } from "../../domain/call.js";
import { DomainError } from "../../domain/errors.js";
import { blockerOf, LATE_MS } from "../history/blocked-uid.js";
import type { NextRecord } from "../history/log-store.js";
import type { FeedPlaces } from "./feed-places.js";
import type { MongoCommands } from "./mongo-commands.js";
import { duplicateKey } from "./mongo-errors.js";
import { LIVING, type RecordDocument, toCreation, toNewDocument } from "./record-document.js";
import type { SafeReads } from "./safe-reads.js";
import type { ServerClock } from "./server-clock.js";
import type { WriteIds } from "./write-ids.js";

interface Parts {
  readonly commands: MongoCommands;
  readonly ids: WriteIds;
  readonly safeReads: SafeReads;
  readonly clock: Pick<ServerClock, "knownMs">;
  readonly places: FeedPlaces;
}

/**
 * Adds records of one namespace. Its answers are definite: after `exists`, no earlier send can create the record any
 * more. It never deletes a record, because somebody may use the session as soon as its record is stored.
 */
export class MongoRecordCreator {
  readonly #namespace: string;
  readonly #sessions: Collection<RecordDocument>;
  readonly #parts: Parts;

  constructor(namespace: string, sessions: Collection<RecordDocument>, parts: Parts) {
    this.#namespace = namespace;
    this.#sessions = sessions;
    this.#parts = parts;
  }

  async create(record: NextRecord, call?: Call): Promise<"created" | "exists"> {
    const { commands, ids, clock, places } = this.#parts;
    const document = toNewDocument(this.#namespace, record, ids.next());
    const creation = record.deleted ? undefined : toCreation(record, document, await places.next(call));
    const blocker = this.#blockerFor(record);
    const sentAtMs = clock.knownMs();
    const first = await commands.settle(call, async (isRepeat) => {
      // Rule: repeated-create-unknown.
      if (isRepeat) return this.#block(blocker, sentAtMs, call);
      if (await this.#insert(document, creation, call)) return "created";
      const found = await this.#find(record.uid, call);
      return found && !isBlocker(found) ? "created" : "exists";
    });
    const outcome = first === "blocked" ? await this.#unblock(blocker, document, creation, call) : first;
    if (outcome !== "unknown") return outcome;
    const id = JSON.stringify(record.sessionId);
    throw new DomainError("unavailable", `Whether session ${id} was created is unknown`);
  }

  /**
   * Inserts a blocker instead of a record whose first send has an unknown outcome. `created`: the record is there.
   * `blocked`: the first send has not been carried out and never will be. `unknown`: the record may have been there,
   * and may have been deleted and swept since. In that case the `forks` of its sources no longer count this session.
   */
  async #block(blocker: RecordDocument, sentAtMs: number, call?: Call): Promise<"created" | "blocked" | "unknown"> {
    if (!(await this.#insert(blocker, undefined, call))) {
      const found = await this.#find(blocker._id, call);
      if (found && !isBlocker(found)) return "created";
      if (!found?.write.equals(blocker.write)) return "unknown";
    }
    // Rule: late-create-unknown.
    return this.#parts.clock.knownMs() - sentAtMs > LATE_MS ? "unknown" : "blocked";
  }

  /**
   * Replaces the blocker by the record. If it is not there, an earlier send of this command has already replaced it.
   * `exists`: another session has the id, so the blocker stays. `unknown`: an earlier send may still arrive, once the
   * other session is deleted.
   */
  #unblock(
    { _id, namespace, session_id, write }: RecordDocument,
    document: RecordDocument,
    creation: Document[] | undefined,
    call?: Call,
  ): Promise<"created" | "exists" | "unknown"> {
    const { commands } = this.#parts;
    return commands.settle(call, async (isRepeat) => {
      try {
        const blocked = { _id, namespace, session_id, write };
        await commands.write(call, (limits) =>
          creation
            ? this.#sessions.updateOne(blocked, creation, limits)
            : this.#sessions.replaceOne(blocked, document, limits),
        );
        return "created";
      } catch (error) {
        if (!duplicateKey(error)) throw error;
        return isRepeat ? "unknown" : "exists";
      }
    });
  }

  /** Returns false when a unique index refused it. Servers differ in which index they name. */
  async #insert(document: RecordDocument, creation: Document[] | undefined, call?: Call): Promise<boolean> {
    const { _id, namespace, session_id } = document;
    // The server gives the place, which an insert cannot ask for. No document has this revision.
    const nothing = { _id, namespace, session_id, revision: -1 };
    try {
      await this.#parts.commands.write<unknown>(call, (limits) =>
        creation
          ? this.#sessions.updateOne(nothing, creation, { ...limits, upsert: true })
          : this.#sessions.insertOne(document, limits),
      );
      return true;
    } catch (error) {
      if (duplicateKey(error)) return false;
      throw error;
    }
  }

  /**
   * A tombstone with the same uid, which names nothing and is never swept. As long as it is there, no send of the
   * record is carried out.
   */
  #blockerFor(record: NextRecord): RecordDocument {
    return { ...toNewDocument(this.#namespace, blockerOf(record), this.#parts.ids.next()), sweep_time: null };
  }

  #find(uid: string, call?: Call): Promise<Pick<RecordDocument, "tombstone" | "sweep_time" | "write"> | null> {
    const { commands, safeReads } = this.#parts;
    const projection = { tombstone: 1, sweep_time: 1, write: 1 };
    return commands.read(call, (limits) =>
      this.#sessions.findOne({ _id: uid }, { ...limits, ...safeReads.options, projection }),
    );
  }
}

/** Whether a document only blocks a uid. Every other tombstone has a time from which a sweep has work with it. */
function isBlocker({ tombstone, sweep_time }: Pick<RecordDocument, "tombstone" | "sweep_time">): boolean {
  return tombstone !== LIVING && sweep_time === null;
}
