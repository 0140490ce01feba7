import type { ServerHttp2Stream } from "node:http2";
import { Code } from "@connectrpc/connect";
import { ApiError } from "../../api/api-error.js";
import type { Admission } from "../load/admissions.js";

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
      if (received > maxBytes) throw tooLarge(maxBytes);
      admission.holdChunk(chunk);
    } catch (error) {
      stop();
      refuse(error as ApiError);
    }
  };
  const timer = setTimeout(() => {
    stop();
    refuse(tooSlow(timeoutMs));
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

function tooLarge(limitBytes: number): ApiError {
  return new ApiError(Code.ResourceExhausted, `The request is larger than ${limitBytes} bytes`);
}

function tooSlow(limitMs: number): ApiError {
  return new ApiError(Code.DeadlineExceeded, `The request was not complete after ${limitMs / 1000} seconds`);
}
