import type { ServerResponse } from "node:http";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import type { HttpResponse } from "./http-listener.js";
import { withinStallTime } from "./stall.js";

/** Sends an answer of connect-node, as fast as the client reads. Rejects when the client has gone, or does not read. */
export async function sendResponse(
  answer: UniversalServerResponse,
  response: HttpResponse,
  signal: AbortSignal,
): Promise<void> {
  const out = response as ServerResponse;
  if (!out.headersSent) out.writeHead(answer.status, toHeaders(answer.header));
  for await (const chunk of answer.body ?? []) {
    if (chunk.length > 0) await withinStallTime((done) => out.write(chunk, () => done()), signal);
  }
  if (answer.trailer !== undefined) out.addTrailers(toHeaders(answer.trailer));
  out.end();
}

/** Sends the headers of a stream at once: connect-node holds them back until the first message. */
export function sendStreamHead(header: Headers, response: HttpResponse): void {
  const out = response as ServerResponse;
  out.writeHead(200, toHeaders(header));
  out.flushHeaders();
}

function toHeaders(headers: Headers | undefined): Record<string, string> {
  return Object.fromEntries(headers ?? []);
}
