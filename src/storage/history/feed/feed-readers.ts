import { boundOwner, ownersSeen } from "../../../domain/access.js";
import { type Call, checkCall } from "../../../domain/call.js";
import { onCallEnd, untilCallEnd } from "../../../domain/call-end.js";
import { DomainError, NotImplementedError } from "../../../domain/errors.js";
import type { FeedEvent, FeedFilter } from "../../../domain/feed.js";
import type { StorageProvider } from "../../storage-provider.js";
import type { HistoryContext } from "../heads.js";
import type { FeedCursor, FeedTable } from "../log-store.js";
import { type FeedPosition, mustListAnew } from "./feed-position.js";
import type { FeedQueue } from "./feed-queue.js";
import { CHANGES_AT_ONCE, FeedTail, placesAfter, toldUpTo } from "./feed-tail.js";
import { toldChanges } from "./session-states.js";
import { EventsWithTokens, eventFor, type Selection, type ToldChange } from "./told-change.js";

/** What the readers need from the rest of the engine. */
export interface FeedHooks {
  /** Resolves to whether the store reports the writes of other processes; then `wake` is called for them. */
  readonly subscribe: () => Promise<boolean>;
  readonly endExpired: () => Promise<void>;
}

/** The readers of the feed in this process. One tail serves all of them. */
export class FeedReaders {
  readonly #context: HistoryContext;
  readonly #hooks: FeedHooks;
  readonly #events = new EventsWithTokens();
  #tail: FeedTail | undefined;
  #isClosed = false;

  constructor(context: HistoryContext, hooks: FeedHooks) {
    this.#context = context;
    this.#hooks = hooks;
  }

  /** Implements {@link StorageProvider.watchSessions}. */
  async watch(filter: FeedFilter, from: string | undefined, call: Call = {}): Promise<AsyncIterable<FeedEvent>> {
    if (this.#isClosed) throw stopping();
    const table = this.#table;
    const selection = selectionOf(filter, call);
    const hasNotifications = await untilCallEnd(this.#hooks.subscribe(), call);
    const tail = this.#tailOf(table, hasNotifications);
    const hold = tail.hold();
    try {
      await untilCallEnd(tail.began(), call);
      checkCall(call);
      const start = from === undefined ? undefined : await this.#startAt(tail, table, from, call);
      return this.#reader(tail, selection, start, hold, call);
    } catch (error) {
      hold.release();
      throw error;
    }
  }

  /** Makes the tail look, because something was written. */
  wake(): void {
    this.#tail?.wake();
  }

  /** Ends all readers with `unavailable`. */
  close(): void {
    this.#isClosed = true;
    this.#tail?.end(stopping());
  }

  get #table(): FeedTable {
    const { feed } = this.#context.store;
    if (feed === undefined) throw new NotImplementedError(this.#context.store.constructor.name, "watching sessions");
    return feed;
  }

  #tailOf(table: FeedTable, hasNotifications: boolean): FeedTail {
    if (this.#tail) return this.#tail;
    const tail = new FeedTail(this.#context, table, {
      hasNotifications,
      endExpired: this.#hooks.endExpired,
      onUnused: () => {
        if (this.#tail === tail) this.#tail = undefined;
      },
    });
    this.#tail = tail;
    // A tail that could not begin must not serve later readers.
    tail.began().catch(() => {
      if (this.#tail === tail) this.#tail = undefined;
    });
    return tail;
  }

  /** Where a token resumes, if the feed still knows what happened since. */
  async #startAt(tail: FeedTail, table: FeedTable, from: string, call: Call): Promise<FeedPosition> {
    const start = tail.positions.decode(from);
    const ends = await table.ends(call);
    tail.checkFeed(ends);
    checkPlace(start.place, ends);
    if (start.timeMs < ends.nowMs - this.#context.options.feedRetentionMs) throw tooOld();
    return start;
  }

  /**
   * The events for one reader. Unlike a generator, it releases the hold when it is ended although nothing was read from
   * it, and also at the end of the call, whether or not anybody reads on.
   */
  #reader(
    tail: FeedTail,
    selection: Selection | null,
    start: FeedPosition | undefined,
    hold: { release(): void },
    call: Call,
  ): AsyncIterableIterator<FeedEvent> {
    let queue: FeedQueue | undefined;
    const release = () => {
      stopWatching();
      if (queue) tail.detach(queue);
      queue?.wake();
      hold.release();
    };
    const stopWatching = onCallEnd(call, release);
    const attach = () => {
      if (queue) tail.detach(queue);
      queue = tail.attach();
      return queue;
    };
    const events = this.#eventsOf(tail, selection, start, attach, release, call);
    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      next: () => events.next(),
      return() {
        release();
        return events.return(undefined);
      },
    };
  }

  /**
   * Yields what has changed since the start, and then what the tail tells. The queue is attached before the store is
   * read, because the tail may learn more about a session right after it was read here. Whenever the queue has become
   * too long, starts over from where everything had been told.
   */
  async *#eventsOf(
    tail: FeedTail,
    selection: Selection | null,
    start: FeedPosition | undefined,
    attach: () => FeedQueue,
    release: () => void,
    call: Call,
  ): AsyncGenerator<FeedEvent> {
    const { positions } = tail;
    const { heartbeatMs, clockMs } = this.#context.options;
    const eventOf = (change: ToldChange, since: number, at: FeedPosition): FeedEvent | null => {
      const event = selection && eventFor(selection, change, since, (...of) => this.#table.digest(...of));
      return event && this.#events.of(change, event, positions.encode(at));
    };
    let done = start;
    try {
      for (let isFirst = true; ; isFirst = false) {
        // Rule: attached-before-read.
        const queue = attach();
        queue.check();
        const { settled } = tail;
        if (isFirst) yield { kind: "heartbeat", at: positions.encode(done ?? settled) };
        queue.taken();
        if (done !== undefined) {
          let cursor: FeedCursor = done;
          for (;;) {
            queue.check();
            checkCall(call);
            const since = toldUpTo(cursor);
            const { changes, next, place } = await this.#readPage(tail, cursor, call);
            const places = placesAfter(changes, next);
            for (const [i, change] of changes.entries()) {
              const event = eventOf(change, since, before(settled, places[i] as number, done));
              if (event === null) continue;
              yield event;
              queue.taken();
            }
            cursor = next ?? { place };
            done = before(settled, toldUpTo(cursor), done);
            if (next === null) break;
          }
        }
        done ??= settled;
        for (let dueMs = clockMs() + heartbeatMs; ; ) {
          const next = await queue.next(Math.max(0, dueMs - clockMs()));
          checkCall(call);
          queue.taken();
          if (queue.isStale) break;
          // What still waits comes before what the tail has settled.
          done = next?.at ?? (queue.isEmpty ? tail.settled : done);
          const event = next && eventOf(next.change, next.since, next.at);
          if (event === null && clockMs() < dueMs) continue;
          yield event ?? { kind: "heartbeat", at: positions.encode(done) };
          queue.taken();
          dueMs = clockMs() + heartbeatMs;
        }
      }
    } finally {
      release();
    }
  }

  async #readPage(
    tail: FeedTail,
    cursor: FeedCursor,
    call: Call,
  ): Promise<{ readonly changes: readonly ToldChange[]; readonly next: FeedCursor | null; readonly place: number }> {
    const page = await this.#table.read(cursor, CHANGES_AT_ONCE, call);
    tail.checkFeed(page);
    checkPlace(cursor.place, page);
    const changes = await toldChanges(this.#context, page.changes, call);
    return { changes, next: page.next, place: Math.max(cursor.place, page.last) };
  }
}

/** Null when the caller's filter leaves no session that it may see. */
function selectionOf({ owner, labels = [] }: FeedFilter, call: Call): Selection | null {
  const seen = ownersSeen(call, owner);
  return seen && { owner: seen.owner, labels: [...new Set(labels)], isBound: boundOwner(call) !== undefined };
}

/** The place, or that of the settled position if it comes before, but not before where the reader was already. */
function before(settled: FeedPosition, place: number, done: FeedPosition): FeedPosition {
  return { place: Math.max(done.place, Math.min(settled.place, place)), timeMs: settled.timeMs };
}

function checkPlace(place: number, { first, last }: { readonly first: number; readonly last: number }): void {
  // What came before may have been removed.
  if (place < first) throw tooOld();
  if (place > last) throw mustListAnew("resume_token is ahead of the feed, because the store was restored");
}

function tooOld(): DomainError {
  return mustListAnew("resume_token is older than the feed is kept");
}

function stopping(): DomainError {
  return new DomainError("unavailable", "The service is stopping");
}
