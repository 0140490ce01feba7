import { type Call, checkCall } from "../../../domain/call.js";
import { ERASED_BODY, isErased, isSameMessage, type MessageIdentity } from "../../../domain/erasure.js";
import { notFound } from "../../../domain/errors.js";
import type { EraseOptions, EraseReport } from "../../storage-provider.js";
import type { HistoryContext } from "../heads.js";
import type { SessionRecord } from "../log-store.js";
import { locate } from "../read/lookup.js";
import { openSegments } from "../read/pieces.js";
import { openDrafts } from "../record-facts.js";
import { logsOf, namedSegments } from "../segments.js";
import type { RecordReplacer } from "../write/record-replacer.js";
import { eraseDrafts } from "./erased-drafts.js";
import { ErasedPlaces } from "./erased-places.js";
import { ErasureMarks } from "./erasure-marks.js";

/** How many records are processed at a time. */
const BATCH = 100;

/** One erasure under way. */
interface Erasure {
  readonly messages: readonly MessageIdentity[];
  readonly options: EraseOptions;
  readonly places: ErasedPlaces;
  readonly marks: ErasureMarks;
}

/**
 * Erases one message: everything that a record of the namespace leads to, or could lead to. What holds content, and how
 * each is reached:
 *
 * - entries of all logs of all records, by `findCopies`: what is shown, forks and shares (which have no entries of
 *   their own), copies, merged copies, `undo`, dropped ranges, sessions deleted but not swept, and what lost attempts
 *   left;
 * - drafts of the message that have ended, by `eraseDrafts`;
 * - writers that merge segments or copy messages, and have read the content but not written it yet, by `endCopies`: the
 *   records no longer name their logs, so that they start over;
 * - events that wait for slow watchers, by `tell`: its marks make followers read the message again;
 * - free pages and the write-ahead log of a SQLite file, by `cleanFiles`.
 *
 * Whatever else comes to hold the content of messages has to be added here.
 */
export class Eraser {
  readonly #context: HistoryContext;
  readonly #replacer: RecordReplacer;
  readonly #onMarked: (sessionId: string) => void;

  /** `onMarked` is called with the id of every session that shows the message, once it shows it erased. */
  constructor(context: HistoryContext, replacer: RecordReplacer, onMarked: (sessionId: string) => void) {
    this.#context = context;
    this.#replacer = replacer;
    this.#onMarked = onMarked;
  }

  /** See StorageProvider.eraseMessage. */
  async run(sessionId: string, messageId: string, options: EraseOptions = {}): Promise<EraseReport> {
    const messages = await this.#identify(sessionId, messageId, options);
    const erasure: Erasure = {
      messages,
      options,
      places: new ErasedPlaces(),
      marks: new ErasureMarks(this.#context, this.#replacer, this.#onMarked),
    };
    let round = 1;
    // Rule: erase-until-clean. What was read in one round may be written where that round has been already.
    while (await this.#round(erasure, round)) round++;
    await this.#context.store.cleanFiles?.(options);
    return { copies: erasure.places.count };
  }

  /** Processes all records. Resolves to whether another round is needed. */
  async #round(erasure: Erasure, round: number): Promise<boolean> {
    const { marks, places, options } = erasure;
    // The first round marks no records, because it is only finding the copies that they may show. A second round always
    // follows.
    let isChanged = round === 1;
    let sessions = 0;
    for (let after = ""; ; ) {
      checkCall(options);
      const records = await this.#context.store.scanRecords(after, BATCH, options);
      for (const record of records) {
        // Rule: erase-ends-copies. The names are removed first; then whatever was written under them is looked up.
        if (await marks.endCopies(record, options)) isChanged = true;
        if (round > 1 && (await marks.tell(record, places, options))) isChanged = true;
      }
      if (await this.#overwrite(records, erasure)) isChanged = true;
      sessions += records.length;
      options.onProgress?.({ round, sessions, copies: places.count });
      after = records.at(-1)?.uid ?? "";
      if (records.length < BATCH) return isChanged;
    }
  }

  /**
   * Notes all copies in the logs of these records, and overwrites those that have content left. Resolves to whether
   * there were any.
   */
  async #overwrite(records: readonly SessionRecord[], { messages, places, options }: Erasure): Promise<boolean> {
    const { store } = this.#context;
    const drafts = new Set(records.flatMap((record) => openDrafts(record).map(({ log }) => log)));
    let isChanged = false;
    for (const message of messages) {
      // An open draft is a different message, even if its first entry has the same id and, by chance, the same
      // timestamp.
      const copies = (await store.findCopies(records, message, options)).filter(({ log }) => !drafts.has(log));
      const left = copies.filter((entry) => !isErased(entry.body));
      const erased = left.map((entry) => ({ ...entry, body: ERASED_BODY }));
      if (left.length > 0) await store.overwriteEntries(erased, options);
      for (const entry of copies) places.add(entry, left.includes(entry));
      isChanged ||= left.length > 0;
      // Only the session that a message was first written to can have had a draft of it.
      for (const record of records.filter(({ sessionId }) => sessionId === message.originSessionId)) {
        if (await eraseDrafts(this.#context, record, message.id, options)) isChanged = true;
      }
    }
    return isChanged;
  }

  /**
   * The message that the session shows under this id. When it shows none, all messages with this id that its record
   * still leads to. `not_found`: there is none.
   */
  #identify(sessionId: string, messageId: string, call: Call): Promise<readonly MessageIdentity[]> {
    const { store } = this.#context;
    return this.#context.retrying(sessionId, call, async (saw) => {
      const record = await store.readRecord(sessionId, call);
      if (!record) throw notFound("Session", sessionId);
      saw(record);
      const shown = (await locate(this.#context, openSegments(record), [messageId], call)).get(messageId);
      if (shown) return [shown.entry];
      const named = [...namedSegments(record), ...record.dropped];
      const logs = [...logsOf(named), record.log, ...record.namedLogs.map(({ log }) => log)];
      const found = await store.findById(logs, [messageId], call);
      if (found.length === 0) {
        await this.#context.checkCurrent(record, call);
        throw notFound("Message", messageId);
      }
      return found.filter((entry, i) => found.findIndex((one) => isSameMessage(one, entry)) === i);
    });
  }
}
