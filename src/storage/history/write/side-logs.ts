import type { Call } from "../../../domain/call.js";
import { sameContent } from "../../../domain/chat-message.js";
import { contentOf } from "../../../domain/message-body.js";
import type { Head, HistoryContext } from "../heads.js";
import type { Entry } from "../log-store.js";
import { namesLog } from "../record-facts.js";
import type { NamedLogs } from "./named-logs.js";
import { clearIfOrphaned } from "./orphans.js";

/** A message that has no place in a log yet. */
export type Unplaced = Omit<Entry, "log" | "seq">;

/** What a failed attempt has written. The next attempt may use it while the record still names the log. */
export interface Attempt {
  readonly uid: string;
  readonly log: string;
  /** How many entries of the log come before ours. */
  readonly base: number;
  readonly messages: readonly Unplaced[];
  /**
   * Whether the messages are copied from elsewhere and may be written only to this log. `messages` is empty until they
   * are written.
   */
  readonly isCopy?: true;
}

/** Where messages were written, and the head on which an edit may name them. */
export interface Written {
  readonly head: Head;
  readonly attempt: Attempt;
}

/** Writes messages to logs other than the open one, before an edit puts them in their places. */
export class SideLogs {
  readonly #context: HistoryContext;
  readonly #namedLogs: NamedLogs;

  constructor(context: HistoryContext, namedLogs: NamedLogs) {
    this.#context = context;
    this.#namedLogs = namedLogs;
  }

  /**
   * Makes the record name a log before the messages that will be copied into it are read. An erasure removes the name,
   * so messages that were read before the erasure cannot be written after it. The log of an earlier attempt is used
   * again if the record still names it. Null when another writer was first.
   */
  async beforeCopy(head: Head, earlier: Attempt | null, call?: Call): Promise<Written | null> {
    const { uid } = head.record;
    if (earlier?.uid === uid && namesLog(head.record, earlier.log)) return { head, attempt: earlier };
    const named = await this.#namedLogs.name(head, "copy", call);
    return named && { head: named.head, attempt: { uid, log: named.log, base: 0, messages: [], isCopy: true } };
  }

  /**
   * Writes messages to the log for older messages, or to a log of their own when there are many. Whatever an earlier
   * attempt has written is used again if possible. Null when another writer was first. `full` is a log that is known to
   * hold one of the ids.
   */
  async write(
    head: Head,
    messages: readonly Unplaced[],
    earlier: Attempt | null,
    call?: Call,
    full?: string,
  ): Promise<Written | null> {
    if (earlier !== null && isReusable(earlier, head, messages)) return { head, attempt: earlier };
    const { uid, namedLogs } = head.record;
    if (earlier?.isCopy) {
      if (earlier.messages.length > 0) return null;
      const written = await this.append(head, earlier.log, 0, messages, call);
      return written === true ? { head, attempt: { ...earlier, messages } } : null;
    }
    const isShort = messages.length <= this.#context.options.chunk;
    const olderLog = namedLogs.find(({ purpose }) => purpose === "older")?.log;
    if (olderLog && olderLog !== full && isShort) {
      const base = (await this.#context.store.tail(olderLog, call)).last?.seq ?? 0;
      const outcome = await this.append(head, olderLog, base, messages, call);
      if (outcome === true) return { head, attempt: { uid, log: olderLog, base, messages } };
      // The log holds one of the ids, either from a failed attempt or because a message gets new content. A fresh log
      // is needed.
      if (outcome !== "idTaken") return null;
    }
    const named = await this.#namedLogs.name(head, isShort ? "older" : "copy", call);
    if (!named) return null;
    const written = await this.append(named.head, named.log, 0, messages, call);
    return written === true ? { head: named.head, attempt: { uid, log: named.log, base: 0, messages } } : null;
  }

  /** Resolves to whether all messages were stored. `idTaken`: none was, because the log holds one of their ids. */
  async append(
    head: Head,
    log: string,
    base: number,
    messages: readonly Unplaced[],
    call?: Call,
  ): Promise<boolean | "idTaken"> {
    const { chunk } = this.#context.options;
    const { sessionId, uid } = head.record;
    for (let i = 0; i < messages.length; i += chunk) {
      const entries = messages
        .slice(i, i + chunk)
        .map((message, k) => ({ ...message, sessionId, log, seq: base + i + k + 1, owed: 0 }));
      const stored = await this.#context.store.append(log, base + i + 1, entries, call);
      const count = typeof stored === "number" ? stored : 0;
      const range = { log, first: base + i + 1, last: base + i + count };
      await clearIfOrphaned(this.#context, head.atMs, uid, call, range);
      if (stored === "idTaken" && i === 0) return stored;
      if (stored !== entries.length) return false;
    }
    return true;
  }
}

function isReusable(attempt: Attempt, { record }: Head, messages: readonly Unplaced[]): boolean {
  // Rule: side-log-reuse.
  const isNamed = namesLog(record, attempt.log);
  return isNamed && attempt.uid === record.uid && areSame(attempt.messages, messages);
}

function areSame(a: readonly Unplaced[], b: readonly Unplaced[]): boolean {
  return a.length === b.length && a.every((message, i) => isSame(message, b[i] as Unplaced));
}

function isSame(a: Unplaced, b: Unplaced): boolean {
  return (
    a === b || (a.id === b.id && a.timestampMicros === b.timestampMicros && sameContent(contentOf(a), contentOf(b)))
  );
}
