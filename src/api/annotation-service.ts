import type { AnnotationService } from "../../gen/sessionpool/v1/annotation_service_pb.js";
import { NotImplementedError } from "../domain/errors.js";
import type { ServiceMethods } from "./api-method.js";

export const annotationMethods: ServiceMethods<typeof AnnotationService> = {
  createAnnotation: { scope: "write", ticket: "write", handle: lacks },
  listAnnotations: { scope: "read", ticket: "read", handle: lacks },
  updateAnnotation: { scope: "write", ticket: "write", handle: lacks },
  deleteAnnotation: { scope: "write", ticket: "write", handle: lacks },
};

async function lacks(): Promise<never> {
  throw new NotImplementedError("StorageProvider", "annotations");
}
