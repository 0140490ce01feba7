// The entry point `session-pool-client/gen`: the generated messages, schemas and services, for programs that import the
// package. The descriptors in them have no options of the API, such as REST's paths.
export * from "../../../gen/sessionpool/v1/annotation_service_pb.js";
export * from "../../../gen/sessionpool/v1/attachment_service_pb.js";
export * from "../../../gen/sessionpool/v1/message_service_pb.js";
export * from "../../../gen/sessionpool/v1/session_service_pb.js";
export * from "../../../gen/sessionpool/v1/todo_service_pb.js";
export * from "../../../gen/sessionpool/v1/usage_service_pb.js";
