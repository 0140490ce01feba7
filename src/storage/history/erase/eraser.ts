import { checkMayErase } from "../../../domain/access.js";
import type { Call } from "../../../domain/call.js";
import { erasedBody, isErased } from "../../../domain/erasure.js";
import { DomainError } from "../../../domain/errors.js";
import type { EraseOptions, EraseReport, StorageProvider } from "../../storage-provider.js";
import type { AttachmentRemoval } from "../attachments/attachment-removal.js";
import type { HistoryContext } from "../heads.js";
import type { SessionRecord } from "../log-store.js";
import { openSegments } from "../read/pieces.js";
import { recordBatches } from "../record-batches.js";
import { openDrafts } from "../record-facts.js";
import type { RecordReplacer } from "../write/record-replacer.js";
import { eraseDrafts, overwrite } from "./erased-drafts.js";
import { ErasedMessages, type ErasureTarget } from "./erased-messages.js";
import { ErasedPlaces } from "./erased-places.js";
import { ErasureMarks } from "./erasure-marks.js";

/** What an erasure needs of the other parts of the engine. */
export interface EraserParts {
  readonly context: HistoryContext;
  readonly replacer: RecordReplacer;
  readonly removal: AttachmentRemoval;
  /** Carries out the verdicts of drafts with this id; resolves to whether there were any. */
  readonly settleDrafts: (record: SessionRecord, messageId: string, call: Call) => Promise<boolean>;
  /** Called with the id of every session that shows the message, once it shows it erased. */
  readonly onMarked: (sessionId: string) => void;
  /** Makes this process forget what it has added up of messages. */
  readonly forgetSums: () => void;
}

/** One erasure under way. */
interface Erasure extends ErasureTarget {
  readonly options: EraseOptions;
  readonly places: ErasedPlaces;
  readonly marks: ErasureMarks;
}

/**
 * Erases one message: everything of it that is stored in the namespace. What holds content, and how each is reached:
 *
 * - entries of all logs of all records, by `findCopies`: what is visible, forks and shares (which have no entries of
 *   their own), copies, merged copies, old content, `undo`, what edits have dropped, sessions deleted but not swept,
 *   and what lost attempts left. `ErasedMessages` says which messages are meant;
 * - drafts of the message that have ended, by `eraseDrafts`;
 * - writers that merge segments or copy messages, and have read the content but not written it yet, by `endCopies`: the
 *   records no longer name their logs, so that they start over;
 * - events that wait for slow watchers, and messages that they have read but not given out, by `noteErasure`: its marks
 *   make followers read again;
 * - attachments that nothing else names: they are doomed before the messages are overwritten, and removed at the end,
 *   by this call or one that repeats it;
 * - models, providers and tools in sums of usage that this process keeps or is making, by `forgetSums`; other processes
 *   keep a sum for an hour at most;
 * - free pages and the write-ahead log of a SQLite file, by `cleanFiles`, also when nothing else is found. What a sweep
 *   has deleted is still there.
 *
 * Whatever else comes to hold the content of messages has to be added here.
 */
export class Eraser {
  readonly #parts: EraserParts;
  readonly #messages: ErasedMessages;

  constructor(parts: EraserParts) {
    this.#parts = parts;
    this.#messages = new ErasedMessages(parts.context);
  }

  /** Implements {@link StorageProvider.eraseMessage}. */
  async run(sessionId: string, messageId: string, options: EraseOptions = {}): Promise<EraseReport> {
    checkMayErase(options);
    try {
      return await this.#erase(sessionId, messageId, options);
    } finally {
      this.#parts.forgetSums();
    }
  }

  async #erase(sessionId: string, messageId: string, options: EraseOptions): Promise<EraseReport> {
    const { context, replacer, onMarked } = this.#parts;
    const { store } = context;
    const record = await store.readRecord(sessionId, options);
    if (record) await this.#settleDrafts(record, messageId, options);
    let target: ErasureTarget;
    try {
      target = await this.#messages.find(sessionId, messageId, options);
    } catch (error) {
      if (isNotFound(error)) await store.cleanFiles?.(options);
      throw error;
    }
    const marks = new ErasureMarks(context, replacer, onMarked);
    const erasure: Erasure = { ...target, options, places: new ErasedPlaces(), marks };
    let round = 1;
    // Rule: erase-until-clean. What was read in one round may be written where that round has been already.
    while (await this.#round(erasure, round)) round++;
    await this.#parts.removal.removeDoomed((record) => erasure.places.within(openSegments(record)) !== null, options);
    await store.cleanFiles?.(options);
    return { copies: erasure.places.count };
  }

  /** Processes all records. Resolves to whether another round is needed. */
  async #round(erasure: Erasure, round: number): Promise<boolean> {
    const { marks, places, options } = erasure;
    // The first round marks no records, because it is only finding the copies that they may show. A second round always
    // follows.
    let isChanged = round === 1;
    let sessions = 0;
    for await (const records of recordBatches(this.#parts.context.store, options)) {
      for (const record of records) {
        // Rule: erase-ends-copies. The names are removed first, and only then is what the logs hold looked up. From
        // the third round on, the writers of such logs have read only what was overwritten before.
        if ((await marks.endCopies(record, options)) && round < 3) isChanged = true;
        if (round > 1 && (await marks.noteErasure(record, places, options))) isChanged = true;
      }
      if (await this.#overwrite(records, erasure)) isChanged = true;
      sessions += records.length;
      options.onProgress?.({ round, sessions, copies: places.count });
    }
    return isChanged;
  }

  /**
   * Notes all copies in the logs of these records, and overwrites those that have content left. Resolves to whether
   * there were any.
   */
  async #overwrite(records: readonly SessionRecord[], erasure: Erasure): Promise<boolean> {
    const { messages, messageId, sessionIds, places, options } = erasure;
    const { context } = this.#parts;
    const drafts = new Set(records.flatMap((record) => openDrafts(record).map(({ log }) => log)));
    let isChanged = false;
    for (const message of messages) {
      // An open draft is a different message, even if its first entry has the same id and, by chance, the same
      // timestamp.
      const copies = (await context.store.findCopies(records, message, options)).filter(({ log }) => !drafts.has(log));
      const left = copies.filter((entry) => !isErased(entry.body));
      await overwrite(this.#parts, records, left, erasedBody, options);
      for (const entry of copies) places.add(entry, left.includes(entry));
      isChanged ||= left.length > 0;
    }
    for (const record of records.filter(({ sessionId }) => sessionIds.has(sessionId))) {
      if (await this.#settleDrafts(record, messageId, options)) isChanged = true;
      if (await eraseDrafts(this.#parts, record, messageId, places, options)) isChanged = true;
    }
    return isChanged;
  }

  /** A draft that is finished becomes a message first. Otherwise its content would be lost to its writer. */
  async #settleDrafts(record: SessionRecord, messageId: string, call: Call): Promise<boolean> {
    try {
      return await this.#parts.settleDrafts(record, messageId, call);
    } catch (error) {
      // The session has expired or was deleted meanwhile, and its drafts with it.
      if (isNotFound(error)) return false;
      throw error;
    }
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof DomainError && error.code === "not_found";
}
