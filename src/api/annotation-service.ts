import type {
  AnnotationService,
  CreateAnnotationRequest,
  DeleteAnnotationRequest,
  DeleteAnnotationResponse,
  ListAnnotationsRequest,
  ListAnnotationsResponse,
  Annotation as ProtoAnnotation,
  UpdateAnnotationRequest,
} from "../../gen/sessionpool/v1/annotation_service_pb.js";
import type { Annotation, AnnotationChange, Thumb } from "../domain/annotation.js";
import { invalidArgument } from "../domain/errors.js";
import type { ApiContext, ServiceMethods } from "./api-method.js";
import { callOf, optionalText } from "./call-options.js";
import { maskedFields } from "./field-mask.js";
import { decodeAnnotationToken, encodeAnnotationToken } from "./page-token.js";
import { toTimestamp } from "./timestamps.js";

export const annotationMethods: ServiceMethods<typeof AnnotationService> = {
  createAnnotation: { scope: "write", ticket: "write", handle: createAnnotation },
  listAnnotations: { scope: "read", ticket: "read", handle: listAnnotations },
  updateAnnotation: { scope: "write", ticket: "write", handle: updateAnnotation },
  deleteAnnotation: { scope: "write", ticket: "write", handle: deleteAnnotation },
};

async function createAnnotation(
  { sessionId, annotation }: CreateAnnotationRequest,
  context: ApiContext,
): Promise<ProtoAnnotation> {
  if (annotation === undefined) throw invalidArgument("annotation is required");
  const { annotationId, messageId } = annotation;
  const given = { annotationId: optionalText(annotationId), messageId, ...contentOf(annotation) };
  return toAnnotation(await context.rootPool.sessions.annotations.create(sessionId, given, callOf(context)));
}

async function listAnnotations(
  { sessionId, messageId, limit, pageToken }: ListAnnotationsRequest,
  context: ApiContext,
): Promise<ListAnnotationsResponse> {
  const cursor = pageToken === "" ? undefined : decodeAnnotationToken(pageToken);
  const options = { messageId, limit, cursor, ...callOf(context) };
  const page = await context.rootPool.sessions.annotations.list(sessionId, options);
  return {
    $typeName: "sessionpool.v1.ListAnnotationsResponse",
    annotations: page.annotations.map(toAnnotation),
    nextPageToken: page.next ? encodeAnnotationToken(page.next) : "",
  };
}

async function updateAnnotation(request: UpdateAnnotationRequest, context: ApiContext): Promise<ProtoAnnotation> {
  const { sessionId, annotationId } = request;
  const { annotations } = context.rootPool.sessions;
  return toAnnotation(await annotations.update(sessionId, annotationId, changeOf(request), callOf(context)));
}

async function deleteAnnotation(
  { sessionId, annotationId }: DeleteAnnotationRequest,
  context: ApiContext,
): Promise<DeleteAnnotationResponse> {
  await context.rootPool.sessions.annotations.delete(sessionId, annotationId, callOf(context));
  return { $typeName: "sessionpool.v1.DeleteAnnotationResponse" };
}

/** The fields that the mask names or, without one, those that are set. */
function changeOf(request: UpdateAnnotationRequest): AnnotationChange {
  const { annotation, annotationId } = request;
  if (annotation === undefined) throw invalidArgument("annotation is required");
  if (annotation.annotationId !== "" && annotation.annotationId !== annotationId) {
    throw invalidArgument("annotation.annotation_id must be that of the annotation, or empty");
  }
  const content = contentOf(annotation);
  const fields = maskedFields(request);
  return {
    thumb: isChanged("thumb") ? content.thumb : undefined,
    text: isChanged("text") ? content.text : undefined,
    author: isChanged("author") ? content.author : undefined,
  };

  function isChanged(field: keyof AnnotationChange): boolean {
    return fields === undefined ? content[field] !== "" : fields.includes(field);
  }
}

/** The pool checks the thumb. */
function contentOf({ thumb, text, author }: ProtoAnnotation) {
  return { thumb: thumb as Thumb, text, author };
}

function toAnnotation(annotation: Annotation): ProtoAnnotation {
  const { annotationId, messageId, thumb, text, author, createTimeMicros, updateTimeMicros } = annotation;
  return {
    $typeName: "sessionpool.v1.Annotation",
    ...{ annotationId, messageId, thumb, text, author },
    createTime: toTimestamp(createTimeMicros),
    updateTime: toTimestamp(updateTimeMicros),
  };
}
