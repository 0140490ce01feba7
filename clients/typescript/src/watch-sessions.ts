import { ConnectError } from "@connectrpc/connect";
import type { SessionService, WatchSessionsResponse } from "../../../gen/sessionpool/v1/session_service_pb.js";
import type { WithNumbers } from "./int64.js";
import { isRefusal } from "./keys.js";
import { delayAfter, isTransient, pause } from "./retry.js";
import type { ServiceClient } from "./service-client.js";
import { connect, isAborted, isBehind, type WatchOptions } from "./watch.js";

/** What happened to a session; `event.case` says which. */
export type SessionsEvent = WithNumbers<WatchSessionsResponse>;

export interface WatchSessionsOptions
  extends Pick<WatchOptions, "resumeToken" | "signal" | "onRetry" | "heartbeats" | "silenceMs"> {
  /** Only sessions with all of these labels, each `key=value`. */
  readonly label?: readonly string[];
  /** Only sessions of this owner. */
  readonly owner?: string;
  /** Only sessions without an owner. */
  readonly noOwner?: boolean;
}

/**
 * Follows the sessions as long as it is iterated, and reconnects after transient errors without missing anything; the
 * last events may be repeated. Without `resumeToken` it begins with the first heartbeat, which comes as soon as the
 * server has answered. Throws the service's error when the token is too old (`failed_precondition`), or the key or the
 * arguments are refused.
 */
export async function* watchSessions(
  sessions: ServiceClient<typeof SessionService>,
  options: WatchSessionsOptions,
  hasOtherKeys: boolean,
): AsyncGenerator<SessionsEvent, void, undefined> {
  const { signal, label = [], owner = "", noOwner = false } = options;
  let resumeToken = options.resumeToken ?? "";
  let isRefused = false;
  for (let failures = 0; !isAborted(signal); failures++) {
    try {
      const request = { label: [...label], owner, noOwner, resumeToken };
      for await (const event of connect((ending) => sessions.watchSessions(request, { signal: ending }), options)) {
        failures = 0;
        isRefused = false;
        resumeToken = event.resumeToken;
        if (event.event.case !== "heartbeat" || options.heartbeats === true) yield event;
      }
    } catch (error) {
      if (isAborted(signal)) return;
      // Errors of a call are ConnectErrors. Any other says that an argument or an answer has no valid form.
      if (!(error instanceof ConnectError)) throw error;
      if (hasOtherKeys && !isRefused && isRefusal(error)) isRefused = true;
      else if (!isTransient(error) && !isBehind(error, failures)) throw error;
      options.onRetry?.(error);
      await pause(delayAfter(error, failures), signal);
    }
  }
}
