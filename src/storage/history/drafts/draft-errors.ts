import type { DraftDelta } from "../../../domain/draft.js";
import { DomainError, invalidArgument, notAsExpected, notFound } from "../../../domain/errors.js";
import type { Limits } from "../../../domain/limits.js";
import { messageSize } from "../../../domain/message-size.js";
import { checkMetadata } from "../../../domain/validate-struct.js";
import type { FinishDraftOptions } from "../../storage-provider.js";
import type { FoundDraft } from "./draft-finder.js";
import { withFields } from "./draft-state.js";

export function noDraft(messageId: string): DomainError {
  return notFound("Draft", messageId);
}

export function hasEnded(messageId: string, end: "finished" | "discarded"): DomainError {
  return new DomainError("failed_precondition", `Draft ${JSON.stringify(messageId)} is ${end}`);
}

export function otherVersion(messageId: string, version: number, current: number): DomainError {
  const draft = `draft ${JSON.stringify(messageId)}`;
  return notAsExpected(`version is ${version}, but ${draft} has version ${current}`, "version", current);
}

/**
 * Throws invalid_argument when these deltas would make the message too large, or give it too many parts or attachments,
 * or the draft too many deltas. Deltas that add none are allowed even if a higher limit has let more in.
 */
export function checkRoom(
  draft: FoundDraft,
  deltas: readonly DraftDelta[],
  limits: Limits,
  { metadata: more, usage = draft.state.usage }: Pick<FinishDraftOptions, "metadata" | "usage"> = {},
): void {
  const { ref, state } = draft;
  checkCount(draft, deltas.length, limits);
  const parts = state.content.countWith(deltas);
  if (parts > state.content.count && parts > limits.parts) {
    throw invalidArgument(
      `The message would have ${parts} parts with these deltas; at most ${limits.parts} are allowed`,
    );
  }
  const attachments = state.content.attachmentsWith(deltas);
  if (attachments > state.content.attachments && attachments > limits.messageAttachments) {
    throw invalidArgument(
      `The message would name ${attachments} attachments with these deltas; at most ${limits.messageAttachments} are allowed (--limit-message-attachments)`,
    );
  }
  const metadata = withFields(state.metadata, more);
  if (more !== undefined) checkMetadata("metadata", metadata, limits);
  const timestampMicros = ref.timestampMicros ?? undefined;
  const envelope = messageSize({ id: ref.messageId, role: state.role, parts: [], metadata, usage, timestampMicros });
  const bytes = envelope + state.content.bytesWith(deltas);
  if (bytes > limits.messageBytes) {
    throw invalidArgument(
      `The message would be ${bytes} bytes with these deltas; at most ${limits.messageBytes} are allowed`,
    );
  }
}

/** Throws invalid_argument when so many more deltas would be too many for the draft. */
export function checkCount({ state }: FoundDraft, more: number, limits: Limits): void {
  const count = state.content.deltas + more;
  if (count <= limits.draftDeltas) return;
  throw invalidArgument(`deltas would be ${count} in all; at most ${limits.draftDeltas} are allowed in a draft`);
}
