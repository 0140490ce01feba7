import { isVisibleToSame, permits } from "../../../domain/access.js";
import type { Call } from "../../../domain/call.js";
import type { ChatMessage } from "../../../domain/chat-message.js";
import { isErased } from "../../../domain/erasure.js";
import { DomainError, notFound } from "../../../domain/errors.js";
import type { FollowEvent, FollowPosition } from "../../../domain/page.js";
import type { Head, HistoryContext } from "../heads.js";
import type { Reader } from "../read/reader.js";
import { Again, Retries } from "../retries.js";
import { type DraftEvent, DraftTail } from "./draft-tail.js";
import { EventQueue } from "./event-queue.js";
import { eventOf, stepOf } from "./follow-step.js";
import type { TailDrafts } from "./follower-drafts.js";

/** Safety poll for notifications that were missed. */
const SAFETY_POLL_MS = 5000;

/** The head whose messages a tail is emitting, and how far it has come. */
export interface TailState {
  readonly head: Head;
  readonly at: FollowPosition;
}

interface Waiting {
  resolve(head: Head): void;
  reject(error: unknown): void;
}

/**
 * Follows one session for all its followers in this process. A change is read once and passed to each follower, and
 * none waits for a slow one. The tail looks when it is woken, and also from time to time, ever less often while nothing
 * happens. The file is long because looking, emitting and waiting share one state.
 */
export class SessionTail {
  readonly #context: HistoryContext;
  readonly #reader: Reader;
  readonly #sessionId: string;
  readonly #pollMs: { readonly first: number; readonly most: number };
  readonly #onUnused: () => void;
  readonly #retries: Retries;
  readonly #queues = new Set<EventQueue>();
  #holds = 0;
  #takenBack = 0;
  #reached: TailState | null = null;
  #error: DomainError | null = null;
  /** The head that was last read. */
  #looked: Head | null = null;
  /** Followers that are waiting for the next look. */
  #waiting: Waiting[] = [];
  #isWoken = false;
  readonly #drafts: DraftTail;
  /** The logs of drafts that this process has extended since the last look. */
  readonly #extended = new Set<string>();
  /** Whether the last look produced events about drafts. */
  #hasDraftNews = false;
  #wake: (() => void) | null = null;
  #isRunning = false;

  constructor(
    context: HistoryContext,
    reader: Reader,
    sessionId: string,
    hasNotifications: boolean,
    onUnused: () => void,
  ) {
    this.#context = context;
    this.#reader = reader;
    this.#sessionId = sessionId;
    this.#pollMs = hasNotifications ? { first: SAFETY_POLL_MS, most: SAFETY_POLL_MS } : context.options.pollMs;
    this.#onUnused = onUnused;
    this.#retries = new Retries(context.options, sessionId);
    this.#drafts = new DraftTail(context, sessionId, (event, takesBack) => this.#emitOfDraft(event, takesBack));
  }

  /** Keeps the tail running until it is released. */
  hold(): { release(): void } {
    this.#holds++;
    let isHeld = true;
    return {
      release: () => {
        if (isHeld && --this.#holds === 0) {
          this.#onUnused();
          this.wake();
        }
        isHeld = false;
      },
    };
  }

  /** Reads the history anew; resolves to the head once everything up to it has been emitted. */
  refresh(): Promise<Head> {
    if (this.#error) return Promise.reject(this.#error);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.wake();
      if (!this.#isRunning) void this.#run();
    });
  }

  /** How far the tail has come. May only be called after a `refresh`. Throws once the tail has ended. */
  reached(): TailState {
    if (this.#error) throw this.#error;
    if (!this.#reached) throw notFound("Session", this.#sessionId);
    return this.#reached;
  }

  /**
   * How often something was taken back that an earlier event had shown: cut off, deleted, erased or discarded. Whoever
   * has read something, and has passed on only a part of it when this changes, must read again.
   */
  get takenBack(): number {
    return this.#takenBack;
  }

  /** Whether the session that it has followed is gone. */
  get hasLostSession(): boolean {
    return this.#error?.code === "not_found";
  }

  /** Whether the caller of a follower may still see the session, by the record that was last read. */
  permits(call: Call | undefined): boolean {
    return this.#looked === null || permits(call, this.#looked.record);
  }

  /** The drafts in the state that followers know. */
  get drafts(): TailDrafts {
    return this.#drafts.known;
  }

  /** Returns a queue that receives every event from now on. */
  attach(): EventQueue {
    const { maxFollowerBacklog, pause } = this.#context.options;
    const queue = new EventQueue(maxFollowerBacklog, pause, (ended) => this.#queues.delete(ended));
    if (this.#error) queue.fail(this.#error);
    else this.#queues.add(queue);
    return queue;
  }

  wake(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  /** Wakes the tail because this process has extended a draft, so that only the draft has to be read. */
  wakeForDraft(log: string): void {
    if (this.#drafts.has(log)) this.#extended.add(log);
    else this.#isWoken = true;
    this.#wake?.();
  }

  wakeIf(uid: string): void {
    if (this.#reached?.head.record.uid === uid) this.wake();
  }

  /** Ends all followers. */
  end(error: DomainError): void {
    this.#error ??= error;
    this.#takenBack++;
    for (const queue of this.#queues) queue.fail(error);
    this.#queues.clear();
    for (const { reject } of this.#waiting.splice(0)) reject(error);
    this.#onUnused();
    this.wake();
  }

  async #run(): Promise<void> {
    const { clockMs } = this.#context.options;
    this.#isRunning = true;
    let pollMs = this.#pollMs.first;
    /** When the whole session is read next. Until then, only drafts that this process has extended are read. */
    let dueMs = clockMs();
    while (this.#holds > 0 && !this.#error) {
      if (!this.#isWoken && this.#extended.size > 0 && clockMs() < dueMs) {
        await this.#lookAtExtended();
      } else {
        pollMs = await this.#lookForAll(pollMs);
        dueMs = clockMs() + pollMs;
      }
      if (!this.#isWoken && this.#extended.size === 0) await this.#sleep(Math.max(dueMs - clockMs(), 0));
    }
    this.#isRunning = false;
  }

  /** Looks once, and answers those who wait for that. Resolves to how long to sleep before the next look. */
  async #lookForAll(pollMs: number): Promise<number> {
    this.#isWoken = false;
    this.#extended.clear();
    this.#hasDraftNews = false;
    const waiting = this.#waiting.splice(0);
    try {
      const before = this.#reached;
      await this.#look();
      const reached = this.reached();
      for (const { resolve } of waiting) resolve(reached.head);
      this.#retries.reset();
      const isQuiet =
        !this.#hasDraftNews &&
        before?.at.position === reached.at.position &&
        before.at.revision === reached.at.revision;
      return isQuiet ? Math.min(pollMs * 1.5, this.#pollMs.most) : this.#pollMs.first;
    } catch (error) {
      await this.#failed(error, waiting);
      return pollMs;
    }
  }

  /** Reads what is new and emits it to all followers. */
  async #look(): Promise<void> {
    const { options } = this.#context;
    const head = await this.#context.need(this.#sessionId);
    const before = this.#looked?.record;
    this.#looked = head;
    const { uid: sessionUid, revision } = head.record;
    if (!this.#reached) {
      await this.#drafts.look(head);
      this.#reached = { head, at: { sessionUid, revision, position: head.count } };
      return;
    }
    if (this.#reached.at.sessionUid !== sessionUid) throw notFound("Session", this.#sessionId);
    // Rule: followers-ask-again.
    if (before && !isVisibleToSame(before, head.record)) this.#dropWaiting();
    // An appended message may have been a draft until now. Followers get the draft's last deltas before the message.
    await this.#drafts.look(head);
    const step = stepOf(head.record, this.#reached.at, head.count, options.maxEdits);
    const messageAt = async (index: number) =>
      (await this.#reader.messagesAt(head, index, index + 1))[0] as ChatMessage;
    const changed = await eventOf(step, { sessionUid, revision }, messageAt);
    let { position } = step;
    if (changed) this.#emit(changed, changed.kind !== "updated" || isErased(changed.message));
    this.#reached = { head, at: { sessionUid, revision, position } };
    while (position < head.count) {
      const to = Math.min(head.count, position + options.chunk);
      const messages = await this.#reader.messagesAt(head, position, to);
      for (const message of messages) {
        position++;
        const at = { sessionUid, revision, position };
        this.#reached = { head, at };
        // An erased message may have been a draft whose content was emitted before.
        this.#emit({ kind: "appended", message, at }, isErased(message));
        this.#drafts.appended(message);
      }
    }
    this.#drafts.settle(head.record);
  }

  /** Reads what this process has added to drafts. A draft that has ended requires a full look. */
  async #lookAtExtended(): Promise<void> {
    const logs = [...this.#extended];
    this.#extended.clear();
    try {
      for (const log of logs) if (!(await this.#drafts.lookAt(log))) this.wake();
    } catch (error) {
      await this.#failed(error, []);
      this.#isWoken = true;
    }
  }

  /** Has each follower look whether it may go on, before it gets another event. */
  #dropWaiting(): void {
    this.#takenBack++;
    for (const queue of this.#queues) queue.drop();
  }

  #emitOfDraft(event: DraftEvent, takesBack: boolean): void {
    this.#hasDraftNews = true;
    if (this.#reached) this.#emit({ ...event, at: this.#reached.at }, takesBack);
  }

  #emit(event: FollowEvent, takesBack: boolean): void {
    if (takesBack) this.#takenBack++;
    for (const queue of this.#queues) queue.push(event, takesBack);
  }

  async #failed(error: unknown, waiting: readonly Waiting[]): Promise<void> {
    if (error instanceof Again) {
      this.#waiting.unshift(...waiting);
      this.#isWoken = true;
      return this.#again(error);
    }
    for (const { reject } of waiting) reject(error);
    if (error instanceof DomainError && error.code === "not_found") this.end(error);
    else this.#context.options.onAnomaly(`Session ${JSON.stringify(this.#sessionId)} cannot be followed now`, error);
  }

  /** Pauses before rows that were missing are read again. Ends all followers when the rows never appear. */
  async #again({ message }: Again): Promise<void> {
    try {
      this.#retries.count(this.#looked ? [this.#looked] : [], message);
      await this.#retries.pause();
    } catch (error) {
      this.end(error as DomainError);
    }
  }

  async #sleep(ms: number): Promise<void> {
    const waking = new AbortController();
    this.#wake = () => waking.abort();
    await this.#context.options.pause(ms, waking.signal);
    this.#wake = null;
  }
}
