/** The script of a page of another origin. The test calls its global function `connectTo`. */
import { ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";
import { TodoService } from "../../gen/sessionpool/v1/todo_service_pb.js";

export interface PageClient {
  create(sessionId: string): Promise<string>;
  append(sessionId: string, text: string): Promise<string>;
  /** The error of GetSession, and after how many seconds to call again. */
  errorOf(sessionId: string): Promise<string>;
  todoCount(): Promise<number>;
  /** Starts to follow a session. The list that is returned grows with the text of each message. */
  follow(sessionId: string): string[];
}

declare global {
  var connectTo: (baseUrl: string, protocol: "connect" | "grpc-web", key?: string) => PageClient;
}

globalThis.connectTo = (baseUrl, protocol, key) => {
  const sendKey: Interceptor = (next) => (request) => {
    if (key !== undefined) request.header.set("Authorization", `Bearer ${key}`);
    return next(request);
  };
  const options = { baseUrl, defaultTimeoutMs: 120_000, interceptors: [sendKey] };
  const get = { useHttpGet: true };
  const transport =
    protocol === "connect" ? createConnectTransport({ ...options, ...get }) : createGrpcWebTransport(options);
  const sessions = createClient(SessionService, transport);
  const messages = createClient(MessageService, transport);
  const todos = createClient(TodoService, transport);
  return {
    create: async (sessionId) => (await sessions.createSession({ sessionId })).sessionId,
    append: async (sessionId, text) => {
      const message = { info: { role: "user" }, parts: [{ type: "text", text }] };
      return (await messages.appendMessage({ sessionId, message })).messageId;
    },
    errorOf: async (sessionId) => {
      const error = await sessions.getSession({ sessionId }).then(() => "none", ConnectError.from);
      const retryAfter = typeof error === "string" ? null : error.metadata.get("retry-after");
      return retryAfter === null ? String(error) : `${error}; after ${retryAfter} s`;
    },
    todoCount: async () => (await todos.listTodos({ sessionId: "any" })).todos.length,
    follow: (sessionId) => {
      const texts: string[] = [];
      void (async () => {
        for await (const { event } of messages.watchMessages({ sessionId, fromPosition: 0n }, { timeoutMs: 0 })) {
          if (event.case === "appended") texts.push(event.value.parts[0]?.text ?? "");
        }
      })();
      return texts;
    },
  };
};
