import type { Call, Json, Row } from "./row.js";
import { GIVEN, NO_SESSION } from "./session-rows.js";

const NOTE: Json = { annotationId: "n", messageId: "m2", thumb: "up", text: "Right.", author: "ada" };
const ANNOTATION: Json = { ...NOTE, createTime: "$any", updateTime: "$any" };
const CREATE: Json = { sessionId: "s", annotation: NOTE };
const ANNOTATED: readonly Call[] = [...GIVEN, ["AnnotationService.CreateAnnotation", CREATE]];
const N: Json = { sessionId: "s", annotationId: "n" };
const NO_ANNOTATION = { code: "not_found", message: 'Annotation "x" not found' } as const;

export const ANNOTATION_ROWS: readonly Row[] = [
  {
    rpc: "AnnotationService.CreateAnnotation",
    what: "feedback on a message",
    given: GIVEN,
    request: CREATE,
    answer: ANNOTATION,
  },
  {
    rpc: "AnnotationService.CreateAnnotation",
    what: "the same again",
    given: ANNOTATED,
    request: CREATE,
    answer: ANNOTATION,
  },
  {
    rpc: "AnnotationService.CreateAnnotation",
    what: "another one under the same id",
    given: ANNOTATED,
    request: { sessionId: "s", annotation: { ...NOTE, thumb: "down" } },
    error: { code: "already_exists", message: 'Session "s" has another annotation "n"' },
  },
  {
    rpc: "AnnotationService.CreateAnnotation",
    what: "an unknown verdict",
    given: GIVEN,
    request: { sessionId: "s", annotation: { messageId: "m1", thumb: "sideways" } },
    error: { code: "invalid_argument", message: 'annotation.thumb is "sideways"; it must be "up", "down" or empty' },
  },
  {
    rpc: "AnnotationService.CreateAnnotation",
    what: "nothing to say",
    given: GIVEN,
    request: { sessionId: "s", annotation: { messageId: "m1", author: "ada" } },
    error: { code: "invalid_argument", message: "annotation needs a thumb or a text" },
  },
  {
    rpc: "AnnotationService.CreateAnnotation",
    what: "a message that the session does not have",
    given: GIVEN,
    request: { sessionId: "s", annotation: { messageId: "m9", thumb: "up" } },
    error: { code: "not_found", message: 'Message "m9" not found' },
  },
  {
    rpc: "AnnotationService.ListAnnotations",
    what: "those of one message",
    given: ANNOTATED,
    request: { sessionId: "s", messageId: "m2", limit: 1 },
    answer: { annotations: [ANNOTATION] },
  },
  {
    rpc: "AnnotationService.ListAnnotations",
    what: "none",
    given: ANNOTATED,
    request: { sessionId: "s", messageId: "m1" },
    answer: {},
  },
  {
    rpc: "AnnotationService.ListAnnotations",
    what: "an unknown session",
    request: { sessionId: "nobody" },
    error: NO_SESSION,
  },
  {
    rpc: "AnnotationService.UpdateAnnotation",
    what: "what is set",
    given: ANNOTATED,
    request: { ...N, annotation: { thumb: "down" } },
    answer: { ...ANNOTATION, thumb: "down" },
  },
  {
    rpc: "AnnotationService.UpdateAnnotation",
    what: "what the mask names",
    given: ANNOTATED,
    request: { ...N, annotation: { text: "ignored" }, updateMask: "thumb,author" },
    answer: { annotationId: "n", messageId: "m2", text: "Right.", createTime: "$any", updateTime: "$any" },
  },
  {
    rpc: "AnnotationService.UpdateAnnotation",
    what: "an unknown annotation",
    given: ANNOTATED,
    request: { ...N, annotationId: "x", annotation: { thumb: "down" } },
    error: NO_ANNOTATION,
  },
  { rpc: "AnnotationService.DeleteAnnotation", what: "an annotation", given: ANNOTATED, request: N, answer: {} },
  {
    rpc: "AnnotationService.DeleteAnnotation",
    what: "an unknown annotation",
    given: ANNOTATED,
    request: { ...N, annotationId: "x" },
    error: NO_ANNOTATION,
  },
];
