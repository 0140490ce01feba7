import type { NumberRange, SessionImage } from "../../domain/session-image.js";
import { bytesOf } from "../../storage/history/edit/new-record.js";
import { MAX_ANCESTRY_BYTES } from "../../storage/history/history-options.js";
import { packedAncestry } from "../../storage/history/transfer/restore-plan.js";

/** Throws an Error when a record cannot hold the chain of parents of a session, however its messages are stored. */
export function checkAncestry({
  sessionId,
  ancestry,
}: Pick<SessionImage<NumberRange>, "sessionId" | "ancestry">): void {
  const bytes = bytesOf(packedAncestry(ancestry));
  if (bytes <= MAX_ANCESTRY_BYTES) return;
  throw new Error(
    `session ${JSON.stringify(sessionId)} has too long a chain of parents: it would take ${bytes} bytes; at most ${MAX_ANCESTRY_BYTES} are allowed`,
  );
}
