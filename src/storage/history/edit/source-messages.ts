import type { Call } from "../../../domain/call.js";
import { type Head, type HistoryContext, visibleSegments } from "../heads.js";
import type { Segment } from "../log-store.js";
import { entryAt, locateOnHead } from "../read/lookup.js";
import { sliceSegments } from "../segments.js";
import { noMessage } from "./editor.js";

/** What a fork or copy takes from its source. */
export interface SourceMessages {
  readonly segments: readonly Segment[];
  readonly lastId: string | null;
  readonly lastTimestampMicros: number | null;
}

/**
 * What a source shows up to a message, or everything when the id is empty. invalid_argument: it does not show that
 * message.
 */
export async function messagesUpTo(
  context: HistoryContext,
  source: Head,
  upToMessageId: string,
  call?: Call,
): Promise<SourceMessages> {
  const visible = visibleSegments(source);
  if (upToMessageId !== "") {
    const last = (await locateOnHead(context, source, [upToMessageId], call)).get(upToMessageId);
    if (!last) throw noMessage(upToMessageId, source.record.sessionId);
    const segments = sliceSegments(visible, 0, last.position + 1);
    return { segments, lastId: upToMessageId, lastTimestampMicros: last.entry.timestampMicros };
  }
  if (source.count === 0) return { segments: [], lastId: null, lastTimestampMicros: null };
  const lastId = source.lastId ?? (await entryAt(context, visible, source.count - 1, call)).id;
  return { segments: visible, lastId, lastTimestampMicros: source.lastTimestampMicros };
}
