import { embeddedSize, structSize, textFieldSize } from "./message-size.js";
import type { MessagePreview, Session } from "./session.js";

/** At most what the times, counts and flags of a session take. */
const NUMBERS_BYTES = 100;
const TIMESTAMP_BYTES = 20;

/** The bytes that a session takes in a list as protobuf, or slightly more. */
export function listedSize(session: Session): number {
  const { sessionId, parentId, forkPointId, title, metadata, labels = {}, owner = "", lastMessage } = session;
  let size = NUMBERS_BYTES + textsSize(sessionId, parentId, forkPointId, title, owner);
  if (metadata !== undefined) size += embeddedSize(structSize(metadata));
  for (const [key, value] of Object.entries(labels)) size += embeddedSize(textsSize(key, value));
  if (lastMessage !== undefined) size += embeddedSize(previewSize(lastMessage));
  return embeddedSize(size);
}

function previewSize({ messageId, role, text }: MessagePreview): number {
  return TIMESTAMP_BYTES + textsSize(messageId, role, text);
}

function textsSize(...texts: readonly string[]): number {
  return texts.reduce((size, text) => size + textFieldSize(Buffer.byteLength(text)), 0);
}
