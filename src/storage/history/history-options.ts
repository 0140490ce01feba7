import { randomBytes } from "node:crypto";
import { ulidFactory } from "../../domain/ids.js";
import { DEFAULT_LIMITS, type Limits } from "../../domain/limits.js";
import type { StoredQuotas } from "../../domain/quotas.js";
import type { SearchOption } from "../../domain/search.js";
import type { SumLimits } from "./sums/sum-limits.js";

/** How much of a child's record the messages of its chain of parents may take, in bytes of JSON. */
export const MAX_ANCESTRY_BYTES = 16_384;

/** Maps the logs of open drafts to the version that this process last saw and when it first saw that version. */
export type SeenDrafts = Map<string, { readonly version: number; readonly sinceMs: number }>;

/** Settings for how histories are kept, for programs that embed a store. Everything has a default. */
export interface HistoryOptions {
  readonly limits?: Partial<Limits> | undefined;
  /**
   * How much each owner, key and namespace may have stored: no limits. A session counts for the `key` of the call that
   * makes it.
   */
  readonly quotas?: StoredQuotas | undefined;
  /**
   * How long after its last change a session expires, in milliseconds. Infinity, the default, means never. It must be
   * the same for all processes of a store.
   */
  readonly retentionMs?: number | undefined;
  /** How long a deleted session can be brought back, in milliseconds: 0, which means not at all. */
  readonly undeleteMs?: number | undefined;
  /** How long a draft may go without being extended before it counts as abandoned, in milliseconds: 15 minutes. */
  readonly draftTimeoutMs?: number | undefined;
  /** How long an attachment is kept that nothing names, in milliseconds: a day. */
  readonly attachmentIdleMs?: number | undefined;
  /** Whether messages can be searched, where the store can do so, and for what: false. */
  readonly search?: SearchOption | undefined;
  /** How often an idle follower gets a heartbeat, in milliseconds: 15 s. */
  readonly heartbeatMs?: number | undefined;
  /**
   * How long an append may wait before its session's update time is written: 1 s. With Infinity, until sessions are
   * listed.
   */
  readonly touchDelayMs?: number | undefined;
  /** How long a reader of the feed of sessions may stay away and still resume, in milliseconds: a day. */
  readonly feedRetentionMs?: number | undefined;
  /** Receives failures in the background, and reports of rows that were missing although the read was recent. */
  readonly onAnomaly?: ((text: string, error?: unknown) => void) | undefined;
}

/**
 * Settings of the engine itself. Other values than the defaults are for tests, which set clocks, ids and small sizes:
 * some would make it lose messages. They are not part of the package's API.
 */
export interface EngineOptions extends HistoryOptions {
  /** The time for messages and records, in microseconds since 1970. */
  readonly nowMicros?: (() => number) | undefined;
  /** A steady clock in milliseconds; only differences are used. */
  readonly clockMs?: (() => number) | undefined;
  /** Used for every wait. Rejects, or resolves early, when the signal is aborted. */
  readonly pause?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined;
  /**
   * Calls `work` once after `ms` milliseconds, without keeping the process alive for it. Returns a function that
   * cancels it.
   */
  readonly startTimer?: ((ms: number, work: () => void) => () => void) | undefined;
  /** A number from 0 to 1, for jitter. */
  readonly random?: (() => number) | undefined;
  /** A random name without a dot that is never used twice. */
  readonly newUid?: (() => string) | undefined;
  /** A message id that is greater than earlier ones. */
  readonly newMessageId?: (() => string) | undefined;
  /** How long a head or a record may be acted on after it was read: a minute, which is far less than `sweepAgeMs`. */
  readonly staleMs?: number | undefined;
  /** How old a mark must be before what it marks is swept: ten minutes. */
  readonly sweepAgeMs?: number | undefined;
  /** How many segments a session may have before neighbours are merged: 128. */
  readonly maxSegments?: number | undefined;
  /** How many neighbours are merged into one: 64. */
  readonly mergeSegments?: number | undefined;
  /** When the neighbours hold more messages than this, fewer of them are merged: 10,000. */
  readonly mergeMessages?: number | undefined;
  /** How many messages one write or read of a copy holds, and how many rows one delete removes: 1,000. */
  readonly chunk?: number | undefined;
  /** How many entries an open log may have before it rolls over: 1,000,000. */
  readonly maxLogEntries?: number | undefined;
  /** How long to wait at first for whoever sealed a log: 200 ms. It doubles with each rollover in a row, up to 10 s. */
  readonly editorWaitMs?: number | undefined;
  /** How many edits a record remembers for followers: 64. */
  readonly maxEdits?: number | undefined;
  /** How many dropped ranges a record remembers for the sweep: 128. */
  readonly maxDropped?: number | undefined;
  /** Used instead of MAX_ANCESTRY_BYTES. */
  readonly maxAncestryBytes?: number | undefined;
  /** What one call that sums usage looks at, and what sums may take. */
  readonly usageSums?: Partial<SumLimits> | undefined;
  /** How many heads are cached: 10,000. */
  readonly maxHeads?: number | undefined;
  /** How often a follower looks when nothing wakes it, in milliseconds, at first and at most. */
  readonly pollMs?: { readonly first: number; readonly most: number } | undefined;
  /** How many messages may wait for one follower before it is ended: 1,000. */
  readonly maxFollowerBacklog?: number | undefined;
  /**
   * What `endAbandonedDrafts` has seen. Whoever closes a provider and opens another one of the same namespace later
   * gives both the same map. Otherwise drafts of a namespace that is never open for long would not be abandoned.
   */
  readonly seenDrafts?: SeenDrafts | undefined;
}

export type ResolvedHistoryOptions = {
  readonly [K in keyof Omit<EngineOptions, "limits">]-?: NonNullable<EngineOptions[K]>;
} & { readonly limits: Limits };

export function resolveHistoryOptions(options: EngineOptions): ResolvedHistoryOptions {
  return {
    nowMicros: options.nowMicros ?? (() => Date.now() * 1000),
    clockMs: options.clockMs ?? (() => performance.now()),
    pause: options.pause ?? pause,
    startTimer: options.startTimer ?? startTimer,
    random: options.random ?? Math.random,
    newUid: options.newUid ?? (() => randomBytes(12).toString("hex")),
    newMessageId: options.newMessageId ?? ulidFactory(),
    staleMs: options.staleMs ?? 60_000,
    sweepAgeMs: options.sweepAgeMs ?? 600_000,
    retentionMs: options.retentionMs ?? Number.POSITIVE_INFINITY,
    undeleteMs: options.undeleteMs ?? 0,
    maxSegments: options.maxSegments ?? 128,
    mergeSegments: options.mergeSegments ?? Math.max(2, (options.maxSegments ?? 128) >> 1),
    mergeMessages: options.mergeMessages ?? 10_000,
    chunk: options.chunk ?? 1000,
    maxLogEntries: options.maxLogEntries ?? 1_000_000,
    editorWaitMs: options.editorWaitMs ?? 200,
    maxEdits: options.maxEdits ?? 64,
    maxDropped: options.maxDropped ?? 128,
    maxAncestryBytes: options.maxAncestryBytes ?? MAX_ANCESTRY_BYTES,
    usageSums: options.usageSums ?? {},
    maxHeads: options.maxHeads ?? 10_000,
    pollMs: options.pollMs ?? { first: 50, most: 500 },
    touchDelayMs: options.touchDelayMs ?? 1000,
    heartbeatMs: options.heartbeatMs ?? 15_000,
    draftTimeoutMs: options.draftTimeoutMs ?? 900_000,
    attachmentIdleMs: options.attachmentIdleMs ?? 86_400_000,
    seenDrafts: options.seenDrafts ?? new Map(),
    search: options.search ?? false,
    maxFollowerBacklog: options.maxFollowerBacklog ?? 1000,
    feedRetentionMs: options.feedRetentionMs ?? 86_400_000,
    onAnomaly: options.onAnomaly ?? (() => {}),
    quotas: options.quotas ?? {},
    limits: { ...DEFAULT_LIMITS, ...options.limits },
  };
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}

function startTimer(ms: number, work: () => void): () => void {
  const timer = setTimeout(work, ms).unref();
  return () => clearTimeout(timer);
}
