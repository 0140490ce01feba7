import type { Call } from "../../../domain/call.js";
import { type DomainError, invalidArgument } from "../../../domain/errors.js";
import { inOrder } from "../../../domain/labels.js";
import { sessionFields } from "../../../domain/session.js";
import type {
  BackupMessage,
  ReadNumbers,
  RestoredImage,
  RestoreOutcome,
  WrittenRange,
} from "../../../domain/session-image.js";
import type { StorageProvider } from "../../storage-provider.js";
import { fromStored, layersOf } from "../annotations/annotation-entry.js";
import { bytesOf, newRecord, tooLongChain } from "../edit/new-record.js";
import type { HistoryContext } from "../heads.js";
import type { Entry, NextRecord, Origin, Segment } from "../log-store.js";
import { entryAt, locate } from "../read/lookup.js";
import { ownerOf } from "../record-facts.js";
import { totalLength } from "../segments.js";
import { UsageCounter } from "../usage-counter.js";
import { Owners } from "./owners.js";
import { planRestore, type RestorePlan } from "./restore-plan.js";
import { RestoredAttachments, sweptAway } from "./restored-attachments.js";

/** Annotations to be restored, and the log that they go to. */
interface RestoredNotes {
  readonly log: string;
  readonly entries: readonly Omit<Entry, "log" | "seq">[];
}

/** How long before its last message the update time of a restored session may be. */
const MOST_UPDATE_LAG_MICROS = 3_600_000_000;

/** Restores sessions of a backup into a store: messages first, the record last. */
export class Restorer {
  readonly #context: HistoryContext;
  readonly #owners: Owners;

  constructor(context: HistoryContext) {
    this.#context = context;
    this.#owners = new Owners(context);
  }

  /** Implements {@link StorageProvider.restoreSession}. */
  async restore(image: RestoredImage, read: ReadNumbers, call?: Call): Promise<RestoreOutcome> {
    if (await this.#context.store.readRecord(image.sessionId, call)) return { kind: "exists" };
    // Each attempt has a uid of its own, because a store may have blocked the uid of one that failed.
    const uid = this.#context.options.newUid();
    const plan = this.#plan(image, uid);
    if (plan === null) return { kind: "unshared" };
    const origin = await this.#originOf(image, call);
    const sharedAttachments = image.sharedAttachments ?? new Map();
    const sources = await this.#owners.raise(plan.shared, sharedAttachments.values());
    if (sources === null) return { kind: "unshared" };
    const notes = this.#notesOf(image, uid);
    const record = { ...this.#recordOf(image, uid, plan, origin, sources), ...annotationsOf(notes) };
    const attachments = new RestoredAttachments(this.#context, record, sharedAttachments);
    const kind = await this.#write(record, { ...plan, notes }, attachments, read, call);
    if (kind === "restored") return { kind, written: plan.written, attachments: attachments.written };
    await this.#owners.lower(sources);
    return { kind };
  }

  /**
   * Plans a session whose ancestry fits into a record. Returns null when the ancestors' messages would have to be
   * written anew for that, but the image shares some of them. Throws failed_precondition when the ancestry does not fit
   * even then.
   */
  #plan(image: RestoredImage, uid: string): RestorePlan | null {
    const { maxAncestryBytes, maxLogEntries } = this.#context.options;
    const isSmall = ({ ancestry }: RestorePlan) => bytesOf(ancestry) <= maxAncestryBytes;
    const newLog = () => this.#context.newLog(uid);
    const plan = planRestore(image, newLog, maxLogEntries);
    if (isSmall(plan)) return plan;
    if (image.ancestry.some(({ ranges }) => ranges.some((range) => "log" in range))) return null;
    const packed = planRestore(image, newLog, maxLogEntries, true);
    if (isSmall(packed)) return packed;
    throw tooLongChain(image.sessionId, bytesOf(packed.ancestry), maxAncestryBytes);
  }

  /** Gives the annotations of an image logs, in each of which no message occurs twice. */
  #notesOf({ annotations = [], sessionId }: RestoredImage, uid: string): readonly RestoredNotes[] {
    const entries = annotations.map((one) => fromStored(one, sessionId));
    return layersOf(entries).map((layer) => ({ log: this.#context.newLog(uid), entries: layer }));
  }

  async #write(
    record: NextRecord,
    plan: RestorePlan & { readonly notes: readonly RestoredNotes[] },
    attachments: RestoredAttachments,
    read: ReadNumbers,
    call?: Call,
  ): Promise<RestoreOutcome["kind"]> {
    const { store } = this.#context;
    const { uid, sessionId, sources } = record;
    let full: NextRecord;
    try {
      const logs = new Set([...plan.written.map(({ place }) => place.log), ...plan.notes.map(({ log }) => log)]);
      const namedLogs = [...logs].map((log) => ({ log, purpose: "copy" }) as const);
      const hidden = {
        ...record,
        segments: [],
        ancestry: [],
        annotations: undefined,
        undo: null,
        namedLogs,
        deleted: true,
        restoring: true,
      } as const;
      if ((await store.createRecord(hidden, call)) === "exists") throw sweptAway(sessionId);
      const counters = new Map([...logs].map((log) => [log, new UsageCounter()]));
      for (const range of plan.written) {
        const counter = counters.get(range.place.log) as UsageCounter;
        await this.#writeRange(range, record, plan, attachments, counter, read, call);
      }
      for (const { log, entries } of plan.notes) {
        const placed = entries.map((entry, i) => ({ ...entry, log, seq: i + 1 }));
        if ((await this.#context.append(record, log, 1, placed, call)) !== placed.length) throw sweptAway(sessionId);
      }
      if (!(await attachments.areSharedKept(plan.shared, call))) {
        if (await this.#discard(uid, call)) return "unshared";
        throw sweptAway(sessionId);
      }
      full = await this.#withLastTimes(record, call);
    } catch (error) {
      if (await this.#discard(uid, call)) await this.#owners.lower(sources);
      throw error;
    }
    const outcome = await store.publishRecord(full, call);
    if (outcome === "published") return "restored";
    const isDiscarded = await this.#discard(uid, call);
    if (outcome === "exists" && isDiscarded) return "exists";
    throw sweptAway(sessionId);
  }

  async #writeRange(
    { place, ...numbers }: WrittenRange,
    record: NextRecord,
    plan: RestorePlan,
    attachments: RestoredAttachments,
    counter: UsageCounter,
    read: ReadNumbers,
    call?: Call,
  ): Promise<void> {
    const { sessionId } = record;
    const isShown = plan.segments.some((segment) => segment.log === place.log);
    const others = plan.segments.filter((segment) => ownerOf(segment.log) !== record.uid);
    let seq = place.first;
    for await (const messages of read(numbers)) {
      const entries: Entry[] = [];
      for (const [i, message] of messages.entries()) {
        const body = await attachments.bodyOf(message, call);
        entries.push(counter.count(toEntry({ ...message, body }, place.log, seq + i, sessionId)));
      }
      const ids = entries.map(({ id }) => id);
      const known = isShown && others.length > 0 ? await locate(this.#context, others, ids, call) : null;
      if (known && known.size > 0) throw twice([...known.keys()][0] ?? "", sessionId);
      const stored = await this.#context.append(record, place.log, seq, entries, call);
      if (stored !== entries.length) throw await this.#errorOf(entries, sessionId, call);
      seq += entries.length;
    }
    if (seq !== place.last + 1) throw invalidArgument(`Session ${JSON.stringify(sessionId)} lacks messages`);
  }

  /** Finds out why not all entries were stored. Nobody else writes to these logs. */
  async #errorOf(entries: readonly Entry[], sessionId: string, call?: Call): Promise<DomainError> {
    const ids = entries.map(({ id }) => id);
    const found = await this.#context.store.findById([entries[0]?.log ?? ""], ids, call);
    const other = found.find(({ id, seq }) => !entries.some((entry) => entry.id === id && entry.seq === seq));
    const repeated = other?.id ?? ids.find((id, i) => ids.indexOf(id) < i);
    return repeated === undefined ? sweptAway(sessionId) : twice(repeated, sessionId);
  }

  /** Removes what was written. Resolves to whether the record was there and this call removed it. */
  async #discard(uid: string, call?: Call): Promise<boolean> {
    const { store, options } = this.#context;
    while (await store.deleteEntries({ uid }, options.chunk, call));
    return store.deleteRecord(uid, call);
  }

  #recordOf(
    image: RestoredImage,
    uid: string,
    plan: RestorePlan,
    origin: Origin | null,
    sources: readonly string[],
  ): NextRecord {
    return newRecord(this.#context, {
      ...sessionFields(image),
      uid,
      labels: inOrder(image.labels),
      log: this.#context.newLog(uid),
      origin,
      sessionRevision: image.revision,
      segments: plan.segments,
      ancestry: plan.ancestry,
      undo: image.undo && { segments: plan.undo ?? [], lastTimestampMicros: 0 },
      sources,
    });
  }

  async #withLastTimes(record: NextRecord, call?: Call): Promise<NextRecord> {
    const lastOf = async (segments: readonly Segment[]) =>
      segments.length === 0
        ? 0
        : (await entryAt(this.#context, segments, totalLength(segments) - 1, call)).timestampMicros;
    const { segments, undo } = record;
    const lastTimestampMicros = await lastOf(segments);
    return {
      ...record,
      updateTimeMicros: this.#updateTime(record, segments.length === 0 ? null : lastTimestampMicros),
      lastTimestampMicros,
      undo: undo && { ...undo, lastTimestampMicros: await lastOf(undo.segments) },
    };
  }

  /**
   * A session is never updated long before its last message, so lists by the time of the update need not look for later
   * messages. A file may say otherwise.
   */
  #updateTime({ updateTimeMicros }: NextRecord, lastMicros: number | null): number {
    if (lastMicros === null) return updateTimeMicros;
    const end = Math.min(lastMicros, this.#context.options.nowMicros());
    return Math.max(updateTimeMicros, end - MOST_UPDATE_LAG_MICROS);
  }

  /** How the session was made. Its source is the session that has the id now, if it still lived at the backup. */
  async #originOf({ origin }: RestoredImage, call?: Call): Promise<Origin | null> {
    if (origin === null) return null;
    const { sourceLives, ...rest } = origin;
    const source = sourceLives ? await this.#context.store.readRecord(origin.sourceSessionId, call) : null;
    return { ...rest, sourceUid: source?.uid ?? "" };
  }
}

function annotationsOf(notes: readonly RestoredNotes[]): Pick<NextRecord, "annotations"> {
  if (notes.length === 0) return {};
  return { annotations: notes.map(({ log, entries }) => ({ log, first: 1, last: entries.length })) };
}

function toEntry(message: BackupMessage, log: string, seq: number, sessionId: string): Entry {
  const { id, role, timestampMicros, body, originSessionId } = message;
  return { log, seq, id, timestampMicros, role, body, sessionId, originSessionId, remaining: 0 };
}

function twice(messageId: string, sessionId: string): DomainError {
  return invalidArgument(`Message ${JSON.stringify(messageId)} is in session ${JSON.stringify(sessionId)} twice`);
}
