import type { IncomingHttpHeaders } from "node:http";
import { invalidArgument } from "../../api/api-error.js";
import type { ApiMethod } from "../../api/method-table.js";
import type { Arrival, CallPipeline, FrontCall } from "../call/front-call.js";
import { connectionOf, goneSignal, type HttpExchange } from "./exchange.js";
import { factsOf } from "./request-facts.js";
import { endWhenSent } from "./respond.js";

/** The units of `Grpc-Timeout`. */
const UNIT_MS: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/**
 * Authenticates a request and admits it as a call of the method. Its place is given back when the answer has been sent.
 * Rejects with ApiError.
 */
export async function startCall(
  front: Arrival["front"],
  pipeline: CallPipeline,
  method: ApiMethod,
  { request, response }: HttpExchange,
  signal = goneSignal(request, response),
): Promise<FrontCall> {
  const deadlineMs = readDeadline(request.headers, Date.now());
  const facts = factsOf(request);
  const principal = await pipeline.authenticate(facts);
  const connection = connectionOf(request);
  const admission = pipeline.admit(method, { front, principal, facts, connection });
  endWhenSent(admission, response);
  // Copying the arrival with a spread would cost a tenth of a small call.
  return { front, principal, facts, connection, admission, deadlineMs, signal };
}

/**
 * When the client stops waiting, in milliseconds since 1970: by `Grpc-Timeout` or `Connect-Timeout-Ms`, or the earlier
 * one if both are given.
 */
export function readDeadline(headers: IncomingHttpHeaders, nowMs: number): number | undefined {
  const grpc = headers["grpc-timeout"];
  const connect = headers["connect-timeout-ms"];
  if (grpc === undefined && connect === undefined) return undefined;
  const grpcMs = grpc === undefined ? Number.POSITIVE_INFINITY : readGrpcTimeout(String(grpc));
  return nowMs + Math.min(grpcMs, readConnectTimeout(connect));
}

/** The milliseconds that a value of `Grpc-Timeout` stands for. */
export function readGrpcTimeout(text: string): number {
  const [, digits, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  if (unitMs === undefined)
    throw invalidArgument(`Grpc-Timeout must be up to 8 digits and one of H M S m u n; it is ${JSON.stringify(text)}`);
  return Number(digits) * unitMs;
}

function readConnectTimeout(text: string | string[] | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY;
  if (!/^\d{1,10}$/.test(String(text)))
    throw invalidArgument(`Connect-Timeout-Ms must be up to 10 digits; it is ${JSON.stringify(text)}`);
  return Number(text);
}
