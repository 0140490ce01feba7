import type { Collection } from "mongodb";
import type { Call } from "../../domain/call.js";
import { DomainError } from "../../domain/errors.js";
import type { NextRecord } from "../history/log-store.js";
import type { MongoCommands } from "./mongo-commands.js";
import { duplicateKey } from "./mongo-errors.js";
import { type RecordDocument, toNewDocument } from "./record-document.js";
import type { SafeReads } from "./safe-reads.js";
import type { ServerClock } from "./server-clock.js";
import type { WriteIds } from "./write-ids.js";

/**
 * How long making a record may take from the first send to its answer. This is far less than the age at which sweeps
 * clear away deleted sessions.
 */
const LATE_MS = 60_000;

interface Parts {
  readonly commands: MongoCommands;
  readonly ids: WriteIds;
  readonly safeReads: SafeReads;
  readonly clock: Pick<ServerClock, "knownMs">;
}

/**
 * Adds records of one namespace. Its answers are definite: after `exists`, no earlier send can create the record any
 * more.
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

  create(record: NextRecord, call?: Call): Promise<"created" | "exists"> {
    const { commands, ids, clock } = this.#parts;
    const document = toNewDocument(this.#namespace, record, ids.next());
    const sentAtMs = clock.knownMs();
    return commands.settle(call, async (isRepeat) => {
      if (await this.#insert(document, call)) {
        if (isRepeat && clock.knownMs() - sentAtMs > LATE_MS) return this.#takeBack(document, call);
        return "created";
      }
      if (await this.#isThere(record.uid, call)) return "created";
      // Rule: repeated-create-unknown.
      return isRepeat ? this.#giveUp(record, call) : "exists";
    });
  }

  /** Returns false when a unique index refused it. Servers differ in which index they name. */
  async #insert(document: RecordDocument, call?: Call): Promise<boolean> {
    try {
      await this.#parts.commands.write(call, (limits) => this.#sessions.insertOne(document, limits));
      return true;
    } catch (error) {
      if (duplicateKey(error)) return false;
      throw error;
    }
  }

  /**
   * Another session has the id, but the first send may still be carried out once that session is deleted. A tombstone
   * with the same uid, which names nothing and is never swept, prevents that for ever. It is needed only once, and is
   * as small as a record can be.
   */
  async #giveUp(record: NextRecord, call?: Call): Promise<"created" | "exists"> {
    const { ids } = this.#parts;
    const nothing = {
      segments: [],
      namedLogs: [],
      drafts: [],
      dropped: [],
      ancestry: [],
      edits: [],
      sources: [],
      undo: null,
      origin: null,
    };
    const { metadata: _metadata, restoring: _restoring, ...rest } = record;
    const tombstone = toNewDocument(this.#namespace, { ...rest, ...nothing, title: "", deleted: true }, ids.next());
    const isOut = await this.#insert({ ...tombstone, sweep_time: null }, call);
    return isOut || !(await this.#isThere(record.uid, call)) ? "exists" : "created";
  }

  /**
   * Deletes the record that a late repeat has inserted, and rejects. The first send may have inserted the same record,
   * which may have been deleted and swept since; in that case the `forks` of its sources no longer count this session.
   */
  async #takeBack({ _id, write }: RecordDocument, call?: Call): Promise<never> {
    const { commands } = this.#parts;
    await commands.settle(call, () =>
      commands.write(call, (limits) => this.#sessions.deleteOne({ _id, write }, limits)),
    );
    throw new DomainError("unavailable", "The session was not created, because MongoDB took too long to answer");
  }

  /** Whether the uid belongs to a record of this very session, rather than to the tombstone that blocks it. */
  async #isThere(uid: string, call?: Call): Promise<boolean> {
    const { commands, safeReads } = this.#parts;
    const found = await commands.read(call, (limits) =>
      this.#sessions.findOne(
        { _id: uid },
        { ...limits, ...safeReads.options, projection: { tombstone: 1, sweep_time: 1 } },
      ),
    );
    return found !== null && !(found.tombstone === uid && found.sweep_time === null);
  }
}
