import { create, toBinary } from "@bufbuild/protobuf";
import { AppendMessageRequestSchema, ListMessagesRequestSchema } from "../../gen/sessionpool/v1/message_service_pb.js";
import { LoadSessionRequestSchema } from "../../gen/sessionpool/v1/session_service_pb.js";
import { ListTodosRequestSchema } from "../../gen/sessionpool/v1/todo_service_pb.js";
import { processorMs } from "../support/processor-time.js";
import type { BareServerReady } from "./bare-server.js";
import { fillSession, fillTodos } from "./fill.js";
import type { GeneratorRequest } from "./load/generator.js";
import type { Load, LoadResult } from "./load/load.js";
import {
  CAN_PIN,
  GENERATOR_CORE,
  type Peer,
  SERVER_CORE,
  type ServerProcess,
  startPeer,
  startServer,
} from "./processes.js";
import type { Measured, Row, RowContext } from "./row.js";
import { NEW_MESSAGE_JSON, newMessage, PAGE, SESSION } from "./samples.js";
import { alternate, type Subject } from "./slices.js";

/** A request to one of the fronts. `prepare` stores what the request needs. */
export interface FrontCase {
  readonly protocol: "grpc" | "rest";
  readonly path: string;
  /** The paths of the connections, one after the other, if they differ. */
  readonly paths?: readonly string[];
  readonly bodies?: readonly Uint8Array[];
  readonly connections: number;
  readonly outstanding: number;
  prepare(server: ServerProcess): Promise<void>;
}

export const GRPC = { protocol: "grpc", connections: 4, outstanding: 16 } as const;
export const REST = { protocol: "rest", connections: 32, outstanding: 1 } as const;
/** Few requests at a time, for pages of 100 KB. They are enough to keep a server busy. */
const FEW = { grpc: { connections: 4, outstanding: 2 }, rest: { connections: 8 } } as const;

const listTodos = toBinary(ListTodosRequestSchema, {
  $typeName: "sessionpool.v1.ListTodosRequest",
  sessionId: SESSION,
});
const listMessages = toBinary(ListMessagesRequestSchema, {
  $typeName: "sessionpool.v1.ListMessagesRequest",
  sessionId: SESSION,
  limit: PAGE,
  pageToken: "",
  newestFirst: false,
  includeAncestors: false,
});
const loadSession = toBinary(
  LoadSessionRequestSchema,
  create(LoadSessionRequestSchema, { sessionId: SESSION, limit: PAGE }),
);

const todosByGrpc: FrontCase = {
  ...GRPC,
  path: "/sessionpool.v1.TodoService/ListTodos",
  bodies: [listTodos],
  prepare: fillTodos,
};
const todosByRest: FrontCase = { ...REST, path: `/${SESSION}/todo`, prepare: fillTodos };
export const appendByGrpc: FrontCase = {
  ...GRPC,
  path: "/sessionpool.v1.MessageService/AppendMessage",
  bodies: [appendMessage(SESSION)],
  prepare: (server) => fillSession(server, SESSION, 0),
};
export const appendByRest: FrontCase = {
  ...REST,
  path: `/session/${SESSION}/message`,
  bodies: [Buffer.from(NEW_MESSAGE_JSON)],
  prepare: (server) => fillSession(server, SESSION, 0),
};
const listByGrpc: FrontCase = {
  ...GRPC,
  ...FEW.grpc,
  path: "/sessionpool.v1.MessageService/ListMessages",
  bodies: [listMessages],
  prepare: (server) => fillSession(server, SESSION, PAGE),
};
const listByRest: FrontCase = {
  ...REST,
  ...FEW.rest,
  path: `/session/${SESSION}/message?limit=${PAGE}`,
  prepare: (server) => fillSession(server, SESSION, PAGE),
};

const loadByGrpc: FrontCase = {
  ...listByGrpc,
  path: "/sessionpool.v1.SessionService/LoadSession",
  bodies: [loadSession],
};
const loadByRest: FrontCase = { ...listByRest, path: `/session/${SESSION}/load?limit=${PAGE}` };

export const FRONT_ROWS: readonly Row[] = [
  {
    id: "grpc-todos",
    what: "gRPC ListTodos of 20 todos on memory",
    against: "bare grpc-js answering the same message",
    target: { atLeast: 0.85 },
    run: (context) => compare(todosByGrpc, context),
  },
  {
    id: "grpc-todos-sqlite",
    what: "gRPC ListTodos of 20 todos on SQLite",
    against: "bare grpc-js answering the same message",
    target: { atLeast: 0.85 },
    run: (context) => compare(todosByGrpc, context, sqliteOf(context)),
  },
  {
    id: "rest-todos",
    what: "REST GET todo of 20 todos on memory",
    against: "bare node:http sending the same bytes",
    target: { atLeast: 0.75 },
    run: (context) => compare(todosByRest, context),
  },
  {
    id: "rest-todos-sqlite",
    what: "REST GET todo of 20 todos on SQLite",
    against: "bare node:http sending the same bytes",
    target: { atLeast: 0.75 },
    run: (context) => compare(todosByRest, context, sqliteOf(context)),
  },
  {
    id: "grpc-append",
    what: "gRPC AppendMessage of 1 KB on memory",
    against: "bare grpc-js decoding the same request",
    target: { atLeast: 0.65 },
    run: (context) => compare(appendByGrpc, context),
  },
  {
    id: "rest-append",
    what: "REST AppendMessage of 1 KB on memory",
    against: "bare node:http parsing the same body",
    target: { atLeast: 0.5 },
    run: (context) => compare(appendByRest, context),
  },
  {
    id: "grpc-list",
    what: "gRPC ListMessages of 100 x 1 KB on memory",
    against: "bare grpc-js serialising the same messages",
    target: { atLeast: 0.7 },
    run: (context) => compare(listByGrpc, context),
  },
  {
    id: "rest-list",
    what: "REST ListMessages of 100 x 1 KB on memory",
    against: "bare node:http serialising the same messages",
    target: { atLeast: 0.7 },
    run: (context) => compare(listByRest, context),
  },
  {
    id: "grpc-list-sqlite",
    what: "gRPC ListMessages of 100 x 1 KB on SQLite",
    against: "bare grpc-js serialising the same messages",
    target: { atLeast: 1.5 },
    run: (context) => compare(listByGrpc, context, sqliteOf(context)),
  },
  {
    id: "rest-list-sqlite",
    what: "REST ListMessages of 100 x 1 KB on SQLite",
    against: "bare node:http serialising the same messages",
    target: { atLeast: 1 },
    run: (context) => compare(listByRest, context, sqliteOf(context)),
  },
  {
    id: "grpc-load-sqlite",
    what: "gRPC LoadSession of 100 x 1 KB on SQLite",
    against: "bare grpc-js serialising the same answer",
    target: { atLeast: 1.5 },
    run: (context) => compare(loadByGrpc, context, sqliteOf(context)),
  },
  {
    id: "rest-load-sqlite",
    what: "REST LoadSession of 100 x 1 KB on SQLite",
    against: "bare node:http serialising the same answer",
    target: { atLeast: 1 },
    run: (context) => compare(loadByRest, context, sqliteOf(context)),
  },
];

/** Compares two servers on one core, with the generator on the other. Only one server gets requests at a time. */
async function compare(front: FrontCase, context: RowContext, storage = "memory:"): Promise<Measured> {
  const bare = await startPeer<never, BareServerReady>("bare-server", SERVER_CORE);
  const server = await startServer(storage, SERVER_CORE);
  const generator = (await startPeer<GeneratorRequest, string>("generator", GENERATOR_CORE)).peer;
  try {
    await front.prepare(server);
    const ours = await openLoad(generator, "ours", loadOf(front, server), server.pids, context.sliceMs);
    const baseline = await openLoad(generator, "baseline", loadOf(front, bare.ready), [bare.peer.pid], context.sliceMs);
    return await measured(baseline, ours, context, { note: CAN_PIN ? undefined : "not pinned" });
  } finally {
    await Promise.all([generator.stop(), server.stop(), bare.peer.stop()]);
  }
}

function sqliteOf({ folder }: RowContext): string {
  return `sqlite:${folder}/front.db`;
}

export async function measured(
  baseline: Subject,
  ours: Subject,
  context: RowContext,
  { note, warmUpFactor }: { readonly note?: string | undefined; readonly warmUpFactor?: number } = {},
): Promise<Measured> {
  const { slices, onProgress } = context;
  const comparison = await alternate(baseline, ours, {
    slices,
    by: "processor",
    warmUpFactor,
    onSlice: (done) => onProgress(done, slices),
  });
  return { kind: "ratio", comparison, unit: "calls/s", ...(note && { note }) };
}

export async function openLoad(
  generator: Peer<GeneratorRequest>,
  name: string,
  load: Load,
  pids: readonly number[],
  sliceMs: number,
): Promise<Subject> {
  await generator.ask({ kind: "open", name, load });
  return async () => {
    const before = processorMs(...pids);
    const { calls, elapsedMs } = await generator.ask<LoadResult>({ kind: "run", name, sliceMs });
    const used = before === undefined ? undefined : (processorMs(...pids) as number) - before;
    return { operations: calls, elapsedMs, processorMs: used };
  };
}

export function loadOf(
  { protocol, path, paths, bodies, connections, outstanding }: FrontCase,
  { grpcPort, httpPort }: { readonly grpcPort: number; readonly httpPort: number },
): Load {
  const method = bodies === undefined ? "GET" : "POST";
  const port = protocol === "grpc" ? grpcPort : httpPort;
  return { protocol, port, path, paths, method, bodies: bodies ?? [], connections, outstanding };
}

export function appendMessage(sessionId: string): Uint8Array {
  return toBinary(AppendMessageRequestSchema, {
    $typeName: "sessionpool.v1.AppendMessageRequest",
    sessionId,
    createSession: false,
    message: newMessage(),
  });
}
