import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { create, type DescMessage, fromBinary, type MessageShape, toBinary, toJsonString } from "@bufbuild/protobuf";
import { type handleUnaryCall, Server, ServerCredentials } from "@grpc/grpc-js";
import {
  AppendMessageRequestSchema,
  type AppendMessageResponse,
  AppendMessageResponseSchema,
  ListMessagesRequestSchema,
  type ListMessagesResponse,
  ListMessagesResponseSchema,
} from "../../gen/sessionpool/v1/message_service_pb.js";
import { LoadSessionRequestSchema, LoadSessionResponseSchema } from "../../gen/sessionpool/v1/session_service_pb.js";
import {
  ListTodosRequestSchema,
  type ListTodosResponse,
  ListTodosResponseSchema,
} from "../../gen/sessionpool/v1/todo_service_pb.js";
import { PAGE, sampleTodos, storedMessage, storedSession } from "./samples.js";

export interface BareServerReady {
  readonly grpcPort: number;
  readonly httpPort: number;
}

const TODOS: ListTodosResponse = { $typeName: "sessionpool.v1.ListTodosResponse", todos: sampleTodos() };
const PAGE_OF_MESSAGES: ListMessagesResponse = {
  $typeName: "sessionpool.v1.ListMessagesResponse",
  messages: Array.from({ length: PAGE }, (_, i) => storedMessage(i)),
  nextPageToken: "",
};
const LOADED = create(LoadSessionResponseSchema, {
  session: storedSession(),
  messages: PAGE_OF_MESSAGES.messages,
});
const APPENDED: AppendMessageResponse = {
  $typeName: "sessionpool.v1.AppendMessageResponse",
  messageId: "01J00000000000000000000000",
  position: 12_345n,
};

const [grpcPort, httpPort] = await Promise.all([startGrpc(), startHttp()]);
process.on("disconnect", () => process.exit());
process.send?.({ answer: { grpcPort, httpPort } satisfies BareServerReady });

/** Serves with grpc-js alone: protobuf-es decodes each request and encodes each answer, and nothing else is done. */
function startGrpc(): Promise<number> {
  const server = new Server();
  addMethod(server, "TodoService/ListTodos", ListTodosRequestSchema, ListTodosResponseSchema, TODOS);
  addMethod(server, "MessageService/AppendMessage", AppendMessageRequestSchema, AppendMessageResponseSchema, APPENDED);
  addMethod(
    server,
    "MessageService/ListMessages",
    ListMessagesRequestSchema,
    ListMessagesResponseSchema,
    PAGE_OF_MESSAGES,
  );
  addMethod(server, "SessionService/LoadSession", LoadSessionRequestSchema, LoadSessionResponseSchema, LOADED);
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}

function addMethod<I extends DescMessage, O extends DescMessage>(
  server: Server,
  name: string,
  input: I,
  output: O,
  answer: MessageShape<O>,
): void {
  const handle: handleUnaryCall<MessageShape<I>, MessageShape<O>> = (_call, respond) => respond(null, answer);
  const path = `/sessionpool.v1.${name}`;
  const definition = {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: (message: MessageShape<I>) => asBuffer(toBinary(input, message)),
    requestDeserialize: (bytes: Buffer) => fromBinary(input, bytes),
    responseSerialize: (message: MessageShape<O>) => asBuffer(toBinary(output, message)),
    responseDeserialize: (bytes: Buffer) => fromBinary(output, bytes),
  };
  server.addService({ [path]: definition }, { [path]: handle });
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Serves with node:http alone: the same bytes every time for todos, and JSON.parse and JSON.stringify for messages. */
function startHttp(): Promise<number> {
  const todos = Buffer.from(toJsonList(toJsonString(ListTodosResponseSchema, TODOS, { alwaysEmitImplicit: true })));
  const page = JSON.parse(toJsonString(ListMessagesResponseSchema, PAGE_OF_MESSAGES, { alwaysEmitImplicit: true }));
  const loaded = JSON.parse(toJsonString(LoadSessionResponseSchema, LOADED, { alwaysEmitImplicit: true }));
  const appended = JSON.parse(toJsonString(AppendMessageResponseSchema, APPENDED));
  const server = createServer((request, response) => {
    if (request.method === "POST") readJson(request, () => send(response, Buffer.from(JSON.stringify(appended))));
    else if (request.url?.endsWith("/todo")) send(response, todos);
    else if (request.url?.includes("/load")) send(response, Buffer.from(JSON.stringify(loaded)));
    else send(response, Buffer.from(JSON.stringify(page)));
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

function toJsonList(json: string): string {
  return JSON.stringify(JSON.parse(json).todos);
}

function readJson(request: IncomingMessage, done: (json: unknown) => void): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => done(JSON.parse(Buffer.concat(chunks).toString())));
}

function send(response: ServerResponse, body: Buffer): void {
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  response.end(body);
}
