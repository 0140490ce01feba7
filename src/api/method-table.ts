import type { DescService } from "@bufbuild/protobuf";
import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";
import { TodoService, TodoTrackerService } from "../../gen/sessionpool/v1/todo_service_pb.js";
import type { ApiMethod, ServiceMethods } from "./api-method.js";
import { maskableFields } from "./field-mask.js";
import { limitStream, limitUnary } from "./limited-access.js";
import { messageMethods } from "./message-service.js";
import { sessionMethods } from "./session-service.js";
import { todoMethods } from "./todo-service.js";
import { todoTrackerMethods } from "./todo-tracker-service.js";

type Unary = NonNullable<ApiMethod["unary"]>;
type Stream = NonNullable<ApiMethod["stream"]>;

export type { ApiContext, ApiMethod } from "./api-method.js";

/** Every RPC of every service. */
export const API_METHODS: readonly ApiMethod[] = [
  ...methodsOf(SessionService, sessionMethods),
  ...methodsOf(MessageService, messageMethods),
  ...methodsOf(TodoService, todoMethods),
  ...methodsOf(TodoTrackerService, todoTrackerMethods, { grpcOnly: true }),
];

function methodsOf<S extends DescService>(
  service: S,
  methods: ServiceMethods<S>,
  { grpcOnly } = { grpcOnly: false },
): readonly ApiMethod[] {
  return service.methods.map((desc) => {
    const { scope, ticket, handle } = methods[desc.localName as keyof S["method"]];
    // Throws when the server starts, rather than refusing every mask of the request later.
    if (desc.input.field.updateMask !== undefined) maskableFields(desc.input.typeName);
    // The descriptor tells which of the two it is, as the type of `methods` demands.
    return desc.methodKind === "unary"
      ? { desc, scope, ticket, grpcOnly, unary: limitUnary(desc, handle as unknown as Unary) }
      : { desc, scope, ticket, grpcOnly, stream: limitStream(desc, handle as unknown as Stream) };
  });
}
