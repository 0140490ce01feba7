import type { Annotation, StoredAnnotation } from "../../../domain/annotation.js";
import type { Call } from "../../../domain/call.js";
import { isErased } from "../../../domain/erasure.js";
import type { JsonObject } from "../../../domain/json.js";
import { MessageBody } from "../../../domain/message-body.js";
import type { HistoryContext } from "../heads.js";
import type { Entry, SessionRecord } from "../log-store.js";
import { readSegments } from "../read/lookup.js";
import type { Unplaced } from "../write/side-logs.js";

/** The fields of a message that its annotations have, too. */
type Annotated = Pick<Entry, "id" | "timestampMicros" | "sessionId" | "originSessionId">;

/** The role of entries that are annotations, which no list of messages shows. */
const ROLE = "annotation";

/**
 * The entry of an annotation. It has the id, origin and timestamp of its message, so that it counts as a copy of the
 * message: whatever finds all copies in order to erase them finds the annotations, too, however old.
 */
export function toEntry(annotation: Annotation, message: Annotated): Unplaced {
  const { annotationId, thumb, text, author, createTimeMicros, updateTimeMicros } = annotation;
  const data: JsonObject = { annotationId, thumb, text, author, createTimeMicros, updateTimeMicros };
  return {
    id: message.id,
    timestampMicros: message.timestampMicros,
    role: ROLE,
    body: MessageBody.of({ parts: [{ id: "", type: ROLE, text: "", data }] }),
    sessionId: message.sessionId,
    originSessionId: message.originSessionId,
    remaining: 0,
  };
}

/** The annotation of an entry; null when it was erased. */
function toAnnotation({ id, body }: Entry): Annotation | null {
  if (isErased(body)) return null;
  const content = body.parts[0]?.data as unknown as Omit<Annotation, "messageId">;
  return { ...content, messageId: id };
}

/** An annotation where it is stored. */
export interface Held {
  readonly entry: Entry;
  readonly annotation: Annotation;
}

/**
 * The annotations of a record that are not erased. Throws `Again` when some were swept after the record was read.
 */
export async function readAnnotations(
  context: HistoryContext,
  { annotations = [] }: SessionRecord,
  call?: Call,
): Promise<readonly Held[]> {
  const held: Held[] = [];
  for (const entry of await readSegments(context, annotations, call)) {
    const annotation = toAnnotation(entry);
    if (annotation !== null) held.push({ entry, annotation });
  }
  return held;
}

/** What a backup keeps of an annotation. */
export function toStored({ entry, annotation }: Held): StoredAnnotation {
  const { originSessionId, timestampMicros } = entry;
  return { ...annotation, originSessionId, messageTimestampMicros: timestampMicros };
}

/** The entry of an annotation of a backup, in the session with this id. */
export function fromStored(stored: StoredAnnotation, sessionId: string): Unplaced {
  const { originSessionId, messageTimestampMicros: timestampMicros, ...annotation } = stored;
  return toEntry(annotation, { id: annotation.messageId, timestampMicros, sessionId, originSessionId });
}

/** Lists of entries of different messages, because an id is unique in a log. */
export function layersOf<E extends Pick<Entry, "id">>(entries: readonly E[]): readonly (readonly E[])[] {
  const layers: E[][] = [];
  const counts = new Map<string, number>();
  for (const entry of entries) {
    const depth = counts.get(entry.id) ?? 0;
    counts.set(entry.id, depth + 1);
    const layer = layers[depth];
    if (layer === undefined) layers.push([entry]);
    else layer.push(entry);
  }
  return layers;
}
