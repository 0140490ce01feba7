import { create, toBinary } from "@bufbuild/protobuf";
import { AppendMessageRequestSchema } from "../../gen/sessionpool/v1/message_service_pb.js";
import { GetSessionRequestSchema } from "../../gen/sessionpool/v1/session_service_pb.js";
import { processorMs } from "../support/processor-time.js";
import { fillSession } from "./fill.js";
import { grpcRequest, type Ports, restRequest } from "./fronts/columns.js";
import { type HttpRequest, missingGenerators, openGenerator } from "./fronts/generators.js";
import { SERVER_CORE, type ServerProcess, startServer } from "./processes.js";
import type { Measured, Row, RowContext } from "./row.js";
import { NEW_MESSAGE_JSON, newMessage, SESSION } from "./samples.js";
import { alternate, type Subject } from "./slices.js";

/**
 * Each session has a generator of its own, because two processes that write to one session would wait for each other.
 */
const SESSIONS = Array.from({ length: 16 }, (_, i) => `${SESSION}-${i}`);
const CONCURRENCY = { connections: 1, callsEach: 4 };

type RequestTo = (sessionId: string, ports: Ports) => HttpRequest;

export const WORKER_ROWS: readonly Row[] = [
  workerRow("workers-grpc-append", "gRPC AppendMessage of 1 KB", (sessionId, { grpcPort }) =>
    grpcRequest(
      grpcPort,
      "/sessionpool.v1.MessageService/AppendMessage",
      toBinary(AppendMessageRequestSchema, create(AppendMessageRequestSchema, { sessionId, message: newMessage() })),
    ),
  ),
  workerRow("workers-rest-append", "REST AppendMessage of 1 KB", (sessionId, { httpPort }) =>
    restRequest(httpPort, `/session/${sessionId}/message`, NEW_MESSAGE_JSON),
  ),
  workerRow("workers-grpc-get", "gRPC GetSession", (sessionId, { grpcPort }) =>
    grpcRequest(
      grpcPort,
      "/sessionpool.v1.SessionService/GetSession",
      toBinary(GetSessionRequestSchema, create(GetSessionRequestSchema, { sessionId })),
    ),
  ),
  workerRow("workers-rest-get", "REST GET session", (sessionId, { httpPort }) =>
    restRequest(httpPort, `/session/${sessionId}`),
  ),
];

/** Calls for the processor time of all processes of a server with two workers, against a server with one process. */
function workerRow(id: string, call: string, requestTo: RequestTo): Row {
  return {
    id,
    what: `serve --workers 2, ${call}, 16 sessions on SQLite`,
    against: "one worker, by the processor time of all processes",
    target: { atLeast: 0.95 },
    run: async (context) => {
      const why = missingGenerators();
      return why === undefined ? compareWorkers(requestTo, context) : { kind: "skipped", why };
    },
  };
}

/**
 * All processes of both servers share one core, so that each has as many calls waiting whenever it runs. With idle
 * cores, two workers would sleep and be woken more often than one that never rests.
 */
async function compareWorkers(requestTo: RequestTo, context: RowContext): Promise<Measured> {
  const { folder, slices, onProgress } = context;
  const one = await startServer(`sqlite:${folder}/one-worker.db`, SERVER_CORE, { workers: 1 });
  const two = await startServer(`sqlite:${folder}/two-workers.db`, SERVER_CORE, { workers: 2 });
  try {
    for (const server of [one, two]) for (const sessionId of SESSIONS) await fillSession(server, sessionId, 0);
    const comparison = await alternate(
      await openLoad(one, requestTo, context),
      await openLoad(two, requestTo, context),
      {
        slices,
        by: "processor",
        // Each worker has to compile the same code.
        warmUpFactor: 2,
        onSlice: (done) => onProgress(done, slices),
      },
    );
    return { kind: "ratio", comparison, unit: "calls/s" };
  } finally {
    await Promise.all([one.stop(), two.stop()]);
  }
}

async function openLoad(server: ServerProcess, requestTo: RequestTo, context: RowContext): Promise<Subject> {
  const seconds = Math.ceil(context.sliceMs / 1000);
  const generators = await Promise.all(
    SESSIONS.map((sessionId) => openGenerator(context.folder, requestTo(sessionId, server), CONCURRENCY)),
  );
  return async () => {
    const before = processorMs(...server.pids);
    const answered = await Promise.all(generators.map((generate) => generate(seconds)));
    const used = before === undefined ? undefined : (processorMs(...server.pids) as number) - before;
    return {
      operations: answered.reduce((sum, calls) => sum + calls, 0),
      elapsedMs: seconds * 1000,
      processorMs: used,
    };
  };
}
