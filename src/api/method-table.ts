import type { DescService } from "@bufbuild/protobuf";
import { AnnotationService } from "../../gen/sessionpool/v1/annotation_service_pb.js";
import { AttachmentService } from "../../gen/sessionpool/v1/attachment_service_pb.js";
import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";
import { TodoService, TodoTrackerService } from "../../gen/sessionpool/v1/todo_service_pb.js";
import { UsageService } from "../../gen/sessionpool/v1/usage_service_pb.js";
import { annotationMethods } from "./annotation-service.js";
import type { ApiMethod, ServiceMethods } from "./api-method.js";
import { attachmentMethods } from "./attachment-service.js";
import { maskableFields } from "./field-mask.js";
import { limitStream, limitUnary, limitUpload } from "./limited-access.js";
import { messageMethods } from "./message-service.js";
import { sessionMethods } from "./session-service.js";
import { todoMethods } from "./todo-service.js";
import { todoTrackerMethods } from "./todo-tracker-service.js";
import { usageMethods } from "./usage-service.js";

type Unary = NonNullable<ApiMethod["unary"]>;
type Stream = NonNullable<ApiMethod["stream"]>;
type Upload = NonNullable<ApiMethod["upload"]>;

export type { ApiContext, ApiMethod } from "./api-method.js";

/** Every RPC of every service. */
export const API_METHODS: readonly ApiMethod[] = [
  ...methodsOf(SessionService, sessionMethods),
  ...methodsOf(MessageService, messageMethods),
  ...methodsOf(AttachmentService, attachmentMethods),
  ...methodsOf(UsageService, usageMethods),
  ...methodsOf(AnnotationService, annotationMethods),
  ...methodsOf(TodoService, todoMethods),
  ...methodsOf(TodoTrackerService, todoTrackerMethods, { grpcOnly: true }),
];

function methodsOf<S extends DescService>(
  service: S,
  methods: ServiceMethods<S>,
  { grpcOnly } = { grpcOnly: false },
): readonly ApiMethod[] {
  return service.methods.map((desc) => {
    const {
      scope,
      ticket,
      isTransfer,
      isAudited = scope !== "read",
      handle,
    } = methods[desc.localName as keyof S["method"]];
    // Throws when the server starts, rather than refusing every mask of the request later.
    if (desc.input.field.updateMask !== undefined) maskableFields(desc.input.typeName);
    const method = { desc, scope, ticket, grpcOnly, isAudited };
    // The descriptor tells which of them it is, as the type of `methods` demands.
    switch (desc.methodKind) {
      case "unary":
        return { ...method, unary: limitUnary(desc, handle as unknown as Unary) };
      case "server_streaming":
        return { ...method, isTransfer, stream: limitStream(desc, handle as unknown as Stream) };
      default:
        return { ...method, upload: limitUpload(desc, handle as unknown as Upload) };
    }
  });
}
