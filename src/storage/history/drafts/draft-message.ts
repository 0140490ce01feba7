import { type NewChatMessage, sameContent } from "../../../domain/chat-message.js";
import { isErased } from "../../../domain/erasure.js";
import type { BodyContent } from "../../../domain/message-body.js";
import type { DraftRef, Entry } from "../log-store.js";
import { type DraftState, withFields } from "./draft-state.js";

/** A message of a history, to be compared with a draft's. */
export interface StoredMessage extends BodyContent {
  readonly id: string;
  readonly role: string;
}

/** Both forms that the message of a finished draft may have. */
export interface DraftMessages {
  readonly own: NewChatMessage & { readonly id: string };
  /** When another message has taken the draft's id: the id is the name of the draft's log, and the metadata says which it was. */
  readonly spare: NewChatMessage & { readonly id: string };
}

/** The id that the message of a draft gets when another message has taken its own. Nothing else has it. */
export function spareIdOf({ log }: Pick<DraftRef, "log">): string {
  return log;
}

export function storedOf({ id, role, body: { parts, metadata } }: Entry): StoredMessage {
  return { id, role, parts, metadata };
}

/** What the draft makes of itself. */
export function messagesOf(ref: DraftRef, state: DraftState): DraftMessages {
  const own = {
    id: ref.messageId,
    role: state.role,
    parts: state.content.parts,
    metadata: state.metadata,
    timestampMicros: ref.timestampMicros ?? undefined,
  };
  const metadata = withFields(state.metadata, { original_message_id: ref.messageId });
  return { own, spare: { ...own, id: spareIdOf(ref), metadata } };
}

/**
 * Whether a message is what was appended of a draft whose log holds this, before any edit of it. One that was erased
 * counts as the draft's: its content must not come back.
 */
export function isMessageOf(ref: DraftRef, state: DraftState, message: StoredMessage): boolean {
  if (state.end !== "finished") return false;
  if (message.id === spareIdOf(ref)) return true;
  return message.id === ref.messageId && (isErased(message) || sameContent(messagesOf(ref, state).own, message));
}
