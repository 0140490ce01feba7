import type { Collection, Filter } from "mongodb";
import type { Call } from "../../domain/call.js";
import type { MessageIdentity } from "../../domain/erasure.js";
import type { SearchScope } from "../../domain/search.js";
import type { Entry, OwnedPlace, SessionRecord } from "../history/log-store.js";
import { ownerOf } from "../history/record-facts.js";
import { int64, isMessage, type LogDocument, namedIn, toEntry, usageIn } from "./entry-document.js";
import type { MongoCommands } from "./mongo-commands.js";
import { KEY_LOG_ID, KEY_LOG_SEQ, KEY_SESSION_TIME } from "./mongo-indexes.js";
import { termsField } from "./search-words.js";

/** Finds the copies of a message and overwrites their content. */
export class MongoErasures {
  readonly #namespace: string;
  readonly #messages: Collection<LogDocument>;
  readonly #commands: MongoCommands;
  readonly #indexed: SearchScope;

  /** `indexed`: what of messages their words are. */
  constructor(namespace: string, messages: Collection<LogDocument>, commands: MongoCommands, indexed: SearchScope) {
    this.#indexed = indexed;
    this.#namespace = namespace;
    this.#messages = messages;
    this.#commands = commands;
  }

  /** Every log of a session carries its id, so the index of times leads to the places without scanning the logs. */
  async findCopies(
    owners: readonly Pick<SessionRecord, "uid" | "sessionId">[],
    message: MessageIdentity,
    call?: Call,
  ): Promise<readonly Entry[]> {
    if (owners.length === 0) return [];
    const uids = new Set(owners.map(({ uid }) => uid));
    const sessions = [...new Set(owners.map(({ sessionId }) => sessionId))];
    const found = await this.#commands.read(call, (limits) =>
      this.#messages
        .find(
          { session_id: { $in: sessions }, timestamp: int64(message.timestampMicros), id: message.id },
          { ...limits, hint: KEY_SESSION_TIME },
        )
        .toArray(),
    );
    return found
      .filter(isMessage)
      .map(toEntry)
      .filter(({ log, originSessionId }) => uids.has(ownerOf(log)) && originSessionId === message.originSessionId);
  }

  async findOwned(uid: string, id: string, call?: Call): Promise<readonly Entry[]> {
    const found = await this.#commands.read(call, (limits) =>
      this.#messages.find({ log: { $gte: `${uid}.`, $lt: `${uid}/` }, id }, { ...limits, hint: KEY_LOG_ID }).toArray(),
    );
    return found.filter(isMessage).map(toEntry);
  }

  async listOwned(
    uid: string,
    after: OwnedPlace | undefined,
    limit: number,
    call?: Call,
  ): Promise<readonly OwnedPlace[]> {
    const logs = { log: { $gte: `${uid}.`, $lt: `${uid}/` } };
    const following = after && { $or: [{ log: after.log, seq: { $gt: after.seq } }, { log: { $gt: after.log } }] };
    const found = await this.#commands.read(call, (limits) =>
      this.#messages
        .find(
          { ...logs, ...following, seal: { $exists: false } },
          {
            ...limits,
            hint: KEY_LOG_SEQ,
            sort: { log: 1, seq: 1 },
            limit,
            projection: { body: 0, words: 0, terms: 0 },
          },
        )
        .toArray(),
    );
    return found.filter(isMessage).map(({ log, seq, origin, session_id }) => ({
      log,
      seq,
      originSessionId: origin ?? session_id,
    }));
  }

  /** Always sets the words, too: whether the document has any depends on the process that stored it. */
  async overwriteEntries(entries: readonly Entry[], call?: Call): Promise<void> {
    for (const { log, seq, id, body: next } of entries) {
      const body = next.encode();
      const names = next.attachments.length > 0;
      const terms = termsField(this.#namespace, { id, body: next }, this.#indexed);
      const update = (more: { readonly usage?: string }) =>
        names
          ? { $set: { body, terms, named: namedIn({ body: next }), ...more }, $unset: { words: "" as const } }
          : { $set: { body, terms, ...more }, $unset: { named: "" as const, words: "" as const } };
      const set = (filter: Filter<LogDocument>, more: { readonly usage?: string }) =>
        this.#commands.settle(call, () =>
          this.#commands.write(call, (limits) =>
            this.#messages.updateOne({ log, seq, id, ...filter }, update(more), limits),
          ),
        );
      // A document never gets usage or loses it, so the second is sent only for one that has none.
      const hasUsage = next.usage !== undefined;
      const isDone =
        hasUsage && (await set({ usage: { $exists: true } }, { usage: usageIn({ body: next }) })).matchedCount;
      if (!isDone) await set({}, {});
    }
  }
}
