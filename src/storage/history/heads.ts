import { permits } from "../../domain/access.js";
import { type Call, checkCall } from "../../domain/call.js";
import { NotImplementedError, notFound } from "../../domain/errors.js";
import { ByteCounts, bytesOf } from "./byte-counts.js";
import type { EngineOptions, ResolvedHistoryOptions } from "./history-options.js";
import { resolveHistoryOptions } from "./history-options.js";
import type {
  AttachmentTable,
  Entry,
  ExpiryBounds,
  LogStore,
  Newest,
  NextRecord,
  Segment,
  SessionRecord,
  Tail,
} from "./log-store.js";
import { Measuring } from "./measuring.js";
import { Quotas } from "./quotas.js";
import { Again, Retries, type Seen } from "./retries.js";
import { NOTHING_USED, type RunningUsage } from "./running-usage.js";
import { joinSegments, totalLength } from "./segments.js";

/** A session at one moment: its record, and how far its open log went. */
export interface Head {
  readonly record: SessionRecord;
  /** The number of visible messages of the open log. */
  readonly seq: number;
  readonly state: Tail["state"];
  /** The number of visible messages. */
  readonly count: number;
  /** The timestamp of the last visible message; null when there is none. */
  readonly lastTimestampMicros: number | null;
  /** The id of the last message of the open log; null when that is empty. */
  readonly lastId: string | null;
  /** The sums of usage over the open log; undefined when they were not read. */
  readonly usageSums?: RunningUsage | undefined;
  /** The store's time that was known before the record was read or written. The head was true then, or later. */
  readonly atMs: number;
}

/** All visible messages of a head. */
export function visibleSegments(head: Head): Segment[] {
  return joinSegments(head.record.segments, [{ log: head.record.log, first: 1, last: head.seq }]);
}

/**
 * What all parts of the history engine share: the store, the options and the cached heads. A cached head may be out of
 * date but never wrong: it was true when it was read, and a write at its end fails if it no longer is. The file is long
 * because every way to read a record is here, so that none forgets expiry or access.
 */
export class HistoryContext {
  readonly store: LogStore;
  readonly options: ResolvedHistoryOptions;
  readonly counts: ByteCounts;
  readonly measuring: Measuring;
  readonly quotas: Quotas;
  readonly #heads = new Map<string, { readonly head: Head; readonly keptAtMs: number }>();

  constructor(store: LogStore, options: EngineOptions) {
    this.store = store;
    this.options = resolveHistoryOptions(options);
    this.counts = new ByteCounts(store, this.options);
    this.measuring = new Measuring(store, this.options, this.counts);
    this.quotas = new Quotas(store, this.options, this.counts, () => this.measuring.begin());
  }

  /** Appends entries to a log of a session as the store does, and counts their bytes. */
  append(
    record: NextRecord,
    log: string,
    seq: number,
    entries: readonly Entry[],
    call?: Call,
  ): ReturnType<LogStore["append"]> {
    const appended = this.store.append(log, seq, entries, call);
    if (!this.counts.counts(record)) return appended;
    return appended.then((stored) => {
      if (typeof stored === "number")
        this.quotas.note(record, bytesOf(stored === entries.length ? entries : entries.slice(0, stored)));
      return stored;
    });
  }

  /**
   * The latest time of the store's clock that this process knows. Every head gets the time that was known before its
   * read or write was sent. Always 0 for a store that checks by itself whether a record names a log.
   */
  knownMs(): number {
    return this.store.knownTimeMs?.() ?? 0;
  }

  /**
   * Whether so much of the store's time has passed since `atMs` that a sweep may have cleared away what was there then.
   * Always false for a store that checks by itself whether a record names a log.
   */
  isOld(atMs: number): boolean {
    return this.knownMs() - atMs > this.options.staleMs;
  }

  /** The cached head; null when the session must be read. */
  cached(sessionId: string): Head | null {
    const found = this.#heads.get(sessionId);
    if (!found || this.#isWorthReading(found) || this.isExpired(found.head.record)) return null;
    return found.head;
  }

  remember(read: Head): void {
    const { sessionId } = read.record;
    const head = withKnownSums(read, this.#heads.get(sessionId)?.head);
    this.#heads.delete(sessionId);
    this.#heads.set(sessionId, { head, keptAtMs: this.options.clockMs() });
    if (this.#heads.size > this.options.maxHeads) {
      for (const oldest of this.#heads.keys()) {
        this.#heads.delete(oldest);
        break;
      }
    }
  }

  forget(sessionId: string): void {
    this.#heads.delete(sessionId);
  }

  /** The store's time in microseconds: that of its own clock if it has one, otherwise this machine's. */
  storeMicros(): number {
    return this.store.knownTimeMs ? this.knownMs() * 1000 : this.options.nowMicros();
  }

  /** Whether a session has reached its own expiry, or its retention is over. */
  isExpired(record: Pick<SessionRecord, "expireTimeMicros" | "updateTimeMicros">): boolean {
    const { expireTimeMicros } = record;
    return (expireTimeMicros !== undefined && expireTimeMicros <= this.storeMicros()) || this.isPastRetention(record);
  }

  /** Whether so much time has passed since a session's last change that it is not retained any more. */
  isPastRetention(record: Pick<SessionRecord, "updateTimeMicros">): boolean {
    const endMicros = this.retentionEndMicros(record);
    return endMicros !== Number.POSITIVE_INFINITY && endMicros <= this.storeMicros();
  }

  /** Which sessions have expired now. */
  expiryBounds(): ExpiryBounds {
    const nowMicros = this.storeMicros();
    const { retentionMs } = this.options;
    const isRetained = Number.isFinite(retentionMs);
    return { expireTimeMicros: nowMicros, ...(isRetained && { updateTimeMicros: nowMicros - retentionMs * 1000 }) };
  }

  /** When the retention of a session is over, in microseconds since 1970; Infinity without a retention. */
  retentionEndMicros({ updateTimeMicros }: Pick<SessionRecord, "updateTimeMicros">): number {
    return updateTimeMicros + this.options.retentionMs * 1000;
  }

  /**
   * Reads the record and then the end of its open log, which together are a state that really existed, sealed or not.
   * Null when there is no such session that the caller may see, or it has expired.
   */
  async load(sessionId: string, call?: Call): Promise<Head | null> {
    const head = await this.loadLiving(sessionId, call);
    if (!head || !this.isExpired(head.record)) return head;
    this.forget(sessionId);
    return null;
  }

  /**
   * Reads a session as {@link HistoryContext.load} does, but also one that has expired and is not deleted yet. Null
   * when there is no such session.
   */
  async loadLiving(sessionId: string, call?: Call): Promise<Head | null> {
    return this.retrying(sessionId, call, async (saw) => {
      checkCall(call);
      const atMs = this.knownMs();
      const record = await this.store.readRecord(sessionId, call);
      if (!record) {
        this.forget(sessionId);
        return null;
      }
      // Rule: access-by-the-record.
      if (!permits(call, record)) return null;
      saw(record);
      const tail = await this.store.tail(record.log, call);
      const isPast = !tail.isNamed || this.isOld(atMs);
      // Rule: late-reader-restarts. What an old record named may have been swept.
      if (isPast) {
        throw new Again("Reading the session took longer than its record may be acted on");
      }
      const head = headOf(record, tail, atMs);
      this.remember(head);
      return head;
    });
  }

  /** The head of a record. `atMs` is the store's time that was known before the record was read. */
  async headOf(record: SessionRecord, atMs: number, call?: Call): Promise<Head> {
    return headOf(record, await this.store.tail(record.log, call), atMs);
  }

  /** Caches and returns the head of a record whose open log was just made. */
  rememberEmpty(record: SessionRecord, atMs: number): Head {
    const head = headOf(record, { last: null, state: "open" }, atMs);
    this.remember(head);
    return head;
  }

  /** Whether a session's record is still the one that was read. If so, what it names has been stored all the time. */
  async isCurrent({ sessionId, uid, revision }: SessionRecord, call?: Call): Promise<boolean> {
    const now = await this.store.readRecord(sessionId, call);
    return now?.uid === uid && now.revision === revision;
  }

  /**
   * Called before answering that something does not exist: throws `Again` when the record has changed since it was
   * read, because what it named may have been swept meanwhile.
   */
  async checkCurrent(record: SessionRecord, call?: Call): Promise<void> {
    // Rule: negative-answers-checked.
    if (!(await this.isCurrent(record, call))) throw new Again();
  }

  /**
   * Reads a session as {@link HistoryContext.load} does, but rejects with not_found when there is no such session or it
   * has expired.
   */
  async need(sessionId: string, call?: Call): Promise<Head> {
    const head = await this.load(sessionId, call);
    if (!head) throw notFound("Session", sessionId);
    return head;
  }

  /**
   * Makes an attempt again as long as it throws `Again`, with a short wait before each further one. The attempt reports
   * to `saw` which heads or records it is based on. internal: too many attempts in a row were based on the same ones.
   */
  async retrying<T>(
    sessionId: string,
    call: Call | undefined,
    attempt: (saw: (...seen: readonly Seen[]) => void) => Promise<T>,
  ): Promise<T> {
    let seen: readonly Seen[] = [];
    const saw = (...now: readonly Seen[]): void => {
      seen = now;
    };
    for (let retries: Retries | null = null; ; ) {
      try {
        return await attempt(saw);
      } catch (error) {
        if (!(error instanceof Again)) throw error;
        retries ??= new Retries(this.options, sessionId);
        retries.count(seen, error.message);
        await retries.pause(call);
      }
    }
  }

  /** The record of a session. not_found: there is none that the caller may see, or it has expired. */
  async needRecord(sessionId: string, call?: Call): Promise<SessionRecord> {
    const record = await this.visibleRecord(sessionId, call);
    if (record === null) throw notFound("Session", sessionId);
    return record;
  }

  /** The record of a session; null when there is none that the caller may see, or it has expired. */
  async visibleRecord(sessionId: string, call?: Call): Promise<SessionRecord | null> {
    const record = await this.store.readRecord(sessionId, call);
    // Rule: access-by-the-record.
    return record !== null && !this.isExpired(record) && permits(call, record) ? record : null;
  }

  /**
   * Reads a session as {@link HistoryContext.need} does, together with its last `limit` messages where the store can
   * read both at one moment.
   */
  async needNewest(
    sessionId: string,
    limit: number,
    call?: Call,
  ): Promise<{ readonly head: Head; readonly newest: Newest["messages"] | undefined }> {
    if (!this.store.readNewest) return { head: await this.need(sessionId, call), newest: undefined };
    const atMs = this.knownMs();
    const maxBytes = this.options.limits.pageBytes;
    const found = await this.store.readNewest(sessionId, { limit, maxBytes }, call);
    if (!found || this.isExpired(found.record)) {
      this.forget(sessionId);
      throw notFound("Session", sessionId);
    }
    // Rule: access-by-the-record.
    if (!permits(call, found.record)) throw notFound("Session", sessionId);
    const head = headOf(found.record, found.end, atMs);
    this.remember(head);
    return { head, newest: found.messages };
  }

  /** The attachments of the store. `unimplemented` where it keeps none. */
  get attachments(): AttachmentTable {
    const { attachments } = this.store;
    if (attachments === undefined) throw new NotImplementedError(this.store.constructor.name, "attachments");
    return attachments;
  }

  newLog(uid: string): string {
    return `${uid}.${this.options.newUid()}`;
  }

  /**
   * Whether a cached head is so old that an append based on it would probably have to be verified afterwards, and might
   * be lost, so that reading it again is cheaper. This saves work but decides nothing, so any clock will do.
   */
  #isWorthReading({ head, keptAtMs }: { readonly head: Head; readonly keptAtMs: number }): boolean {
    if (!this.store.knownTimeMs) return false;
    return this.isOld(head.atMs) || this.options.clockMs() - keptAtMs > this.options.staleMs;
  }
}

/** The head with the sums of usage that an earlier head of the same log at the same place has. */
function withKnownSums(head: Head, before: Head | undefined): Head {
  if (head.usageSums !== undefined || before?.usageSums === undefined) return head;
  // Rule: sums-with-entries.
  const isSame = before.record.log === head.record.log && before.seq === head.seq;
  return isSame ? { ...head, usageSums: before.usageSums } : head;
}

/** The timestamp of the last message of a record's segments; null when it has none, where the record holds a 0. */
function lastTimestampOf(record: Pick<SessionRecord, "segments" | "lastTimestampMicros">): number | null {
  return record.segments.length === 0 ? null : record.lastTimestampMicros;
}

/** The timestamp of the last message, for comparisons. An empty history is older than every message. */
export function endMicros({ lastTimestampMicros }: Pick<Head, "lastTimestampMicros">): number {
  return lastTimestampMicros ?? Number.NEGATIVE_INFINITY;
}

function headOf(record: SessionRecord, tail: Omit<Tail, "isNamed">, atMs: number): Head {
  const seq = tail.last?.seq ?? 0;
  return {
    record,
    seq,
    state: tail.state,
    count: totalLength(record.segments) + seq,
    lastTimestampMicros: tail.last ? tail.last.timestampMicros : lastTimestampOf(record),
    lastId: tail.last?.id ?? null,
    usageSums: seq === 0 ? NOTHING_USED : undefined,
    atMs,
  };
}
