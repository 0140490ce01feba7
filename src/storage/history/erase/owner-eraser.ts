import { checkMayErase } from "../../../domain/access.js";
import type { Call } from "../../../domain/call.js";
import { erasedBody, isErased } from "../../../domain/erasure.js";
import type { EraseOptions, OwnerErasure } from "../../storage-provider.js";
import type { AttachmentRemoval } from "../attachments/attachment-removal.js";
import type { HistoryContext } from "../heads.js";
import type { Entry, OwnedPlace, SessionRecord } from "../log-store.js";
import { openSegments } from "../read/pieces.js";
import { recordBatches } from "../record-batches.js";
import { tombstoneOf } from "../record-facts.js";
import { nextOf, type RecordReplacer } from "../write/record-replacer.js";
import { overwrite } from "./erased-drafts.js";
import { ErasedPlaces } from "./erased-places.js";
import { ErasureMarks } from "./erasure-marks.js";

/** What the erasure of an owner needs of the other parts of the engine. */
export interface OwnerEraserParts {
  readonly context: HistoryContext;
  readonly replacer: RecordReplacer;
  readonly removal: AttachmentRemoval;
  /** Deletes a living session that the caller may see. Does nothing when there is none. */
  readonly deleteSession: (record: SessionRecord, call: Call) => Promise<void>;
  /** Called with the id of every session that shows an erased message, once it shows it erased. */
  readonly onMarked: (sessionId: string) => void;
  /** Makes this process forget what it has added up of messages. */
  readonly forgetSums: () => void;
}

/** One erasure under way. */
interface Erasure {
  readonly owner: string;
  readonly options: EraseOptions;
  readonly places: ErasedPlaces;
  readonly marks: ErasureMarks;
  /** Maps the ids of the owner's sessions to their records. An id may have been used again. */
  readonly own: Map<string, Map<string, SessionRecord>>;
  /** The number of passes over the records. */
  passes: number;
}

/**
 * Deletes all sessions of an owner and erases what they hold. First come the owner's own sessions: they are deleted,
 * and every entry of their logs is overwritten, so that nobody can read the content there any more. Then come all other
 * sessions: copies under way end, records that show what was overwritten note an edit, and copies of the owner's
 * messages are overwritten, too. What somebody has copied meanwhile from a session that was not reached yet is found by
 * the next pass. Drafts need nothing of their own, because they are logs of their session.
 */
export class OwnerEraser {
  readonly #parts: OwnerEraserParts;

  constructor(parts: OwnerEraserParts) {
    this.#parts = parts;
  }

  /** Implements {@link StorageProvider.eraseOwner}. */
  async run(owner: string, options: EraseOptions = {}): Promise<OwnerErasure> {
    checkMayErase(options);
    try {
      return await this.#erase(owner, options);
    } finally {
      this.#parts.forgetSums();
    }
  }

  async #erase(owner: string, options: EraseOptions): Promise<OwnerErasure> {
    const { context, replacer, onMarked } = this.#parts;
    const marks = new ErasureMarks(context, replacer, onMarked);
    const erasure: Erasure = { owner, options, places: new ErasedPlaces(), marks, own: new Map(), passes: 0 };
    for (let round = 1; ; round++) {
      await this.#eraseOwn(erasure);
      // Rule: erase-until-clean. What was read before it was overwritten may be written where this round has been.
      if (!(await this.#eraseCopies(erasure, round))) break;
    }
    await this.#parts.removal.removeDoomed((record) => erasure.places.within(openSegments(record)) !== null, options);
    await context.store.cleanFiles?.(options);
    // What the files hold of the tombstones of before names the owner.
    if (await this.#release(erasure)) await context.store.cleanFiles?.(options);
    return { sessions: recordsOf(erasure).length, copies: erasure.places.count };
  }

  /** Deletes the owner's sessions, and overwrites all entries of their logs. */
  async #eraseOwn(erasure: Erasure): Promise<void> {
    const { owner, options, places, own } = erasure;
    await this.#pass(erasure, async (seen) => {
      if (seen.owner !== owner || seen.restoring) return;
      const record = await this.#deleted(seen, owner, options);
      if (record === null) return;
      const ofId = own.get(record.sessionId) ?? new Map<string, SessionRecord>();
      const isFirst = !ofId.has(record.uid);
      own.set(record.sessionId, ofId.set(record.uid, record));
      for await (const some of this.#placesOf(record, options)) await this.#overwrite(record, some, places, options);
      await this.#parts.removal.deleteAllOf(record.uid, options);
      if (isFirst) options.onSession?.(record.sessionId);
    });
  }

  /** The tombstone of a record; null when its session has changed its owner, or was swept away. */
  async #deleted(seen: SessionRecord, owner: string, options: EraseOptions): Promise<SessionRecord | null> {
    const { context, replacer, deleteSession } = this.#parts;
    for (let record = seen; record.owner === owner; ) {
      if (record.deleted && !record.bin) return record;
      // Rule: erased-leaves-the-bin.
      if (record.bin) await replacer.replace(record, tombstoneOf(nextOf(record)), options);
      else await deleteSession(record, { ...options, access: { owner } });
      const now = await context.store.readRecordByUid(seen.uid, options);
      if (now === null || now.revision === record.revision) return null;
      record = now;
    }
    return null;
  }

  /**
   * Goes through the sessions of others: ends copies under way, overwrites copies of the owner's messages, and notes
   * what was overwritten. Resolves to whether another round is needed.
   */
  async #eraseCopies(erasure: Erasure, round: number): Promise<boolean> {
    const { owner, options, places, marks, own } = erasure;
    let isChanged = false;
    await this.#pass(erasure, async (record) => {
      if (record.owner === owner && record.deleted) return;
      // Rule: erase-ends-copies. From the third round on, the writers of such logs have read only what was overwritten
      // before.
      if ((await marks.endCopies(record, options)) && round < 3) isChanged = true;
      for await (const some of this.#placesOf(record, options)) {
        const theirs = some.filter(({ originSessionId }) => own.has(originSessionId));
        if (await this.#overwriteCopies(record, theirs, erasure)) isChanged = true;
      }
      if (await marks.noteErasure(record, places, options)) isChanged = true;
    });
    return isChanged;
  }

  /** Overwrites those of these entries that are copies of the owner's messages. Resolves to whether there were any. */
  async #overwriteCopies(
    record: SessionRecord,
    found: readonly OwnedPlace[],
    { own, places, options }: Erasure,
  ): Promise<boolean> {
    const { store } = this.#parts.context;
    const copies: OwnedPlace[] = [];
    for (const entry of await this.#read(found, options)) {
      const records = [...(own.get(entry.originSessionId)?.values() ?? [])];
      // Another session may have had the same id.
      if ((await store.findCopies(records, entry, options)).length > 0) copies.push(entry);
    }
    return this.#overwrite(record, copies, places, options);
  }

  /** Overwrites the entries at these places of a session that have content left. Resolves to whether there were any. */
  async #overwrite(
    record: SessionRecord,
    found: readonly OwnedPlace[],
    places: ErasedPlaces,
    options: EraseOptions,
  ): Promise<boolean> {
    const entries = await this.#read(found, options);
    const left = entries.filter(
      ({ body }) =>
        !isErased(body) && (body.parts.length > 0 || body.metadata !== undefined || body.usage !== undefined),
    );
    await overwrite(this.#parts, [record], left, erasedBody, options);
    for (const entry of entries) places.add(entry, left.includes(entry));
    return left.length > 0;
  }

  /** Reads the entries at these places, which are in order, without those that a sweep has removed since. */
  async #read(places: readonly OwnedPlace[], call: Call): Promise<readonly Entry[]> {
    const { store, options } = this.#parts.context;
    const entries: Entry[] = [];
    for (let i = 0; i < places.length; ) {
      const { log, seq: first } = places[i] as OwnedPlace;
      let count = 1;
      while (places[i + count]?.log === log && places[i + count]?.seq === first + count) count++;
      const limits = { limit: count, maxBytes: options.limits.pageBytes };
      const { entries: some } = await store.readRange(log, first, first + count - 1, limits, call);
      entries.push(...some);
      i += Math.max(1, some.length);
    }
    return entries;
  }

  /** The places of all entries in a session's logs, some at a time. */
  async *#placesOf({ uid }: SessionRecord, call: Call): AsyncGenerator<readonly OwnedPlace[]> {
    const { store, options } = this.#parts.context;
    for (let after: OwnedPlace | undefined; ; ) {
      const places: readonly OwnedPlace[] = await store.listOwned(uid, after, options.chunk, call);
      if (places.length > 0) yield places;
      if (places.length < options.chunk) return;
      after = places.at(-1);
    }
  }

  async #pass(erasure: Erasure, visit: (record: SessionRecord) => Promise<void>): Promise<void> {
    const { options, places } = erasure;
    erasure.passes += 1;
    let sessions = 0;
    for await (const records of recordBatches(this.#parts.context.store, options)) {
      for (const record of records) await visit(record);
      sessions += records.length;
      options.onProgress?.({ round: erasure.passes, sessions, copies: places.count });
    }
  }

  /**
   * Removes the owner from the tombstones, which have nothing left of it. Another call need not look at them again.
   * Resolves to whether there were any.
   */
  async #release(erasure: Erasure): Promise<boolean> {
    const { replacer, context } = this.#parts;
    let isChanged = false;
    for (const { uid } of recordsOf(erasure)) {
      const record = await context.store.readRecordByUid(uid, erasure.options);
      if (!record?.deleted) continue;
      await replacer.replace(record, { ...nextOf(record), owner: undefined }, erasure.options);
      isChanged = true;
    }
    return isChanged;
  }
}

function recordsOf({ own }: Erasure): readonly SessionRecord[] {
  return [...own.values()].flatMap((records) => [...records.values()]);
}
