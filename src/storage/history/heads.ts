import { type Call, checkCall } from "../../domain/call.js";
import { notFound } from "../../domain/errors.js";
import type { HistoryOptions, ResolvedHistoryOptions } from "./history-options.js";
import { resolveHistoryOptions } from "./history-options.js";
import type { LogStore, Segment, SessionRecord, Tail } from "./log-store.js";
import type { Rule } from "./rules.js";
import { joinSegments, totalLength } from "./segments.js";

/** A session at one moment: its record, and how far its open log went. */
export interface Head {
  readonly record: SessionRecord;
  /** Visible messages of the open log. */
  readonly seq: number;
  readonly state: Tail["state"];
  /** Visible messages. */
  readonly count: number;
  readonly lastTimestampMicros: number;
  /** Id of the last message of the open log; null when that is empty. */
  readonly lastId: string | null;
  /** When it was read, on the steady clock. */
  readonly atMs: number;
}

/** Thrown inside this folder: what was read is out of date, read again. Never leaves it. */
export class Again extends Error {
  constructor() {
    super("The history has changed meanwhile");
  }
}

/** All visible messages of a head. */
export function visibleSegments(head: Head): Segment[] {
  return joinSegments(head.record.segments, [{ log: head.record.log, first: 1, last: head.seq }]);
}

/**
 * What all parts of the history engine share: the store, the options and the cached heads.
 * A cached head may be out of date, never wrong: it was true when it was read, and a write at its end fails if it is not any more.
 */
export class HistoryContext {
  readonly store: LogStore;
  readonly options: ResolvedHistoryOptions;
  readonly #heads = new Map<string, Head>();

  constructor(store: LogStore, options: HistoryOptions) {
    this.store = store;
    this.options = resolveHistoryOptions(options);
  }

  /** Whether a rule is in force; always, but in the test build. */
  keeps(rule: Rule): boolean {
    return !this.options.without.has(rule);
  }

  /** Whether so long ago that a sweep may have come in between. */
  isOld(atMs: number): boolean {
    return this.options.clockMs() - atMs > this.options.staleMs;
  }

  cached(sessionId: string): Head | null {
    const head = this.#heads.get(sessionId);
    return head && !(this.keeps("stale-head-re-read") && this.isOld(head.atMs)) ? head : null;
  }

  remember(head: Head): void {
    const { sessionId } = head.record;
    this.#heads.delete(sessionId);
    this.#heads.set(sessionId, head);
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

  /** The record and then the end of its open log: a state that really existed, sealed or not. Null: no such session. */
  async load(sessionId: string, call?: Call, options: { raise?: boolean } = {}): Promise<Head | null> {
    for (;;) {
      checkCall(call);
      const atMs = this.options.clockMs();
      const record = await this.store.readRecord(sessionId, options, call);
      if (!record) {
        this.forget(sessionId);
        return null;
      }
      const head = headOf(record, await this.store.tail(record.log, call), atMs);
      if (this.keeps("late-reader-restarts") && this.isOld(atMs) && !options.raise) continue;
      this.remember(head);
      return head;
    }
  }

  /** As `load`; not_found: no such session. */
  async need(sessionId: string, call?: Call): Promise<Head> {
    const head = await this.load(sessionId, call);
    if (!head) throw notFound("Session", sessionId);
    return head;
  }

  /** A short wait before a lost race is run again. */
  async jitter(call?: Call): Promise<void> {
    await this.options.pause(this.options.random() * 4, call?.signal);
    checkCall(call);
  }

  newLog(uid: string): string {
    return `${uid}.${this.options.newUid()}`;
  }
}

function headOf(record: SessionRecord, tail: Tail, atMs: number): Head {
  const seq = tail.last?.seq ?? 0;
  return {
    record,
    seq,
    state: tail.state,
    count: totalLength(record.segments) + seq,
    lastTimestampMicros: tail.last ? tail.last.timestampMicros : record.lastTimestampMicros,
    lastId: tail.last?.id ?? null,
    atMs,
  };
}
