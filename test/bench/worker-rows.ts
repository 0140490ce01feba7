import { create, toBinary } from "@bufbuild/protobuf";
import { GetSessionRequestSchema } from "../../gen/sessionpool/v1/session_service_pb.js";
import { fillSession } from "./fill.js";
import {
  appendByGrpc,
  appendByRest,
  appendMessage,
  type FrontCase,
  GRPC,
  loadOf,
  measured,
  openLoad,
  REST,
} from "./front-rows.js";
import type { GeneratorRequest } from "./load/generator.js";
import { GENERATOR_CORE, SERVER_CORE, type ServerProcess, startPeer, startServer } from "./processes.js";
import type { Measured, Row, RowContext } from "./row.js";
import { SESSION } from "./samples.js";

const WARM_UP_FACTOR = 2;
/**
 * Each connection has a session of its own, because two processes that write to one session would wait for each other.
 */
const SESSIONS = Array.from({ length: 16 }, (_, i) => `${SESSION}-${i}`);
const MANY = {
  prepare: async (server: ServerProcess) => {
    for (const sessionId of SESSIONS) await fillSession(server, sessionId, 0);
  },
} as const;
const grpcToMany = { ...GRPC, ...MANY, connections: SESSIONS.length, outstanding: 4 } as const;
const appendToManyByGrpc: FrontCase = { ...appendByGrpc, ...grpcToMany, bodies: SESSIONS.map(appendMessage) };
const appendToManyByRest: FrontCase = {
  ...appendByRest,
  ...MANY,
  paths: SESSIONS.map((sessionId) => `/session/${sessionId}/message`),
};
const getByGrpc: FrontCase = {
  ...grpcToMany,
  path: "/sessionpool.v1.SessionService/GetSession",
  bodies: SESSIONS.map((sessionId) =>
    toBinary(GetSessionRequestSchema, create(GetSessionRequestSchema, { sessionId })),
  ),
};
const getByRest: FrontCase = {
  ...REST,
  ...MANY,
  path: "/session",
  paths: SESSIONS.map((sessionId) => `/session/${sessionId}`),
};

export const WORKER_ROWS: readonly Row[] = [
  workerRow("workers-grpc-append", "gRPC AppendMessage of 1 KB", appendToManyByGrpc),
  workerRow("workers-rest-append", "REST AppendMessage of 1 KB", appendToManyByRest),
  workerRow("workers-grpc-get", "gRPC GetSession", getByGrpc),
  workerRow("workers-rest-get", "REST GET session", getByRest),
];

/** Calls for the processor time of all processes of a server with two workers, against a server with one process. */
function workerRow(id: string, call: string, front: FrontCase): Row {
  return {
    id,
    what: `serve --workers 2, ${call}, 16 sessions on SQLite`,
    against: "one worker, by the processor time of all processes",
    target: { atLeast: 0.95 },
    run: (context) => compareWorkers(front, context),
  };
}

/**
 * All processes of both servers share one core, so that each has as many calls waiting whenever it runs. With idle
 * cores, two workers would sleep and be woken more often than one that never rests.
 */
async function compareWorkers(front: FrontCase, context: RowContext): Promise<Measured> {
  const one = await startServer(`sqlite:${context.folder}/one-worker.db`, SERVER_CORE, 1);
  const two = await startServer(`sqlite:${context.folder}/two-workers.db`, SERVER_CORE, 2);
  const generator = (await startPeer<GeneratorRequest, string>("generator", GENERATOR_CORE)).peer;
  try {
    await Promise.all([one, two].map((server) => front.prepare(server)));
    const ours = await openLoad(generator, "ours", loadOf(front, two), two.pids, context.sliceMs);
    const baseline = await openLoad(generator, "baseline", loadOf(front, one), one.pids, context.sliceMs);
    // Each worker has to compile the same code.
    return await measured(baseline, ours, context, { warmUpFactor: WARM_UP_FACTOR });
  } finally {
    await Promise.all([generator.stop(), one.stop(), two.stop()]);
  }
}
