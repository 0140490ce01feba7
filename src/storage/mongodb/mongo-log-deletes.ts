import type { Collection } from "mongodb";
import type { Call } from "../../domain/call.js";
import type { Segment } from "../history/log-store.js";
import type { LogDocument } from "./entry-document.js";
import type { MongoCommands } from "./mongo-commands.js";
import type { RecordDocument } from "./record-document.js";

/** How many uids one query looks up. */
const UIDS = 100;
const BEHIND_ALL = "\u{10FFFF}";

/** Deletes entries for sweeps and repairs. */
export class MongoLogDeletes {
  readonly #messages: Collection<LogDocument>;
  readonly #sessions: Collection<RecordDocument>;
  readonly #commands: MongoCommands;

  constructor(messages: Collection<LogDocument>, sessions: Collection<RecordDocument>, commands: MongoCommands) {
    this.#messages = messages;
    this.#sessions = sessions;
    this.#commands = commands;
  }

  /** Finds the places first and deletes them by range, because a delete has no limit of its own. */
  async delete(target: { readonly uid: string } | Segment, limit: number, call?: Call): Promise<boolean> {
    const filter =
      "uid" in target
        ? { log: { $gte: `${target.uid}.`, $lt: afterUid(target.uid) } }
        : { log: target.log, seq: { $gte: target.first, $lte: target.last } };
    const sort = "uid" in target ? ({ log: 1, seq: 1 } as const) : ({ seq: 1 } as const);
    const places = await this.#commands.read(call, (limits) =>
      this.#messages
        .find(filter, { ...limits, projection: { _id: 0, log: 1, seq: 1 }, limit, batchSize: limit + 1 })
        .sort(sort)
        .toArray(),
    );
    for (const { log, first, last } of rangesOf(places)) {
      const range = { log, seq: { $gte: first, $lte: last } };
      await this.#commands.settle(call, () =>
        this.#commands.write(call, (limits) => this.#messages.deleteMany(range, limits)),
      );
    }
    return places.length === limit;
  }

  async listOrphans(limit: number, call?: Call): Promise<readonly string[]> {
    const orphans: string[] = [];
    for (let after = ""; orphans.length < limit; ) {
      const uids = await this.#ownersAfter(after, call);
      const last = uids.at(-1);
      if (last === undefined) break;
      const known = await this.#knownOf(uids, call);
      orphans.push(...uids.filter((uid) => !known.has(uid)));
      after = afterUid(last);
    }
    return orphans.slice(0, limit);
  }

  /** The next uids that own entries; asks the index for the first log after each. */
  async #ownersAfter(after: string, call?: Call): Promise<readonly string[]> {
    const uids: string[] = [];
    for (let from = after; uids.length < UIDS; ) {
      const [next] = await this.#commands.read(call, (limits) =>
        this.#messages
          .find(
            { log: { $gte: from, $lt: BEHIND_ALL } },
            { ...limits, projection: { _id: 0, log: 1 }, limit: 1, batchSize: 2 },
          )
          .sort({ log: 1, seq: 1 })
          .toArray(),
      );
      if (!next) break;
      const uid = next.log.slice(0, next.log.indexOf("."));
      uids.push(uid);
      from = afterUid(uid);
    }
    return uids;
  }

  async #knownOf(uids: readonly string[], call?: Call): Promise<ReadonlySet<string>> {
    const found = await this.#commands.read(call, (limits) =>
      this.#sessions
        .find({ _id: { $in: [...uids] } }, { ...limits, projection: { _id: 1 }, batchSize: UIDS + 1 })
        .toArray(),
    );
    return new Set(found.map(({ _id }) => _id));
  }
}

/** The first name after all logs of a uid, because "/" follows ".". */
function afterUid(uid: string): string {
  return `${uid}/`;
}

function rangesOf(places: readonly Pick<LogDocument, "log" | "seq">[]): Segment[] {
  const ranges = new Map<string, Segment>();
  for (const { log, seq } of places) ranges.set(log, { log, first: ranges.get(log)?.first ?? seq, last: seq });
  return [...ranges.values()];
}
