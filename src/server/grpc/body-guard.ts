import type { ServerHttp2Stream } from "node:http2";
import type { ApiError } from "../../api/api-error.js";
import type { Admission } from "../limits/admissions.js";
import { bodyTooLarge, bodyTooSlow } from "../limits/body-errors.js";

export interface BodyGuard {
  /** The most bytes that the client may send on the stream. */
  readonly maxBytes: number;
  /** How long the client may take to send it. */
  readonly timeoutMs: number;
  readonly refuse: (error: ApiError) => void;
}

/**
 * Counts what the client sends while grpc-js collects it, until the message is complete, and ends the admission with
 * the stream.
 */
export function guardBody(
  stream: ServerHttp2Stream,
  admission: Admission,
  { maxBytes, timeoutMs, refuse }: BodyGuard,
): void {
  let received = 0;
  const onData = (chunk: Buffer): void => {
    received += chunk.length;
    try {
      if (received > maxBytes) throw bodyTooLarge(maxBytes);
      admission.holdChunk(chunk);
    } catch (error) {
      stop();
      refuse(error as ApiError);
    }
  };
  const timer = setTimeout(() => {
    stop();
    refuse(bodyTooSlow(timeoutMs));
  }, timeoutMs);
  const stop = (): void => {
    clearTimeout(timer);
    stream.off("data", onData);
  };
  // grpc-js has paused the stream, and adding a listener does not resume it.
  stream.on("data", onData);
  stream.once("end", stop);
  if (stream.destroyed) end();
  else stream.once("close", end);

  function end(): void {
    stop();
    admission.end();
  }
}
