import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { STALL_MS } from "./stall.js";

/** How often all sessions are looked at. */
const LOOK_MS = 500;
/** How much the answer to a ping, and to settings, adds to what was read. */
const PONG_BYTES = 17;
const SETTINGS_ACK_BYTES = 9;

/** Node does not document the handle, but tells by it, too, whether a client takes what is sent to it. */
type SessionSocket = Socket & { readonly _handle?: { readonly writeQueueSize: number } | null };

/** What was seen of a session. */
interface Seen {
  readonly session: ServerHttp2Session;
  readonly socket: SessionSocket;
  readonly end: () => void;
  read: number;
  written: number;
  queued: number;
  /** Whether the session is known to be alive after everything that was read. */
  isProven: boolean;
  /** Since when nothing has been taken of what was to be sent. */
  stuckSinceMs: number | undefined;
}

/**
 * Ends the HTTP/2 connections that no longer serve anybody. Two kinds end without a word of Node's:
 *
 * - Those of malformed clients, and of headers too large to be read. Up to Node 24.13 at least, the library that speaks
 *   HTTP/2 ends the session by a GOAWAY and nobody is told: the socket stays open, is not read any more, and calls wait
 *   on it for ever. Such a session sends nothing, not even a ping. So each session is pinged once when nothing more
 *   arrives on it.
 * - Those whose client reads nothing at all, so that ending a stream does not give back its memory.
 */
export class LiveSessions {
  readonly #sessions = new Set<Seen>();
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** Watches the session until its connection has ended; `end` ends it at once. */
  add(session: ServerHttp2Session, end: () => void): void {
    destroyLater(session);
    // The session's own view of its socket can be used only while the session lives. This is the socket itself.
    const socket: SessionSocket = session.socket.once("close", () => this.#sessions.delete(seen));
    const beginning = { read: -1, written: 0, queued: 0, isProven: false, stuckSinceMs: undefined };
    const seen: Seen = { session, socket, end, ...beginning };
    this.#sessions.add(seen);
  }

  /** Looks at all sessions at once, whether they are quiet or not. */
  askAll(): void {
    for (const seen of this.#sessions) if (!seen.session.destroyed && !hasUnsent(seen)) ask(seen);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    for (const seen of this.#sessions) {
      if (hasUnsent(seen)) endIfStuck(seen);
      else {
        seen.stuckSinceMs = undefined;
        if (!seen.session.destroyed) askIfQuiet(seen);
      }
    }
  }
}

function hasUnsent({ socket }: Seen): boolean {
  return (socket._handle?.writeQueueSize ?? 0) > 0;
}

/** Node reads no more from a client that does not read, so nothing else tells that it has gone. */
function endIfStuck(seen: Seen): void {
  const { bytesWritten, _handle } = seen.socket;
  const queued = _handle?.writeQueueSize ?? 0;
  if (seen.stuckSinceMs === undefined || bytesWritten !== seen.written || queued !== seen.queued) {
    seen.stuckSinceMs = performance.now();
    seen.written = bytesWritten;
    seen.queued = queued;
  } else if (performance.now() - seen.stuckSinceMs >= STALL_MS) {
    endNow(seen);
  }
}

/** A session that was given up is not read any more, so it is quiet. */
function askIfQuiet(seen: Seen): void {
  if (seen.socket.bytesRead !== seen.read) {
    seen.read = seen.socket.bytesRead;
    seen.isProven = false;
    return;
  }
  if (!seen.isProven) ask(seen);
}

function ask(seen: Seen): void {
  const { session, socket } = seen;
  const read = socket.bytesRead;
  seen.read = read;
  seen.isProven = true;
  const written = socket.bytesWritten;
  const expect = (answerBytes: number) => () => {
    // More than the answer may have come with it, and ended the session.
    if (socket.bytesRead === read + answerBytes) seen.read = socket.bytesRead;
  };
  // Node sends no ping when a session ends with its last stream, but still sends settings.
  if (session.closed) session.settings({}, expect(SETTINGS_ACK_BYTES));
  else session.ping(expect(PONG_BYTES));
  // Node sends either in a later phase of the event loop.
  setImmediate(() =>
    setImmediate(() => {
      if (!session.destroyed && socket.bytesWritten === written && !hasUnsent(seen)) endNow(seen);
    }),
  );
}

function endNow({ session, end }: Seen): void {
  if (!session.destroyed) session.destroy();
  end();
}

/** Errors of nghttp2 below this leave a session to which nothing more may be passed. */
const FATAL = -900;

/**
 * Has Node destroy a session only after it has read all that arrived with the frame that makes it do so, such as a
 * client's GOAWAY or an answer to a ping that nobody sent. Destroyed in between, the session is gone while its library
 * reads on. Up to Node 22 that ends the process by a failed assertion, and any client could send such bytes.
 */
function destroyLater(session: ServerHttp2Session): void {
  const { destroy } = session;
  session.destroy = (error?: Error, code?: number) => {
    const { errno = 0 } = (error ?? {}) as NodeJS.ErrnoException;
    if (errno < FATAL) destroy.call(session, error, code);
    else setImmediate(() => destroy.call(session, error, code));
  };
}
