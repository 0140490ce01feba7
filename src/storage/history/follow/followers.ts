import { type Call, checkCall, endsBy } from "../../../domain/call.js";
import { onCallEnd, untilCallEnd } from "../../../domain/call-end.js";
import type { ChatMessage } from "../../../domain/chat-message.js";
import { DomainError, invalidArgument, notFound } from "../../../domain/errors.js";
import type { FollowEvent, FollowPosition } from "../../../domain/page.js";
import type { StorageProvider } from "../../storage-provider.js";
import type { Head, HistoryContext } from "../heads.js";
import type { Reader } from "../read/reader.js";
import { Again } from "../retries.js";
import type { EventQueue } from "./event-queue.js";
import { eventOf, stepOf } from "./follow-step.js";
import { FollowerDrafts, type TailDrafts } from "./follower-drafts.js";
import { SessionTail, type TailState } from "./session-tail.js";

/** The followers of this process. One tail for each session serves all its followers. */
export class Followers {
  readonly #context: HistoryContext;
  readonly #reader: Reader;
  readonly #onWrite: () => void;
  readonly #tails = new Map<string, SessionTail>();
  #unsubscribe: Promise<(() => Promise<void>) | undefined> | null = null;
  #isClosed = false;

  /** `onWrite` is called whenever this process or, if the store tells of it, another one has written to a session. */
  constructor(context: HistoryContext, reader: Reader, onWrite: () => void) {
    this.#context = context;
    this.#onWrite = onWrite;
    this.#reader = reader;
  }

  /** Implements {@link StorageProvider.followMessages}. */
  async follow(
    sessionId: string,
    from: number | FollowPosition | undefined,
    call?: Call,
  ): Promise<AsyncIterable<FollowEvent>> {
    if (this.#isClosed) throw stopping();
    const hasNotifications = await untilCallEnd(this.subscribe(), call);
    for (;;) {
      const isFresh = !this.#tails.has(sessionId);
      const tail = this.#tailOf(sessionId, hasNotifications);
      const hold = tail.hold();
      try {
        const head = await untilCallEnd(tail.refresh(), call);
        checkCall(call);
        // Rule: access-by-the-record.
        checkMayFollow(tail, sessionId, call);
        return this.#follower(tail, startAt(from, head, sessionId), hold, call);
      } catch (error) {
        hold.release();
        // A tail that has followed for a while ends when its session is gone, even if there is a new one with its id.
        if (isFresh || !tail.hasLostSession) throw error;
      }
    }
  }

  /** Makes the session's followers look at once, because this process has written to it. */
  wake(sessionId: string): void {
    this.#tails.get(sessionId)?.wake();
    this.#onWrite();
  }

  /** Makes the session's followers look at once, because this process has extended the draft with this log. */
  wakeForDraft(sessionId: string, log: string): void {
    this.#tails.get(sessionId)?.wakeForDraft(log);
  }

  /** Ends all followers with `unavailable`, and the subscription if the store answers by the deadline. */
  async close({ deadlineMs }: { readonly deadlineMs: number }): Promise<void> {
    this.#isClosed = true;
    for (const tail of this.#tails.values()) tail.end(stopping());
    const ended = this.#unsubscribe?.then((unsubscribe) => unsubscribe?.());
    if (ended) await endsBy(deadlineMs, ended);
  }

  /**
   * The events for one follower. Unlike a generator, it releases the hold when it is ended although nothing was read
   * from it, and also at the end of the call, whether or not anybody reads on.
   */
  #follower(
    tail: SessionTail,
    start: FollowPosition,
    hold: { release(): void },
    call: Call | undefined,
  ): AsyncIterableIterator<FollowEvent> {
    let queue: EventQueue | null = null;
    const release = () => {
      stopWatching();
      queue?.detach();
      queue?.wake();
      hold.release();
    };
    const stopWatching = onCallEnd(call, release);
    const attach = () => {
      queue = tail.attach();
      return queue;
    };
    const events = this.#events(tail, start, attach, release, call);
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
   * Yields the events between the follower's position and the tail's, and then the tail's events. Whenever something is
   * taken back that the follower has not got yet, starts over from the follower's position.
   */
  async *#events(
    tail: SessionTail,
    start: FollowPosition,
    attach: () => EventQueue,
    release: () => void,
    call: Call | undefined,
  ): AsyncGenerator<FollowEvent> {
    const { heartbeatMs, maxFollowerBacklog } = this.#context.options;
    const known = new FollowerDrafts();
    let at = start;
    try {
      for (;;) {
        const { takenBack, drafts } = tail;
        const reached = tail.reached();
        // Rule: followers-ask-again. The owner may have changed, or tickets may have been revoked.
        checkMayFollow(tail, reached.head.record.sessionId, call);
        const queue = reached.at.position - at.position <= maxFollowerBacklog / 2 ? attach() : null;
        for await (const event of this.#catchUp(reached, at, known, drafts, queue !== null, call)) {
          // Rule: dropped-when-taken-back.
          if (tail.takenBack !== takenBack) break;
          at = event.at;
          known.note(event);
          yield event;
        }
        if (tail.takenBack !== takenBack) {
          queue?.detach();
          continue;
        }
        at = reached.at;
        while (queue) {
          checkCall(call);
          const event = await queue.next(heartbeatMs);
          checkCall(call);
          if (queue.isStale) break;
          if (event) {
            at = event.at;
            known.note(event);
          }
          yield event ?? { kind: "heartbeat", at };
        }
      }
    } finally {
      release();
    }
  }

  /** `known`: the drafts that the follower knows. `drafts`: those that the tail knew at its position. */
  async *#catchUp(
    { head, at: to }: TailState,
    from: FollowPosition,
    known: FollowerDrafts,
    drafts: TailDrafts,
    isLast: boolean,
    call: Call | undefined,
  ): AsyncGenerator<FollowEvent> {
    const { sessionUid, revision } = to;
    yield* known.discarded(drafts, from);
    const step = stepOf(head.record, from, to.position, this.#context.options.maxEdits);
    const messageAt = async (index: number) => (await this.#readAt(head, index, index + 1, call))[0] as ChatMessage;
    const changed = await eventOf(step, { sessionUid, revision }, messageAt);
    if (changed) yield changed;
    let { position } = step;
    while (position < to.position) {
      checkCall(call);
      for (const message of await this.#readAt(head, position, to.position, call)) {
        position++;
        const at = { sessionUid, revision, position };
        yield { kind: "appended", message, at };
        yield* known.endedBy(message, drafts, at);
      }
    }
    if (isLast) yield* known.missed(drafts, to);
  }

  /**
   * Reads messages for a follower. Rows of an old head may have been swept; then the follower is asked to resume. Rows
   * of the current record are never swept, so if they are missing, the session is damaged.
   */
  async #readAt(head: Head, from: number, to: number, call: Call | undefined) {
    try {
      return await this.#reader.messagesAt(head, from, Math.min(to, from + this.#context.options.chunk), call);
    } catch (error) {
      if (!(error instanceof Again)) throw error;
      if (await this.#context.isCurrent(head.record, call)) {
        const session = `Session ${JSON.stringify(head.record.sessionId)}`;
        const damage = new DomainError("internal", `${session} is damaged: messages are missing in the store`);
        this.#context.options.onAnomaly(`${session} is damaged: ${error.message}`, damage);
        throw damage;
      }
      throw new DomainError("unavailable", "The history changed while it was read; resume with the last token");
    }
  }

  #tailOf(sessionId: string, hasNotifications: boolean): SessionTail {
    const running = this.#tails.get(sessionId);
    if (running) return running;
    const tail = new SessionTail(this.#context, this.#reader, sessionId, hasNotifications, () => {
      if (this.#tails.get(sessionId) === tail) this.#tails.delete(sessionId);
    });
    this.#tails.set(sessionId, tail);
    return tail;
  }

  /** Resolves to whether the store reports the writes of other processes, from now on. */
  async subscribe(): Promise<boolean> {
    const { store, options } = this.#context;
    this.#unsubscribe ??= (async () => {
      try {
        return await store.subscribe?.((uid) => this.#wakeUid(uid));
      } catch (error) {
        options.onAnomaly("The store cannot tell of changes; followers poll", error);
        return undefined;
      }
    })();
    return (await this.#unsubscribe) !== undefined;
  }

  #wakeUid(uid: string): void {
    for (const tail of this.#tails.values()) tail.wakeIf(uid);
    this.#onWrite();
  }
}

function startAt(from: number | FollowPosition | undefined, head: Head, sessionId: string): FollowPosition {
  const { uid: sessionUid, revision } = head.record;
  if (from === undefined) return { sessionUid, revision, position: head.count };
  if (typeof from === "number") {
    if (from < 0 || from > head.count) {
      throw invalidArgument(`from_position is ${from}; the session has ${head.count} messages`);
    }
    return { sessionUid, revision, position: from };
  }
  if (from.sessionUid !== sessionUid) {
    throw invalidArgument(`resume_token belongs to another session than ${JSON.stringify(sessionId)}`);
  }
  return from;
}

function checkMayFollow(tail: SessionTail, sessionId: string, call: Call | undefined): void {
  if (!tail.permits(call)) throw notFound("Session", sessionId);
}

function stopping(): DomainError {
  return new DomainError("unavailable", "The service is stopping");
}
