import type { Call } from "../../domain/call.js";
import { DomainError } from "../../domain/errors.js";

/** Gives the work a call that ends as this one does, or with `unavailable` when `timeoutMs` have passed before that. */
export async function withinLimit<T>(
  call: Call | undefined,
  timeoutMs: number,
  work: (limited: Call) => Promise<T>,
): Promise<T> {
  const limitMs = Date.now() + timeoutMs;
  if (call?.deadlineMs !== undefined && call.deadlineMs <= limitMs) return work(call);
  try {
    return await work({ deadlineMs: limitMs, signal: call?.signal });
  } catch (error) {
    const isLate = error instanceof DomainError && error.code === "deadline_exceeded";
    throw isLate ? new DomainError("unavailable", "PostgreSQL does not answer") : error;
  }
}
