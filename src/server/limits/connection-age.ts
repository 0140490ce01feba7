import type { ServerHttp2Session } from "node:http2";

/** The most by which the age of a connection differs from the limit, as a part of it. */
const JITTER = 0.1;
/**
 * How many different ages there are. For each different time of an unref'd timer, Node keeps a list until that time has
 * come, even if the timer was cleared. Ages chosen freely would therefore leave memory behind.
 */
const AGES = 100;

/**
 * How long a connection accepts calls, in milliseconds, for a `random` number from 0 up to 1. Connections made
 * at the same moment do not all end at the same moment.
 */
export function jitteredAge(ageMs: number, random: number): number {
  return Math.round(ageMs * (1 - JITTER + (2 * JITTER * Math.floor(random * AGES)) / AGES));
}

/** Has a session accept no new calls once it has this age. Open streams continue. */
export function endAged(session: ServerHttp2Session, ageMs: number): void {
  const timer = setTimeout(() => session.close(), jitteredAge(ageMs, Math.random())).unref();
  session.once("close", () => clearTimeout(timer));
}
