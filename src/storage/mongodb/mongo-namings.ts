import type { Collection, Document, Filter } from "mongodb";
import type { Call } from "../../domain/call.js";
import type { Naming, Segment } from "../history/log-store.js";
import type { LogDocument, MessageDocument } from "./entry-document.js";
import type { MongoCommands } from "./mongo-commands.js";
import { KEY_NAMED, KEY_TARGET } from "./mongo-indexes.js";

type NamingDocument = Pick<MessageDocument, "log" | "seq" | "named">;
/** One of several that a document holds. */
interface UnwoundNaming extends Pick<MessageDocument, "log" | "seq"> {
  readonly named: { readonly id: string; readonly log: string };
}

const FIELDS = { _id: 0, log: 1, seq: 1, named: 1 } as const;
/** The documents that the indexes of names hold. Every query says so, or the server does not use them. */
const NAMING = { named: { $exists: true } } as const;

/**
 * Finds what names attachments. Each document of a message lists what it names, so that both are written in one step,
 * and two indexes hold these lists and nothing else.
 */
export class MongoNamings {
  readonly #messages: Collection<LogDocument>;
  readonly #commands: MongoCommands;

  constructor(messages: Collection<LogDocument>, commands: MongoCommands) {
    this.#messages = messages;
    this.#commands = commands;
  }

  async of(
    target: string,
    after: { readonly log: string; readonly seq: number } | undefined,
    limit: number,
    call?: Call,
  ): Promise<readonly Naming[]> {
    const following = after && { $or: [{ log: after.log, seq: { $gt: after.seq } }, { log: { $gt: after.log } }] };
    const found = await this.#commands.read(call, (limits) =>
      this.#messages
        .find({ ...NAMING, "named.log": target, ...following } as Filter<LogDocument>, {
          ...{ ...limits, projection: FIELDS, hint: KEY_TARGET, limit, batchSize: limit + 1 },
        })
        .sort({ log: 1, seq: 1 })
        .toArray(),
    );
    return namingsOf(found).filter((one) => one.target === target);
  }

  async find(logs: readonly string[], attachmentIds: readonly string[], call?: Call): Promise<readonly Naming[]> {
    if (logs.length === 0 || attachmentIds.length === 0) return [];
    const ids = new Set(attachmentIds);
    const filter = { ...NAMING, log: { $in: [...new Set(logs)] }, "named.id": { $in: [...ids] } };
    const found = await this.#commands.read(call, (limits) =>
      this.#messages.find(filter as Filter<LogDocument>, { ...limits, projection: FIELDS, hint: KEY_NAMED }).toArray(),
    );
    return namingsOf(found).filter(({ attachmentId }) => ids.has(attachmentId));
  }

  /** An index cannot put the members of lists in order, so all that these logs name after the id is sorted. */
  async list(logs: readonly string[], afterId: string, limit: number, call?: Call): Promise<readonly Naming[]> {
    if (logs.length === 0) return [];
    const after = { "named.id": { $gt: afterId } };
    const found = await this.#unwind(
      { log: { $in: [...new Set(logs)] }, ...after },
      [{ $match: after }, { $sort: { "named.id": 1, log: 1, seq: 1 } }, { $limit: limit }],
      call,
    );
    return (found as unknown as readonly UnwoundNaming[]).map(({ log, seq, named }) => ({
      ...{ log, seq, attachmentId: named.id, target: named.log },
    }));
  }

  async targetsIn(
    where: Segment | { readonly foreignTo: string },
    limit: number,
    call?: Call,
  ): Promise<readonly string[]> {
    const [match, wanted] =
      "foreignTo" in where
        ? [
            { log: { $gte: `${where.foreignTo}.`, $lt: `${where.foreignTo}/` } },
            [{ $match: foreignTo(where.foreignTo) }],
          ]
        : [{ log: where.log, seq: { $gte: where.first, $lte: where.last } }, []];
    // One target is found without reading all.
    const each = limit === 1 ? [] : [{ $group: { _id: "$named.log", named: { $first: "$named" } } }];
    const found = await this.#unwind(match, [...wanted, ...each, { $limit: limit }], call);
    return (found as unknown as readonly UnwoundNaming[]).map(({ named }) => named.log);
  }

  #unwind(match: object, stages: readonly Document[], call?: Call): Promise<readonly Document[]> {
    const pipeline = [{ $match: { ...NAMING, ...match } }, { $project: FIELDS }, { $unwind: "$named" }, ...stages];
    return this.#commands.read(call, (limits) =>
      this.#messages.aggregate(pipeline, { ...limits, hint: KEY_NAMED }).toArray(),
    );
  }
}

function foreignTo(uid: string): object {
  return { $or: [{ "named.log": { $lt: `${uid}.` } }, { "named.log": { $gte: `${uid}/` } }] };
}

function namingsOf(documents: readonly unknown[]): Naming[] {
  return (documents as readonly NamingDocument[]).flatMap(({ log, seq, named = [] }) =>
    named.map(({ id, log: target }) => ({ log, seq, attachmentId: id, target })),
  );
}
