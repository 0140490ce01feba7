import { permits } from "../../../domain/access.js";
import { type Call, checkCall } from "../../../domain/call.js";
import { untilCallEnd } from "../../../domain/call-end.js";
import { DomainError } from "../../../domain/errors.js";
import type { Head, HistoryContext } from "../heads.js";
import type { Entry, NamedLog, NextRecord, SessionRecord } from "../log-store.js";
import { namesLog } from "../record-facts.js";
import { Again } from "../retries.js";
import { UsageCounter } from "../usage-counter.js";
import type { EditorWait } from "./editor-wait.js";
import { clearIfOrphaned } from "./orphans.js";
import { nextOf, type RecordReplacer } from "./record-replacer.js";
import type { HistoryChange, RecordWriter } from "./record-writer.js";

/**
 * How many side logs a record names at most, so that the names that dead writers have left cannot make it large. A
 * further name replaces the oldest one. Its writer starts over, if it is not dead.
 */
const MAX_NAMED_LOGS = 32;

/**
 * The pauses between looks at an earlier writer's log, and how long it may stay as it is until the writer counts as
 * dead.
 */
const FIRST_WAIT_MS = 4;
const MAX_WAIT_MS = 64;
const DEAD_AFTER_MS = 2000;

/** A message that has no place in a log yet. */
export type Unplaced = Omit<Entry, "log" | "seq">;

/** A fresh log that only its maker writes to, and the record as it was when it began to name the log. */
export interface SideLog {
  readonly log: string;
  readonly record: SessionRecord;
  /** Counts the usage of what is written to it. */
  readonly counter: UsageCounter;
}

/** What an edit does to a head. */
export interface PlannedEdit<T> {
  readonly answer: T;
  readonly change: Omit<HistoryChange, "sideLog">;
}

/** The parts that write side logs and the edits that name their entries. */
export interface SideLogParts {
  readonly context: HistoryContext;
  readonly replacer: RecordReplacer;
  readonly writer: RecordWriter;
  readonly editorWait: EditorWait;
}

/**
 * Logs beside the open one: whatever goes between other messages is written to a fresh one, and then an edit names the
 * entries where they belong. Others may change the session meanwhile, because the edit is planned on its newest state.
 */
export class SideLogs {
  readonly #parts: SideLogParts;
  readonly #context: HistoryContext;

  constructor(parts: SideLogParts) {
    this.#parts = parts;
    this.#context = parts.context;
  }

  /**
   * Makes the session's record name a fresh log, and lets `write` fill it and commit an edit. An erasure removes the
   * name, so what `write` has read before the erasure cannot become visible after it. When `write` fails or resolves to
   * null, the name is removed again. If this process dies before that, a sweep removes it. Null: `write` gave up, or
   * the session was deleted.
   */
  async using<T>(
    record: SessionRecord,
    call: Call | undefined,
    write: (side: SideLog) => Promise<T | null>,
  ): Promise<T | null> {
    const side = await this.#name(record, call);
    if (!side) return null;
    const written = await write(side).catch(async (error: unknown) => {
      // When the store has failed, the name is left to the sweep. Otherwise it is removed even after the end of the
      // call, in the background, because copies of whole histories wait for every earlier name.
      const hasStoreFailed = error instanceof DomainError && error.code === "unavailable";
      if (!hasStoreFailed) await untilCallEnd(this.#unname(side), call).catch(() => {});
      throw error;
    });
    if (written === null) await untilCallEnd(this.#unname(side), call);
    return written;
  }

  /**
   * Commits an edit that names entries of a side log, planned on `base` if the record has not changed since, and
   * otherwise on the newest head, as often as somebody else is first. Null: the plan gave up, or the record does not
   * name the log any more.
   */
  commit<T>(
    base: Head,
    { record, log }: SideLog,
    plan: (now: Head) => Promise<PlannedEdit<T> | null>,
    call?: Call,
  ): Promise<T | null> {
    const { sessionId } = record;
    let known: Head | null = record.revision === base.record.revision + 1 ? { ...base, record } : null;
    return this.#context.retrying(sessionId, call, async (saw) => {
      const now = known ?? (await this.#parts.editorWait.settledHead(sessionId, call));
      known = null;
      // Rule: commit-while-named.
      if (!now || !namesLog(now.record, log)) return null;
      saw(now);
      const planned = await plan(now);
      if (!planned) return null;
      if (await this.#parts.writer.commit(now, { ...planned.change, sideLog: log }, call)) return planned.answer;
      throw new Again();
    });
  }

  /**
   * Replaces fields of the record, with the entries of a side log in use, without an edit of the history: the open log
   * stays. Null: the change gave up, or the record does not name the log any more.
   */
  async settle(
    { record, log }: SideLog,
    change: (now: SessionRecord) => Partial<NextRecord> | null,
    call?: Call,
  ): Promise<true | null> {
    const isReplaced = await this.replaceFields(
      record,
      (now) => {
        const fields = namesLog(now, log) ? change(now) : null;
        return fields && { ...fields, namedLogs: now.namedLogs.filter((named) => named.log !== log) };
      },
      call,
    );
    return isReplaced ? true : null;
  }

  /**
   * Replaces fields of a record, planned anew as often as somebody else is first. Resolves to whether it did: not when
   * the change gave up, the session was deleted, or the caller may not see it any more.
   */
  async replaceFields(
    seen: SessionRecord,
    change: (now: SessionRecord) => Partial<NextRecord> | null,
    call?: Call,
  ): Promise<boolean> {
    // Rule: access-by-the-record.
    return (await this.#change(seen, call, (now) => (permits(call, now) ? change(now) : null))) !== null;
  }

  /**
   * Waits until all side logs that were named before this one are finished or given up. Only one of two copies of a
   * whole history can be used, so the later one waits for the earlier one. A writer whose log does not grow for a while
   * counts as dead. Resolves to the head then; null when the record does not name this log any more.
   */
  async waitForEarlier({ record, log }: SideLog, call?: Call): Promise<Head | null> {
    const { options, store } = this.#context;
    const dead = new Set<string>();
    let seen = "";
    let sinceMs = options.clockMs();
    for (let pauseMs = FIRST_WAIT_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_WAIT_MS)) {
      const head = await this.#context.load(record.sessionId, call);
      if (!head || !namesLog(head.record, log)) return null;
      const logs = head.record.namedLogs.map((named) => named.log);
      const others = logs.slice(0, logs.indexOf(log)).filter((other) => !dead.has(other));
      const [first] = others;
      if (first === undefined) return head;
      const now = `${others.length} ${first} ${(await store.tail(first, call)).last?.seq}`;
      if (now !== seen) sinceMs = options.clockMs();
      else if (options.clockMs() - sinceMs > DEAD_AFTER_MS) dead.add(first);
      seen = now;
      await options.pause(pauseMs * (0.5 + options.random() / 2), call?.signal);
      checkCall(call);
    }
  }

  /** Writes messages after the first `base` entries of a side log. Resolves to whether all were stored. */
  async append(
    { record, log, counter }: SideLog,
    head: Head,
    base: number,
    messages: readonly Unplaced[],
    call?: Call,
  ) {
    const { chunk } = this.#context.options;
    const { sessionId } = record;
    for (let i = 0; i < messages.length; i += chunk) {
      const entries = messages
        .slice(i, i + chunk)
        .map((message, k) => counter.count({ ...message, sessionId, log, seq: base + i + k + 1, remaining: 0 }));
      const stored = await this.#context.append(record, log, base + i + 1, entries, call);
      const range = { log, first: base + i + 1, last: base + i + (typeof stored === "number" ? stored : 0) };
      await clearIfOrphaned(this.#context, head.atMs, record.uid, call, range);
      if (stored !== entries.length) return false;
    }
    return true;
  }

  #name(seen: SessionRecord, call?: Call): Promise<SideLog | null> {
    const named: NamedLog = { log: this.#context.newLog(seen.uid), purpose: "copy" };
    return this.#change(seen, call, ({ namedLogs }) => ({
      namedLogs: [...namedLogs, named].slice(-MAX_NAMED_LOGS),
    })).then((record) => record && { log: named.log, record, counter: new UsageCounter() });
  }

  async #unname({ record, log }: SideLog): Promise<void> {
    await this.#change(record, undefined, ({ namedLogs }) => {
      const left = namedLogs.filter((named) => named.log !== log);
      return left.length < namedLogs.length ? { namedLogs: left } : null;
    });
  }

  /**
   * Changes a record, whatever others change meanwhile. Null: the session was deleted, or its record needs no change.
   */
  #change(
    seen: SessionRecord,
    call: Call | undefined,
    change: (record: SessionRecord) => Partial<NextRecord> | null,
  ): Promise<SessionRecord | null> {
    let known: SessionRecord | null = seen;
    return this.#context.retrying(seen.sessionId, call, async (saw) => {
      const record = known ?? (await this.#context.store.readRecordByUid(seen.uid, call));
      known = null;
      if (!record || record.deleted) return null;
      saw(record);
      const fields = change(record);
      if (!fields) return null;
      const stored = await this.#parts.replacer.replace(record, { ...nextOf(record), ...fields }, call);
      if (!stored) throw new Again();
      return stored;
    });
  }
}
