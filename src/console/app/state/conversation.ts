import { computed, signal } from "@preact/signals";
import { getSession, listMessages, listSessions, loadSession, type WatchFrom, watchMessages } from "../api/calls.js";
import { ApiError, CODE } from "../api/http.js";
import { ticketText } from "../api/ticket.js";
import type { Session, WatchEvent } from "../api/types.js";
import { Annotations } from "./annotations.js";
import { Drafts } from "./drafts.js";
import { History, PAGE } from "./history.js";
import { forgetSession, noteSession, sessions } from "./session-list.js";
import { isHidden, whenVisible } from "./visibility.js";

const RETRY_MS = [500, 1000, 2000, 5000];
/** Error codes after which following cannot continue. */
const FINAL: readonly number[] = [CODE.notFound, CODE.unauthenticated, CODE.permissionDenied, CODE.invalidArgument];
/** How long after an event the session is read again for its revision, times and count. */
const REFRESH_MS = 1000;

export type Live = "loading" | "live" | "reconnecting" | "ended";

/** One open session: its messages, followed live until it is closed. */
export class Conversation {
  readonly sessionId: string;
  readonly session = signal<Session | undefined>(undefined);
  readonly live = signal<Live>("loading");
  /** Why it could not be opened, or why following has ended. */
  readonly error = signal<unknown>(undefined);
  readonly history: History;
  readonly drafts = new Drafts();
  readonly annotations: Annotations;
  readonly #children = signal<readonly Session[]>([]);
  /** Forks and shares of this session, as far as they are known. */
  readonly children = computed(() => {
    const known = new Map([...this.#children.value, ...sessions.value].map((one) => [one.sessionId, one]));
    return [...known.values()].filter(({ parentId }) => parentId === this.sessionId);
  });
  readonly #closed = new AbortController();
  /** The watch under way. Browsers open only six connections to a server, so tabs that are hidden give theirs up. */
  #watch = new AbortController();
  readonly #stopWhenHidden = isHidden.subscribe((hidden) => hidden && this.#watch.abort());
  /** How many attempts have failed since the last watch began. */
  #failures = 0;
  #refreshing: ReturnType<typeof setTimeout> | undefined;
  #retryNow: () => void = () => undefined;

  constructor(sessionId: string) {
    this.sessionId = sessionId;
    const { signal } = this.#closed;
    this.history = new History(async (offset, limit) => {
      return (await listMessages(sessionId, { offset, limit }, signal)).messages;
    });
    this.annotations = new Annotations(sessionId, signal);
    void this.#run();
  }

  get signal(): AbortSignal {
    return this.#closed.signal;
  }

  close(): void {
    this.#closed.abort();
    this.#stopWhenHidden();
    this.#watch.abort();
    clearTimeout(this.#refreshing);
  }

  /** Reconnects at once. */
  retry(): void {
    this.#retryNow();
  }

  /** Notes the session that an action has returned. */
  note(session: Session): void {
    this.session.value = { ...this.session.value, ...session };
    noteSession(session);
  }

  async #run(): Promise<void> {
    while (!this.signal.aborted) {
      try {
        await this.#follow(await this.#open());
      } catch (error) {
        if (this.#end(error)) return;
        await this.#pause();
      }
    }
  }

  /** Loads the session and its last messages. */
  async #open(): Promise<Session> {
    const { session, messages } = await loadSession(this.sessionId, 2 * PAGE, this.signal);
    this.error.value = undefined;
    this.history.begin(Number(session.messageCount), messages);
    this.note(session);
    void this.annotations.read();
    // Without the children, the page lacks a few marks. The panel of forks reports what is wrong.
    if (ticketText === undefined) {
      listSessions({ parentId: this.sessionId }, this.signal).then(
        (children) => (this.#children.value = children.sessions),
        () => undefined,
      );
    }
    return session;
  }

  /**
   * Follows the session after its last message. After a broken connection, it resumes after the last event. Before the
   * first event it returns instead: the session has to be opened again, because what was loaded may have been edited.
   */
  async #follow(loaded: Session): Promise<void> {
    let from = { from_position: this.history.count.value } as WatchFrom;
    const onOpen = async (signal: AbortSignal) => {
      // A watch from a position tells of no edit that came before it began.
      if ("from_position" in from && !isUnedited(loaded, await getSession(this.sessionId, signal))) {
        throw new EditedMeanwhile();
      }
      this.#failures = 0;
      this.live.value = "live";
      this.drafts.forget();
      this.error.value = undefined;
    };
    const onEvent = (event: WatchEvent) => {
      from = { resume_token: event.resumeToken };
      this.#take(event);
    };
    while (!this.signal.aborted) {
      if (isHidden.value) {
        this.live.value = "reconnecting";
        await whenVisible();
      } else {
        await this.#watchOnce(from, onOpen, onEvent);
      }
      if ("from_position" in from) return;
    }
  }

  /** Watches until the connection ends. Resolves when it is time to connect again; rejects when that is pointless. */
  async #watchOnce(
    from: WatchFrom,
    onOpen: (signal: AbortSignal) => Promise<void>,
    onEvent: (event: WatchEvent) => void,
  ): Promise<void> {
    this.#watch = new AbortController();
    const { signal } = this.#watch;
    try {
      await watchMessages(this.sessionId, from, { signal, onOpen: () => onOpen(signal), onEvent });
    } catch (error) {
      if (signal.aborted) return;
      if (!isEdit(error, from)) {
        if (isFinal(error)) throw error;
        this.error.value = error;
      }
    }
    await this.#pause();
  }

  #take(event: WatchEvent): void {
    this.drafts.take(event);
    if (event.appended) this.history.appended(event.appended);
    else if (event.truncated) this.history.truncated(Number(event.truncated.messageCount ?? 0));
    else if (event.updated) this.history.updated(event.updated);
    else if (event.deleted) this.history.deleted(Number(event.deleted.position ?? 0));
    else return;
    this.#refreshing ??= setTimeout(() => this.#refresh(), REFRESH_MS);
  }

  async #refresh(): Promise<void> {
    this.#refreshing = undefined;
    // If this fails, the session is read after the next event. The watch reports what is wrong.
    const session = await getSession(this.sessionId, this.signal).catch(() => undefined);
    if (session && !this.signal.aborted) this.note(session);
  }

  /** Notes an error. Returns whether it is final. */
  #end(error: unknown): boolean {
    if (this.signal.aborted) return true;
    this.error.value = error;
    if (!isFinal(error)) return false;
    this.live.value = "ended";
    if (error.code === CODE.notFound) forgetSession(this.sessionId);
    return true;
  }

  #pause(): Promise<void> {
    if (this.signal.aborted) return Promise.resolve();
    const milliseconds = RETRY_MS[Math.min(this.#failures, RETRY_MS.length - 1)];
    this.#failures += 1;
    this.live.value = "reconnecting";
    return new Promise((resolve) => {
      setTimeout(resolve, milliseconds);
      this.#retryNow = resolve;
    });
  }
}

/** The session was edited after it was loaded, and before its watch began. */
class EditedMeanwhile extends Error {}

/** Whether only appends can lie between these two answers. */
function isUnedited(one: Session, other: Session): boolean {
  return one.revision === other.revision && one.createTime === other.createTime;
}

/** Whether a watch has failed because of an edit. One that removed messages leaves its position past the end. */
function isEdit(error: unknown, from: WatchFrom): boolean {
  if (error instanceof EditedMeanwhile) return true;
  return "from_position" in from && error instanceof ApiError && error.code === CODE.invalidArgument;
}

function isFinal(error: unknown): error is ApiError {
  return error instanceof ApiError && FINAL.includes(error.code);
}
