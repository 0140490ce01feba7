import { call, target } from "./http.js";
import type { Annotation } from "./types.js";

export type AnnotationContent = Pick<Annotation, "thumb" | "text" | "author">;

export function listAnnotations(
  id: string,
  pageToken: string,
  signal?: AbortSignal,
): Promise<{ readonly annotations?: readonly Annotation[]; readonly nextPageToken?: string }> {
  return call(target(["session", id, "annotation"], { limit: 1000, page_token: pageToken }), { signal });
}

/** A repeated call with the same `annotationId` and content makes nothing twice. */
export function createAnnotation(
  id: string,
  annotation: AnnotationContent & Pick<Annotation, "annotationId" | "messageId">,
): Promise<Annotation> {
  return call(target(["session", id, "annotation"]), { method: "POST", body: annotation });
}

export function updateAnnotation(id: string, annotationId: string, content: AnnotationContent): Promise<Annotation> {
  const path = target(["session", id, "annotation", annotationId], { update_mask: "thumb,text,author" });
  return call(path, { method: "PATCH", body: content });
}

export function deleteAnnotation(id: string, annotationId: string): Promise<unknown> {
  return call(target(["session", id, "annotation", annotationId]), { method: "DELETE" });
}
