import { create, type DescMessage, type MessageShape, toBinary, toJsonString } from "@bufbuild/protobuf";
import {
  AppendMessageRequestSchema,
  ListMessagesRequestSchema,
} from "../../../gen/sessionpool/v1/message_service_pb.js";
import { GetSessionRequestSchema, LoadSessionRequestSchema } from "../../../gen/sessionpool/v1/session_service_pb.js";
import { ListTodosRequestSchema } from "../../../gen/sessionpool/v1/todo_service_pb.js";
import { fillSession, fillTodos } from "../fill.js";
import { NEW_MESSAGE_JSON, newMessage, PAGE, SESSION } from "../samples.js";

export const STORES = ["memory", "SQLite"] as const;
export type Store = (typeof STORES)[number];

/** A server that only reads a request and writes the answer. */
export type BareServer = "bare-http" | "bare-grpc";

/** A call that is measured at every front. */
export interface Operation {
  readonly id: string;
  readonly name: string;
  /** The path of the method, as in gRPC. */
  readonly method: string;
  /** The request as protobuf and as its JSON. */
  readonly binary: Uint8Array;
  readonly json: string;
  readonly rest: { readonly path: string; readonly body?: string };
  /** The least ratio to aim at, by store: a bare server's processor time for that of a front. */
  readonly targets: Readonly<Partial<Record<Store, Readonly<Record<BareServer, number>>>>>;
  /** Whether an answer is so large that a few calls at a time keep a server busy. */
  readonly isPage: boolean;
  /** Stores what the call needs. */
  prepare(server: { readonly grpcPort: number }): Promise<void>;
}

export const OPERATIONS: readonly Operation[] = [
  {
    id: "get",
    name: "GetSession",
    ...requestOf("SessionService/GetSession", GetSessionRequestSchema, { sessionId: SESSION }),
    rest: { path: `/session/${SESSION}` },
    targets: { memory: { "bare-http": 0.5, "bare-grpc": 0.7 } },
    isPage: false,
    prepare: (server) => fillSession(server, SESSION, 0),
  },
  {
    id: "todos",
    name: "ListTodos, 20 todos",
    ...requestOf("TodoService/ListTodos", ListTodosRequestSchema, { sessionId: SESSION }),
    rest: { path: `/${SESSION}/todo` },
    targets: { memory: { "bare-http": 0.75, "bare-grpc": 0.7 } },
    isPage: false,
    prepare: fillTodos,
  },
  {
    id: "append",
    name: "AppendMessage, 1 KB",
    ...requestOf("MessageService/AppendMessage", AppendMessageRequestSchema, {
      sessionId: SESSION,
      message: newMessage(),
    }),
    rest: { path: `/session/${SESSION}/message`, body: NEW_MESSAGE_JSON },
    targets: { memory: { "bare-http": 0.5, "bare-grpc": 0.7 } },
    isPage: false,
    prepare: (server) => fillSession(server, SESSION, 0),
  },
  {
    id: "list",
    name: "ListMessages, 100 × 1 KB",
    ...requestOf("MessageService/ListMessages", ListMessagesRequestSchema, { sessionId: SESSION, limit: PAGE }),
    rest: { path: `/session/${SESSION}/message?limit=${PAGE}` },
    targets: { memory: { "bare-http": 0.7, "bare-grpc": 0.7 }, SQLite: { "bare-http": 1, "bare-grpc": 0.5 } },
    isPage: true,
    prepare: (server) => fillSession(server, SESSION, PAGE),
  },
  {
    id: "load",
    name: "LoadSession, 100 × 1 KB",
    ...requestOf("SessionService/LoadSession", LoadSessionRequestSchema, { sessionId: SESSION, limit: PAGE }),
    rest: { path: `/session/${SESSION}/load?limit=${PAGE}` },
    targets: { memory: { "bare-http": 0.7, "bare-grpc": 0.7 }, SQLite: { "bare-http": 1, "bare-grpc": 0.5 } },
    isPage: true,
    prepare: (server) => fillSession(server, SESSION, PAGE),
  },
];

function requestOf<Desc extends DescMessage>(
  method: string,
  desc: Desc,
  init: Parameters<typeof create<Desc>>[1],
): Pick<Operation, "method" | "binary" | "json"> {
  const message: MessageShape<Desc> = create(desc, init);
  return { method: `/sessionpool.v1.${method}`, binary: toBinary(desc, message), json: toJsonString(desc, message) };
}
