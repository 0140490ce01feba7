// The entry point `session-pool-client/gen`: the generated messages, schemas and services, for programs that import the
// package.
export * from "../../../gen/sessionpool/v1/message_service_pb.js";
export * from "../../../gen/sessionpool/v1/options_pb.js";
export * from "../../../gen/sessionpool/v1/session_service_pb.js";
export * from "../../../gen/sessionpool/v1/todo_service_pb.js";
