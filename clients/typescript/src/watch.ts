import { Code, ConnectError } from "@connectrpc/connect";
import type { MessageService, WatchMessagesResponse } from "../../../gen/sessionpool/v1/message_service_pb.js";
import type { WithNumbers } from "./int64.js";
import { isRefusal } from "./keys.js";
import { delayAfter, forTimer, isTransient, pause } from "./retry.js";
import type { ServiceClient } from "./service-client.js";
import { ToldDrafts } from "./told-drafts.js";

/** An event of a session; `event.case` says which. */
export type WatchEvent = WithNumbers<WatchMessagesResponse>;

export interface WatchOptions {
  /**
   * Begins with the message at this position; begins now when neither this nor `resumeToken` is given. A watch that
   * begins now can miss messages in one case: the connection breaks before the first event or heartbeat, which comes
   * within 15 seconds, and messages are removed before it has reconnected.
   */
  readonly fromPosition?: number;
  /** The `resumeToken` of an earlier event, after which the watch continues. Wins over `fromPosition`. */
  readonly resumeToken?: string;
  /** Ends the watch: the iteration ends without an error. */
  readonly signal?: AbortSignal;
  /** Called with each error before the watch connects again. */
  readonly onRetry?: (error: ConnectError) => void;
  /** Also yields heartbeats, every 15 seconds without another event. */
  readonly heartbeats?: boolean;
  /**
   * A connection that is silent for this long is given up; the default is three heartbeats, 45,000 ms. None is given up
   * with Infinity.
   */
  readonly silenceMs?: number;
  /**
   * Whether to use EventSource rather than streams of `fetch`; by default, only where `fetch` has none. Its requests
   * need no preflight, except when it reconnects and knows of a draft. It sends no key, so it is for clients with a
   * ticket and for servers without keys.
   */
  readonly eventSource?: boolean;
}

export type WatchStart = { readonly fromPosition: number } | { readonly resumeToken: string };

/** How a client watches. */
export interface WatchPolicy {
  readonly open: OpenWatch;
  /** Whether there may be another key when one is refused. */
  readonly hasOtherKeys: boolean;
}

/** Opens one connection of a watch. */
export type OpenWatch = (sessionId: string, start: WatchStart, signal: AbortSignal) => AsyncIterable<WatchEvent>;

const SILENCE_MS = 45_000;

/**
 * Follows a session as long as it is iterated, and reconnects after transient errors without missing or repeating
 * anything: each open draft is told again in full, and the end of each that has ended meanwhile. Throws the service's
 * error when the session is unknown or deleted (`not_found`), or the key or the arguments are refused.
 */
export async function* watch(
  messages: ServiceClient<typeof MessageService>,
  sessionId: string,
  options: WatchOptions,
  { open, hasOtherKeys }: WatchPolicy,
): AsyncGenerator<WatchEvent, void, undefined> {
  const { signal } = options;
  const { fromPosition, resumeToken } = options;
  let start: WatchStart | undefined =
    resumeToken !== undefined ? { resumeToken } : fromPosition !== undefined ? { fromPosition } : undefined;
  const isPinned = start !== undefined;
  const drafts = new ToldDrafts(messages, sessionId);
  let isRefused = false;
  for (let failures = 0; !isAborted(signal); failures++) {
    try {
      // "Now" is the moment of the call, even when the first connection breaks before its first event.
      start ??= { fromPosition: await countMessages(messages, sessionId, signal) };
      const from = start;
      const openFrom = (ending: AbortSignal) => drafts.connect(() => open(sessionId, from, ending), ending);
      for await (const event of connect(openFrom, options)) {
        failures = 0;
        isRefused = false;
        start = { resumeToken: event.resumeToken };
        if (event.event.case !== "heartbeat" || options.heartbeats === true) yield event;
      }
    } catch (thrown) {
      if (isAborted(signal)) return;
      // Errors of a call are ConnectErrors. Any other says that an argument or an answer has no valid form.
      if (!(thrown instanceof ConnectError)) throw thrown;
      const error = thrown;
      // Messages were removed after they were counted.
      const isStale =
        !isPinned && error.code === Code.InvalidArgument && start !== undefined && "fromPosition" in start;
      if (isStale) start = undefined;
      else if (hasOtherKeys && !isRefused && isRefusal(error)) isRefused = true;
      else if (!isTransient(error) && !isBehind(error, failures)) throw error;
      options.onRetry?.(error);
      await pause(delayAfter(error, failures), signal);
    }
  }
}

async function countMessages(
  messages: ServiceClient<typeof MessageService>,
  sessionId: string,
  signal: AbortSignal | undefined,
): Promise<number> {
  return (await messages.countMessages({ sessionId }, signal === undefined ? {} : { signal })).count;
}

/** One connection. Fails with `unavailable` when it is silent for too long or ends without a reason. */
export async function* connect<Event>(
  open: (signal: AbortSignal) => AsyncIterable<Event>,
  { signal, silenceMs = SILENCE_MS }: Pick<WatchOptions, "signal" | "silenceMs">,
): AsyncGenerator<Event, void, undefined> {
  const connection = new AbortController();
  const end = () => connection.abort();
  signal?.addEventListener("abort", end);
  let isSilent = false;
  const giveUp = () => {
    isSilent = true;
    end();
  };
  const waitForEvent = () => {
    const waitMs = forTimer(silenceMs);
    return waitMs === undefined ? undefined : setTimeout(giveUp, waitMs);
  };
  let timer = waitForEvent();
  try {
    for await (const event of open(connection.signal)) {
      clearTimeout(timer);
      yield event;
      timer = waitForEvent();
    }
  } catch (error) {
    if (!isSilent) throw error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
    end();
  }
  throw new ConnectError(isSilent ? `No event for ${silenceMs} ms` : "The stream ended", Code.Unavailable);
}

/** A reader that did not keep up is cut off, and may continue where it was. */
export function isBehind(error: ConnectError, failures: number): boolean {
  return error.code === Code.ResourceExhausted && failures === 0;
}

/** A function, so that the compiler does not take the state for constant while the watch waits. */
export function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}
