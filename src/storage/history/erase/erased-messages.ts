import type { Call } from "../../../domain/call.js";
import { isSameMessage, type MessageIdentity } from "../../../domain/erasure.js";
import { notFound } from "../../../domain/errors.js";
import type { HistoryContext } from "../heads.js";
import type { Entry, SessionRecord } from "../log-store.js";
import { locate } from "../read/lookup.js";
import { openSegments } from "../read/pieces.js";
import { recordBatches } from "../record-batches.js";
import { isWritable, openDrafts, ownerOf } from "../record-facts.js";
import { logsOf, namedMessages, namedSegments, OPEN_END } from "../segments.js";
import { draftLogs, endedLogs } from "./erased-drafts.js";
import { ErasedPlaces } from "./erased-places.js";

/** What an erasure overwrites. */
export interface ErasureTarget {
  readonly messages: readonly MessageIdentity[];
  /** The sessions, living or deleted, whose ended drafts with this id are emptied. */
  readonly sessionIds: ReadonlySet<string>;
  readonly messageId: string;
}

/** Finds what is stored under an id of a session, whether the session shows it, has dropped it, or was deleted. */
export class ErasedMessages {
  readonly #context: HistoryContext;

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  /**
   * The messages that are meant by an id of a session. If the session shows a message with this id, that is the one;
   * and with it come other messages that were stored under the id, in this session or in the one that the message comes
   * from, if no session shows them any more. If the session shows none, all messages stored under the id are meant,
   * even if other sessions show them. `not_found`: there are none.
   */
  find(sessionId: string, messageId: string, call: Call): Promise<ErasureTarget> {
    const { store } = this.#context;
    return this.#context.retrying(sessionId, call, async (saw) => {
      const living = await store.readRecord(sessionId, call);
      if (living) saw(living);
      const located = living && (await locate(this.#context, openSegments(living), [messageId], call));
      const visible = located?.get(messageId)?.entry;
      const sessionIds = new Set([sessionId, ...(visible ? [visible.originSessionId] : [])]);
      const others: Entry[] = [];
      let isKnown = living !== null;
      let hasDraft = false;
      for await (const records of recordBatches(store, call)) {
        for (const record of records.filter((one) => sessionIds.has(one.sessionId))) {
          isKnown = true;
          const found = await this.#storedIn(record, messageId, call);
          hasDraft ||= found.hasDraft;
          for (const entry of found.messages) {
            if (![...others, ...(visible ? [visible] : [])].some((one) => isSameMessage(one, entry)))
              others.push(entry);
          }
        }
      }
      const target = { sessionIds, messageId };
      if (visible) return { ...target, messages: [visible, ...(await this.#invisible(others, call))] };
      if (others.length > 0 || hasDraft) return { ...target, messages: others };
      if (living) await this.#context.checkCurrent(living, call);
      throw isKnown ? notFound("Message", messageId) : notFound("Session", sessionId);
    });
  }

  /** What is stored under an id in the logs that a record owns or names, and whether a draft of it has ended there. */
  async #storedIn(record: SessionRecord, messageId: string, call: Call) {
    const { store } = this.#context;
    const { uid } = record;
    const drafts = await draftLogs(this.#context, uid, messageId, call);
    const foreign = logsOf(namedSegments(record)).filter((log) => ownerOf(log) !== uid);
    const found = [
      ...(await store.findOwned(uid, messageId, call)),
      ...(foreign.length === 0 ? [] : await store.findById(foreign, [messageId], call)),
    ];
    // The message of a draft whose id was taken has the name of the draft's log as its id.
    for (const log of drafts) found.push(...(await store.findOwned(uid, log, call)));
    // A draft is named before its first entry is written. So a record that is read after the entries names those that
    // are open.
    const now = await store.readRecordByUid(uid, call);
    const ofDrafts = new Set([...drafts, ...(now ? openDrafts(now).map(({ log }) => log) : [])]);
    return {
      messages: found.filter(({ log }) => !ofDrafts.has(log)),
      hasDraft: (await endedLogs(this.#context, record, drafts, call)).length > 0,
    };
  }

  /** Those of these messages that no session shows, or could show again after an unrevert. */
  async #invisible(messages: readonly Entry[], call: Call): Promise<readonly MessageIdentity[]> {
    if (messages.length === 0) return [];
    const { store } = this.#context;
    const found = messages.map((message) => ({ message, places: new ErasedPlaces() }));
    for await (const records of recordBatches(store, call)) {
      for (const { message, places } of found) {
        for (const entry of await store.findCopies(records, message, call)) places.add(entry, false);
      }
    }
    const visible = new Set<Entry>();
    for await (const records of recordBatches(store, call)) {
      for (const record of records.filter(isWritable)) {
        const segments = reachable(record);
        for (const { message, places } of found) if (places.within(segments)) visible.add(message);
      }
    }
    return messages.filter((message) => !visible.has(message));
  }
}

/** The messages that a record names, and all of the logs that are being written. */
function reachable(record: SessionRecord) {
  const written = record.namedLogs.filter(({ purpose }) => purpose === "copy");
  const logs = [record.log, ...written.map(({ log }) => log)];
  return [...namedMessages(record), ...logs.map((log) => ({ log, first: 1, last: OPEN_END }))];
}
