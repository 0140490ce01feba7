import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { Client, credentials } from "@grpc/grpc-js";
import {
  AppendMessagesRequestSchema,
  AppendMessagesResponseSchema,
  ListMessagesRequestSchema,
  ListMessagesResponseSchema,
} from "../../gen/sessionpool/v1/message_service_pb.js";
import { CreateSessionRequestSchema, SessionSchema } from "../../gen/sessionpool/v1/session_service_pb.js";
import { ReplaceTodosRequestSchema, ReplaceTodosResponseSchema } from "../../gen/sessionpool/v1/todo_service_pb.js";
import { newMessage, PAGE, sampleTodos } from "./samples.js";

type Ports = { readonly grpcPort: number };

export async function fillTodos({ grpcPort }: Ports): Promise<void> {
  await withClient(grpcPort, (client) =>
    call(client, "TodoTrackerService/ReplaceTodos", ReplaceTodosRequestSchema, ReplaceTodosResponseSchema, {
      $typeName: "sessionpool.v1.ReplaceTodosRequest",
      todos: sampleTodos(),
    }),
  );
}

/** Makes a session with this many messages of 1 KB, which are sent as one batch. */
export async function fillSession({ grpcPort }: Ports, sessionId: string, messages: number): Promise<void> {
  await withClient(grpcPort, async (client) => {
    await createSession(client, sessionId);
    if (messages > 0) await appendBatch(client, sessionId, messages);
  });
}

/** Makes many sessions, a few at a time, each with one batch of messages, and reads a page of each. */
export async function fillSessions(
  { grpcPort }: Ports,
  sessions: number,
  messages: number,
  onSession: (done: number) => void,
): Promise<void> {
  const CALLERS = 8;
  let next = 0;
  let done = 0;
  await withClient(grpcPort, async (client) => {
    const fill = async () => {
      while (next < sessions) {
        const sessionId = `session-${next++}`;
        await createSession(client, sessionId);
        await appendBatch(client, sessionId, messages);
        await readPage(client, sessionId);
        onSession(++done);
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, fill));
  });
}

function createSession(client: Client, sessionId: string): Promise<unknown> {
  return call(client, "SessionService/CreateSession", CreateSessionRequestSchema, SessionSchema, {
    $typeName: "sessionpool.v1.CreateSessionRequest",
    sessionId,
    parentId: "",
    owner: "",
    title: "",
    labels: {},
  });
}

function appendBatch(client: Client, sessionId: string, messages: number): Promise<unknown> {
  return call(client, "MessageService/AppendMessages", AppendMessagesRequestSchema, AppendMessagesResponseSchema, {
    $typeName: "sessionpool.v1.AppendMessagesRequest",
    sessionId,
    createSession: false,
    messages: Array.from({ length: messages }, newMessage),
  });
}

function readPage(client: Client, sessionId: string): Promise<unknown> {
  return call(client, "MessageService/ListMessages", ListMessagesRequestSchema, ListMessagesResponseSchema, {
    $typeName: "sessionpool.v1.ListMessagesRequest",
    sessionId,
    limit: PAGE,
    pageToken: "",
    newestFirst: true,
    includeAncestors: false,
  });
}

async function withClient<T>(port: number, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
  });
  try {
    return await use(client);
  } finally {
    client.close();
  }
}

function call<I extends DescMessage, O extends DescMessage>(
  client: Client,
  name: string,
  input: I,
  output: O,
  request: MessageShape<I>,
): Promise<MessageShape<O>> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      `/sessionpool.v1.${name}`,
      (message: MessageShape<I>) => Buffer.from(toBinary(input, message)),
      (bytes) => fromBinary(output, bytes),
      request,
      (error, answer) => (error === null && answer !== undefined ? resolve(answer) : reject(error)),
    );
  });
}
