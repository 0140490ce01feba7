import type { IncomingHttpHeaders } from "node:http";
import { invalidArgument } from "../../api/api-error.js";

const UNIT_MS: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

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
