import {
  type Annotation,
  type AnnotationChange,
  type AnnotationCursor,
  type AnnotationPage,
  compareAnnotations,
  isSameAnnotation,
  MOST_ANNOTATIONS_OF_MESSAGE,
  type NewAnnotation,
} from "../../../src/domain/annotation.js";
import { isSameMessage, type MessageIdentity } from "../../../src/domain/erasure.js";
import { DomainError, invalidArgument, notFound } from "../../../src/domain/errors.js";
import type { NaiveAnnotation, NaiveSession } from "./naive-session.js";

export function createAnnotation(session: NaiveSession, given: NewAnnotation, nowMicros: number): Annotation {
  const { annotationId = "", messageId, thumb = "", text = "", author = "" } = given;
  const content = { thumb, text, author };
  // Those of messages that nothing can show any more are in nobody's way.
  const held = annotationsOf(session, [...session.messages, ...(session.undo ?? [])]);
  const known = held.find(({ annotation }) => annotation.annotationId === annotationId)?.annotation;
  if (known && isSameAnnotation(known, { messageId, ...content })) return known;
  if (known) throw new DomainError("already_exists", `Another annotation ${annotationId}`);
  const message = session.messages.find(({ id }) => id === messageId);
  if (message === undefined) throw notFound("Message", messageId);
  const ofMessage = held.filter((one) => isSameMessage(one.message, message));
  if (ofMessage.length >= MOST_ANNOTATIONS_OF_MESSAGE) throw new DomainError("resource_exhausted", "Too many");
  const times = { createTimeMicros: nowMicros, updateTimeMicros: nowMicros };
  const annotation = { annotationId, messageId, ...content, ...times };
  const isKnown = session.annotations.some((one) => one.annotation.annotationId === annotationId);
  const others = isKnown ? held : session.annotations;
  session.annotations = [...others, { annotation, message }];
  return annotation;
}

export function updateAnnotation(
  session: NaiveSession,
  annotationId: string,
  { thumb, text }: AnnotationChange,
  caller: string | undefined,
  nowMicros: number,
): Annotation {
  const found = findAnnotation(session, annotationId);
  const { annotation } = found;
  if (caller !== undefined && !["", caller].includes(annotation.author)) {
    throw new DomainError("permission_denied", `${annotation.author} said this`);
  }
  const author = caller ?? annotation.author;
  const content = { thumb: thumb ?? annotation.thumb, text: text ?? annotation.text, author };
  if (content.thumb === "" && content.text === "") throw invalidArgument("An annotation that says nothing");
  if (isSameAnnotation(annotation, { messageId: annotation.messageId, ...content })) return annotation;
  const updated = { ...annotation, ...content, updateTimeMicros: nowMicros };
  session.annotations = session.annotations.map((one) => (one === found ? { ...one, annotation: updated } : one));
  return updated;
}

export function deleteAnnotation(session: NaiveSession, annotationId: string): void {
  const found = findAnnotation(session, annotationId);
  session.annotations = session.annotations.filter((one) => one !== found);
}

export function listAnnotations(
  session: NaiveSession,
  { messageId, limit, cursor }: { messageId: string; limit: number; cursor?: AnnotationCursor | undefined },
): AnnotationPage {
  const left = shownAnnotations(session)
    .map(({ annotation }) => annotation)
    .filter((annotation) => messageId === "" || annotation.messageId === messageId)
    .filter((annotation) => cursor === undefined || compareAnnotations(annotation, cursor) > 0)
    .sort(compareAnnotations);
  const annotations = left.slice(0, limit);
  const last = annotations.at(-1);
  if (last === undefined || annotations.length === left.length) return { annotations };
  const { createTimeMicros, annotationId } = last;
  return { annotations, next: { sessionUid: `${session.uid}`, messageId, createTimeMicros, annotationId } };
}

/** Removes what was said about a message. */
export function eraseAnnotations(session: NaiveSession, message: MessageIdentity): void {
  session.annotations = session.annotations.filter((one) => !isSameMessage(one.message, message));
}

function findAnnotation(session: NaiveSession, annotationId: string): NaiveAnnotation {
  const found = shownAnnotations(session).find(({ annotation }) => annotation.annotationId === annotationId);
  if (found === undefined) throw notFound("Annotation", annotationId);
  return found;
}

/** Those of messages that the session shows. */
function shownAnnotations(session: NaiveSession): readonly NaiveAnnotation[] {
  return annotationsOf(session, session.messages);
}

function annotationsOf(
  { annotations }: NaiveSession,
  messages: readonly MessageIdentity[],
): readonly NaiveAnnotation[] {
  return annotations.filter(({ message }) => messages.some((one) => isSameMessage(one, message)));
}
