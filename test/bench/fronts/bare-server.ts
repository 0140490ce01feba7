import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { create, type DescMessage, type Message, toBinary, toJson } from "@bufbuild/protobuf";
import { type handleUnaryCall, Server, ServerCredentials, type ServiceDefinition } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import {
  AppendMessageResponseSchema,
  ListMessagesResponseSchema,
} from "../../../gen/sessionpool/v1/message_service_pb.js";
import { LoadSessionResponseSchema, SessionSchema } from "../../../gen/sessionpool/v1/session_service_pb.js";
import { ListTodosResponseSchema } from "../../../gen/sessionpool/v1/todo_service_pb.js";
import { PAGE, sampleTodos, storedMessage, storedSession } from "../samples.js";

export interface BareServerReady {
  readonly grpcPort: number;
  readonly httpPort: number;
}

/** The folder of the proto files, seen from the bundle. */
const PROTO = fileURLToPath(new URL("../../../proto/", import.meta.url));
const MESSAGES = Array.from({ length: PAGE }, (_, i) => storedMessage(i));
/** What the bare servers answer, always the same. They serialise it again for each call. */
const ANSWERS: Readonly<Record<string, readonly [DescMessage, Message]>> = {
  GetSession: [SessionSchema, storedSession()],
  LoadSession: [
    LoadSessionResponseSchema,
    create(LoadSessionResponseSchema, { session: storedSession(), messages: MESSAGES }),
  ],
  ListTodos: [ListTodosResponseSchema, create(ListTodosResponseSchema, { todos: sampleTodos() })],
  AppendMessage: [
    AppendMessageResponseSchema,
    create(AppendMessageResponseSchema, { messageId: "01J00000000000000000000000", position: 12_345n }),
  ],
  ListMessages: [ListMessagesResponseSchema, create(ListMessagesResponseSchema, { messages: MESSAGES })],
};

const [grpcPort, httpPort] = await Promise.all([startGrpc(), startHttp()]);
process.on("disconnect", () => process.exit());
process.send?.({ answer: { grpcPort, httpPort } satisfies BareServerReady });

/**
 * Serves with grpc-js and its usual codec, which decodes each request into an object and encodes each answer from one.
 */
function startGrpc(): Promise<number> {
  const server = new Server();
  const protos = ["session", "message", "todo"].map((name) => `sessionpool/v1/${name}_service.proto`);
  const definitions = Object.values(loadSync(protos, { includeDirs: [PROTO] }));
  for (const service of definitions.filter(isService)) {
    for (const [name, method] of Object.entries(service)) {
      const sample = ANSWERS[name];
      if (sample === undefined) continue;
      const answer = method.responseDeserialize(Buffer.from(toBinary(...sample)));
      const handle: handleUnaryCall<unknown, unknown> = (_call, respond) => respond(null, answer);
      server.addService({ [name]: method }, { [name]: handle });
    }
  }
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}

function isService(definition: object): definition is ServiceDefinition {
  return !("format" in definition);
}

/** Serves with node:http, JSON.parse for the bodies of requests, and JSON.stringify for answers. */
function startHttp(): Promise<number> {
  const json = Object.entries(ANSWERS).map(([name, [desc, message]]) => {
    return [name, toJson(desc, message, { alwaysEmitImplicit: true })] as const;
  });
  const { GetSession, LoadSession, ListTodos, AppendMessage, ListMessages } = Object.fromEntries(json);
  const todos = (ListTodos as { todos: unknown }).todos;
  const server = createServer((request, response) => {
    const url = request.url as string;
    if (request.method === "POST") readJson(request, () => send(response, AppendMessage));
    else if (url.endsWith("/todo")) send(response, todos);
    else if (url.includes("/load?")) send(response, LoadSession);
    else if (url.includes("/message?")) send(response, ListMessages);
    else send(response, GetSession);
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

function readJson(request: IncomingMessage, done: (json: unknown) => void): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => done(JSON.parse(Buffer.concat(chunks).toString())));
}

function send(response: ServerResponse, answer: unknown): void {
  const body = Buffer.from(JSON.stringify(answer));
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  response.end(body);
}
