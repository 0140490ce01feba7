import type { Annotation } from "../../../domain/annotation.js";
import { isErased } from "../../../domain/erasure.js";
import type { JsonObject } from "../../../domain/json.js";
import { MessageBody } from "../../../domain/message-body.js";
import type { Entry } from "../log-store.js";
import type { Unplaced } from "../write/side-logs.js";

/** The role of entries that are annotations, which no list of messages shows. */
const ROLE = "annotation";

/**
 * The entry of an annotation. It has the id, origin and timestamp of its message, so that it counts as a copy of the
 * message: whatever finds all copies in order to erase them finds the annotations, too, however old.
 */
export function toEntry(annotation: Annotation, message: Entry | Unplaced): Unplaced {
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
export function toAnnotation({ id, body }: Entry): Annotation | null {
  if (isErased(body)) return null;
  const content = body.parts[0]?.data as unknown as Omit<Annotation, "messageId">;
  return { ...content, messageId: id };
}
