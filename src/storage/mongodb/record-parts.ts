import type { Long } from "mongodb";
import type { DraftRef, EditMark, Markable, NamedLog, Segment } from "../history/log-store.js";
import { int64 } from "./entry-document.js";

/** The mark of a sweep, and the bytes that it has found there if they are counted. */
export interface Marked {
  readonly marked_time?: Date;
  readonly bytes?: Long | number;
}

/** An edit of messages; `single` as in SingleEdit. */
export interface EditDocument {
  readonly revision: number;
  readonly kept: number;
  readonly erased?: true;
  readonly single?: { readonly kind: "updated" } | { readonly kind: "deleted"; readonly message_id: string };
}

export interface NamedLogDocument extends Marked {
  readonly log: string;
  readonly purpose: NamedLog["purpose"];
}

export interface DraftDocument extends Marked {
  readonly log: string;
  readonly message_id: string;
  readonly timestamp: Long | number | null;
  readonly discard_when_abandoned: boolean;
  readonly end?: DraftRef["end"];
}

/** Without the fields that are beside it. */
export function segmentOf({ log, first, last }: Segment): Segment {
  return { log, first, last };
}

export function toMarkable({ marked_time, bytes }: Marked): Markable {
  if (!marked_time) return {};
  return { markedAtMs: marked_time.getTime(), ...(bytes !== undefined && { bytes: Number(bytes) }) };
}

export function toMarked({ markedAtMs, bytes }: Markable): Marked {
  if (markedAtMs === undefined) return {};
  return { marked_time: new Date(markedAtMs), ...(bytes !== undefined && { bytes: int64(bytes) }) };
}

export function toEdit({ single, ...edit }: EditDocument): EditMark {
  if (!single) return edit;
  const { kind } = single;
  return { ...edit, single: kind === "deleted" ? { kind, messageId: single.message_id } : { kind } };
}

export function toEditDocument({ revision, kept, erased, single }: EditMark): EditDocument {
  const edit = { revision, kept, ...(erased && { erased }) };
  if (!single) return edit;
  const { kind } = single;
  return { ...edit, single: kind === "deleted" ? { kind, message_id: single.messageId } : { kind } };
}

export function toNamedLog({ log, purpose, ...marked }: NamedLogDocument): NamedLog {
  return { log, purpose, ...toMarkable(marked) };
}

export function toNamedLogDocument({ log, purpose, ...mark }: NamedLog): NamedLogDocument {
  return { log, purpose, ...toMarked(mark) };
}

export function toDraft({
  log,
  message_id,
  timestamp,
  discard_when_abandoned,
  end,
  ...marked
}: DraftDocument): DraftRef {
  return {
    log,
    messageId: message_id,
    timestampMicros: timestamp === null ? null : Number(timestamp),
    discardWhenAbandoned: discard_when_abandoned,
    ...(end !== undefined && { end }),
    ...toMarkable(marked),
  };
}

export function toDraftDocument(draft: DraftRef): DraftDocument {
  const { log, messageId, timestampMicros, discardWhenAbandoned, end, ...mark } = draft;
  return {
    log,
    message_id: messageId,
    timestamp: timestampMicros === null ? null : int64(timestampMicros),
    discard_when_abandoned: discardWhenAbandoned,
    ...(end !== undefined && { end }),
    ...toMarked(mark),
  };
}
