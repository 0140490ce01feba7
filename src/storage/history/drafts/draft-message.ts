import { sameContent } from "../../../domain/chat-message.js";
import { isErased } from "../../../domain/erasure.js";
import type { BodyContent } from "../../../domain/message-body.js";
import type { DraftMessages } from "../append/append-job.js";
import type { DraftRef, Entry } from "../log-store.js";
import { type DraftState, withFields } from "./draft-state.js";

/** A message of a history, to be compared with a draft's. */
export interface StoredMessage extends BodyContent {
  readonly id: string;
  readonly role: string;
}

/** The id that the message of a draft gets when another message has taken the draft's. Nothing else can have it. */
export function renamedIdOf({ log }: Pick<DraftRef, "log">): string {
  return log;
}

/** The ids that the message of a draft may have. */
export function possibleIdsOf(ref: DraftRef): readonly string[] {
  return [ref.messageId, renamedIdOf(ref)];
}

function storedOf({ id, role, body: { parts, metadata, usage } }: Entry): StoredMessage {
  return { id, role, parts, metadata, usage };
}

/** Makes both forms of the message from the content of a draft. */
export function messagesOf(ref: DraftRef, state: DraftState): DraftMessages {
  const own = {
    id: ref.messageId,
    role: state.role,
    parts: state.content.parts,
    metadata: state.metadata,
    usage: state.usage,
    timestampMicros: ref.timestampMicros ?? undefined,
  };
  const metadata = withFields(state.metadata, { original_message_id: ref.messageId });
  return { own, renamed: { ...own, id: renamedIdOf(ref), metadata } };
}

/**
 * Whether a message is the one that was appended for this finished draft. Only that message can have the name of the
 * draft's log as its id. A message with the draft's own id must have the draft's content, or be erased, because erased
 * content must not come back.
 */
export function isMessageOf(ref: DraftRef, state: DraftState, message: StoredMessage): boolean {
  if (state.end !== "finished") return false;
  if (message.id === renamedIdOf(ref)) return true;
  return message.id === ref.messageId && (isErased(message) || sameContent(messagesOf(ref, state).own, message));
}

/** Whether one of these entries is the message of a draft, and not just one that has taken its id. */
export function holdMessageOf(ref: DraftRef, state: DraftState, entries: readonly Entry[]): boolean {
  return entries.some((entry) => isMessageOf(ref, state, storedOf(entry)));
}
