import { embeddedSize, structSize, textFieldSize, usageFieldSize } from "./message-size.js";
import type { MessagePreview, Session } from "./session.js";
import { amountText, type UsageSums } from "./usage.js";

/** At most what the times, counts and flags of a session take. */
const NUMBERS_BYTES = 100;
const TIMESTAMP_BYTES = 20;
/** At most what the numbers of a sum take, with the field around them. */
const SUMS_BYTES = 90;

/** The bytes that a session takes in a list as protobuf, or slightly more. */
export function listedSize(session: Session): number {
  const { sessionId, parentId, forkPointId, title, metadata, labels = {}, owner = "", lastMessage } = session;
  let size = NUMBERS_BYTES + textsSize(sessionId, parentId, forkPointId, title, owner);
  if (metadata !== undefined) size += embeddedSize(structSize(metadata));
  for (const [key, value] of Object.entries(labels)) size += embeddedSize(textsSize(key, value));
  if (lastMessage !== undefined) size += embeddedSize(previewSize(lastMessage));
  for (const sums of [session.usage, session.inheritedUsage]) if (sums !== undefined) size += sumsSize(sums);
  return embeddedSize(size);
}

function previewSize({ messageId, role, text, usage, error = "" }: MessagePreview): number {
  return TIMESTAMP_BYTES + textsSize(messageId, role, text, error) + usageFieldSize(usage);
}

function sumsSize({ costs }: UsageSums): number {
  let size = SUMS_BYTES;
  for (const [currency, units] of costs) size += embeddedSize(textsSize(currency, amountText(units)));
  return size;
}

function textsSize(...texts: readonly string[]): number {
  return texts.reduce((size, text) => size + textFieldSize(Buffer.byteLength(text)), 0);
}
