import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { LONGEST_TIMER_MS } from "../../domain/call-end.js";
import { readGrpcTimeout } from "../http/start-call.js";

const HEADER = "grpc-timeout";

const WITHHELD = Symbol("timeout");

type MarkedStream = ServerHttp2Stream & { [WITHHELD]?: string };

/**
 * Withholds from grpc-js a timeout that it would misread: it takes `-1S` for `1S`, and more than 24 days for a time
 * that has passed.
 */
export function withholdTimeout(stream: MarkedStream, headers: IncomingHttpHeaders): void {
  const text = headers[HEADER];
  if (text === undefined || isReadWell(String(text))) return;
  stream[WITHHELD] = String(text);
  delete headers[HEADER];
}

/** Throws unless a timeout that was withheld is a valid one. No timer lasts as long as it says, so none is set. */
export function checkWithheldTimeout(stream: MarkedStream): void {
  const text = stream[WITHHELD];
  if (text !== undefined) readGrpcTimeout(text);
}

function isReadWell(text: string): boolean {
  try {
    return readGrpcTimeout(text) <= LONGEST_TIMER_MS;
  } catch {
    return false;
  }
}
