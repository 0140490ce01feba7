import type { Call } from "../../../domain/call.js";
import { DomainError } from "../../../domain/errors.js";
import type { FinishDraftOptions } from "../../storage-provider.js";
import { misplaced, takenWithOtherContent } from "../append/append-plan.js";
import { endMicros, type HistoryContext, visibleSegments } from "../heads.js";
import { countBefore, locateOnHead } from "../read/lookup.js";
import { openDrafts } from "../record-facts.js";
import { Again } from "../retries.js";
import { isVerdict } from "./draft-entry.js";
import type { FoundDraft } from "./draft-finder.js";

/**
 * Checks, before a draft is finished, whether its message could be appended now. A moment later that may have changed.
 * `aborted`: it would not get the expected position; `already_exists`: another message has its id. Throws `Again` when
 * somebody else has finished the draft meanwhile, because the message may be the draft's own then.
 */
export async function checkFinish(
  context: HistoryContext,
  { record, ref }: FoundDraft,
  { expectedPosition, ...call }: FinishDraftOptions,
): Promise<void> {
  const { sessionId } = record;
  const head = await context.need(sessionId, call);
  if (head.record.uid !== record.uid)
    throw new DomainError("aborted", "The session has been deleted and created again in the meantime");
  if ((await locateOnHead(context, head, [ref.messageId], call)).has(ref.messageId)) {
    const isOpen = openDrafts(head.record).some(({ log }) => log === ref.log);
    if (!isOpen || (await hasVerdict(context, ref.log, call))) throw new Again();
    throw takenWithOtherContent(ref.messageId, sessionId);
  }
  if (expectedPosition === undefined) return;
  const micros = ref.timestampMicros ?? Number.POSITIVE_INFINITY;
  const isLast = micros >= endMicros(head);
  const position = isLast ? head.count : await countBefore(context, visibleSegments(head), micros + 1, call);
  if (position !== expectedPosition) throw misplaced(expectedPosition, position);
}

/** Whether a draft has ended, even if its record still names it as open. */
export async function hasVerdict({ store }: HistoryContext, log: string, call?: Call): Promise<boolean> {
  const { last } = await store.tail(log, call);
  return last !== null && isVerdict(last.id);
}
