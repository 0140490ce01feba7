import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { ServerLimits } from "../../config/config.js";
import { endAged } from "../limits/connection-age.js";
import { ownChunks } from "../limits/own-chunks.js";
import { mayLast } from "./body-chunks.js";

const PING_INTERVAL_MS = 60_000;
const PING_ANSWER_MS = 20_000;
/** How much longer a refused request may take to end, so that its client can read the reason. */
export const LINGER_MS = 5000;

/**
 * Ends HTTP/2 sessions whose client has gone, is idle, or has been connected for long, and streams whose request does
 * not end.
 */
export function keepSession(session: ServerHttp2Session, serverLimits: ServerLimits): void {
  endAged(session, serverLimits.connectionAgeMs);
  const endings = [endIdle(session, serverLimits.connectionIdleMs), endGone(session)];
  session.on("stream", (stream) => {
    ownChunks(stream);
    endUnfinished(stream, serverLimits.bodyTimeoutMs + LINGER_MS);
  });
  session.once("close", () => {
    for (const stop of endings) stop();
  });
}

/** Each of these returns a function that stops it. */
function endIdle(session: ServerHttp2Session, idleMs: number): () => void {
  let timer = setTimeout(() => session.close(), idleMs).unref();
  let open = 0;
  session.on("stream", (stream) => {
    open += 1;
    clearTimeout(timer);
    stream.once("close", () => {
      open -= 1;
      if (open === 0 && !session.destroyed) timer = setTimeout(() => session.close(), idleMs).unref();
    });
  });
  return () => clearTimeout(timer);
}

function endGone(session: ServerHttp2Session): () => void {
  let answerTimer: NodeJS.Timeout | undefined;
  const pingTimer = setInterval(() => {
    if (session.destroyed) return;
    answerTimer = setTimeout(() => session.destroy(), PING_ANSWER_MS).unref();
    session.ping(() => clearTimeout(answerTimer));
  }, PING_INTERVAL_MS).unref();
  return () => {
    clearInterval(pingTimer);
    clearTimeout(answerTimer);
  };
}

function endUnfinished(stream: ServerHttp2Stream, timeoutMs: number): void {
  if (stream.endAfterHeaders) return;
  const timer = setTimeout(() => {
    if (mayLast(stream)) timer.refresh();
    else if (!stream.destroyed && stream.state.remoteClose !== 1) stream.close();
  }, timeoutMs).unref();
  stream.once("close", () => clearTimeout(timer));
}
