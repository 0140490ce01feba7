import { type SessionEvent, type SessionFilter, watchSessions } from "../api/calls.js";
import { ApiError, CODE } from "../api/http.js";
import { isHidden, whenVisible } from "./visibility.js";

/** The least time between two reads of the list, however much changes. */
const READ_MS = 1000;
const RETRY_MS = [500, 1000, 2000, 5000];

/** What a reader of the feed is told of. */
export interface FeedReader {
  /** Reads the list anew: `changed` names the sessions that were made or changed, all of them if it is undefined. */
  readonly read: (changed: ReadonlySet<string> | undefined) => Promise<void>;
  readonly onDeleted: (sessionId: string) => void;
  /** The feed was interrupted; it goes on by itself. */
  readonly onProblem: (error: unknown) => void;
  /** Resolves after a time, or when somebody does not want to wait. */
  readonly pause: (milliseconds: number) => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Follows what happens to sessions until the signal is aborted, and has the list read when something has changed.
 * Resolves to false when the server has no feed, and rejects when going on is pointless, or a read fails at first.
 */
export async function followFeed(filter: SessionFilter, reader: FeedReader): Promise<boolean> {
  const { signal } = reader;
  const reads = new Reads(reader);
  let resumeToken = "";
  for (let failures = 0; !signal.aborted; ) {
    await whenVisible();
    // Browsers open only six connections to a server, so a tab that is hidden gives its own up.
    const watch = new AbortController();
    const stop = isHidden.subscribe((hidden) => hidden && watch.abort());
    const end = () => watch.abort();
    signal.addEventListener("abort", end, { once: true });
    try {
      const onOpen = async () => {
        // Without a token, the watch began just now, so that the list must be read after it.
        if (resumeToken === "" || failures > 0) await reader.read(undefined);
        failures = 0;
      };
      const onEvent = (event: SessionEvent) => {
        resumeToken = event.resumeToken || resumeToken;
        if (event.deleted) reader.onDeleted(event.deleted.sessionId);
        const changed = event.created ?? event.changed;
        if (changed) reads.note(changed.sessionId);
      };
      await watchSessions(filter, resumeToken, { signal: watch.signal, onOpen, onEvent });
    } catch (error) {
      if (signal.aborted) break;
      if (isMissing(error)) return false;
      if (isFinal(error)) throw error;
      // The token is too old, so that the list is read anew.
      if (error instanceof ApiError && error.code === CODE.failedPrecondition) resumeToken = "";
      else if (!watch.signal.aborted) reader.onProblem(error);
    } finally {
      stop();
      signal.removeEventListener("abort", end);
    }
    if (watch.signal.aborted) continue;
    await reader.pause(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] as number);
    failures += 1;
  }
  reads.stop();
  return true;
}

/** Reads that follow changes: at most one a second, and one after the last change. */
class Reads {
  readonly #reader: FeedReader;
  #changed = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastMs = Number.NEGATIVE_INFINITY;
  #isReading = false;

  constructor(reader: FeedReader) {
    this.#reader = reader;
  }

  note(sessionId: string): void {
    this.#changed.add(sessionId);
    this.#plan();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #plan(): void {
    if (this.#timer !== undefined || this.#isReading) return;
    const waitMs = Math.max(0, this.#lastMs + READ_MS - performance.now());
    this.#timer = setTimeout(() => void this.#read(), waitMs);
  }

  async #read(): Promise<void> {
    this.#timer = undefined;
    this.#lastMs = performance.now();
    this.#isReading = true;
    const changed = this.#changed;
    this.#changed = new Set();
    try {
      await this.#reader.read(changed);
    } catch (error) {
      if (this.#reader.signal.aborted) return;
      this.#reader.onProblem(error);
      for (const sessionId of changed) this.#changed.add(sessionId);
    } finally {
      this.#isReading = false;
      if (this.#changed.size > 0 && !this.#reader.signal.aborted) this.#plan();
    }
  }
}

/** Whether the server is of a version without a feed, or its store has none. */
function isMissing(error: unknown): boolean {
  return error instanceof ApiError && (error.code === CODE.unimplemented || error.code === CODE.notFound);
}

function isFinal(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.code === CODE.unauthenticated || error.code === CODE.permissionDenied;
}
