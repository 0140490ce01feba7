import { spokenFor } from "./access.js";
import type { Call } from "./call.js";
import { DomainError, invalidArgument } from "./errors.js";
import type { Limits } from "./limits.js";
import { checkBytes, checkId, checkIsObject, checkOptionalId, checkText, hasControl } from "./validate.js";

/** The most annotations of a session, and of one message. */
export const MOST_ANNOTATIONS = 1000;
export const MOST_ANNOTATIONS_OF_MESSAGE = 16;

/** The most bytes of an annotation's text, and of its author. */
export const MOST_ANNOTATION_BYTES = 16 * 1024;
export const MOST_AUTHOR_BYTES = 128;
const THUMBS = ["", "up", "down"] as const;

export type Thumb = (typeof THUMBS)[number];

/** What an annotation says. Empty where it says nothing. */
export interface AnnotationContent {
  readonly thumb: Thumb;
  readonly text: string;
  /** Who says it. */
  readonly author: string;
}

/** A note or feedback on a message. */
export interface Annotation extends AnnotationContent {
  /** Unique within the session. */
  readonly annotationId: string;
  readonly messageId: string;
  /** Microseconds since 1970. */
  readonly createTimeMicros: number;
  readonly updateTimeMicros: number;
}

/** An annotation with the message that it is about, as a backup keeps it. */
export interface StoredAnnotation extends Annotation {
  /** The session that the message was first written to. */
  readonly originSessionId: string;
  readonly messageTimestampMicros: number;
}

/** An annotation as a caller gives it. It has a thumb, a text or both. */
export interface NewAnnotation extends AnnotationChange {
  /** A ULID is made when absent. */
  readonly annotationId?: string | undefined;
  readonly messageId: string;
}

/** New content of an annotation. Absent fields stay as they are. */
export type AnnotationChange = { readonly [K in keyof AnnotationContent]?: AnnotationContent[K] | undefined };

/** A place in the list of a session's annotations. Opaque above the provider. */
export interface AnnotationCursor {
  readonly sessionUid: string;
  /** The message of the list's filter; empty for all. */
  readonly messageId: string;
  readonly createTimeMicros: number;
  readonly annotationId: string;
}

export interface AnnotationPage {
  /** The oldest first; with the same time, by id. */
  readonly annotations: readonly Annotation[];
  /** Absent when nothing follows at present. */
  readonly next?: AnnotationCursor | undefined;
}

export function checkNewAnnotation(annotation: NewAnnotation, limits: Limits): void {
  checkIsObject("annotation", annotation);
  checkOptionalId("annotation.annotation_id", annotation.annotationId, limits);
  checkId("annotation.message_id", annotation.messageId, limits);
  checkAnnotationChange(annotation);
  const { thumb = "", text = "" } = annotation;
  checkSaysSomething({ thumb, text });
}

export function checkAnnotationChange({ thumb = "", text = "", author = "" }: AnnotationChange): void {
  if (!THUMBS.includes(thumb)) {
    throw invalidArgument(`annotation.thumb is ${JSON.stringify(thumb)}; it must be "up", "down" or empty`);
  }
  checkText("annotation.text", text);
  checkBytes("annotation.text", Buffer.byteLength(text), MOST_ANNOTATION_BYTES);
  checkText("annotation.author", author);
  checkBytes("annotation.author", Buffer.byteLength(author), MOST_AUTHOR_BYTES);
  if (hasControl(author)) throw invalidArgument("annotation.author must not contain control characters");
}

export function checkSaysSomething({ thumb, text }: Pick<AnnotationContent, "thumb" | "text">): void {
  if (thumb === "" && text === "") throw invalidArgument("annotation needs a thumb or a text");
}

/**
 * The author of an annotation that a caller gives this one. A caller that is bound to an owner, or has a ticket that
 * such a caller made, speaks for that owner: anybody else is `permission_denied`.
 */
export function authorFor(call: Call | undefined, author: string | undefined): string | undefined {
  const owner = spokenFor(call);
  if (owner === undefined || author === owner) return author;
  if (author === undefined || author === "") return owner;
  throw new DomainError("permission_denied", "annotation.author is not the owner that the caller speaks for");
}

/** Whether a repeated call gives the annotation that there is already. */
export function isSameAnnotation(stored: Annotation, given: NewAnnotation): boolean {
  const { thumb = "", text = "", author = "" } = given;
  return (
    stored.messageId === given.messageId && stored.thumb === thumb && stored.text === text && stored.author === author
  );
}

/** Orders annotations as lists do. */
export function compareAnnotations(
  a: Pick<Annotation, "createTimeMicros" | "annotationId">,
  b: Pick<Annotation, "createTimeMicros" | "annotationId">,
): number {
  if (a.createTimeMicros !== b.createTimeMicros) return a.createTimeMicros - b.createTimeMicros;
  if (a.annotationId === b.annotationId) return 0;
  return a.annotationId < b.annotationId ? -1 : 1;
}
