import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type MessagePort, parentPort, Worker, workerData } from "node:worker_threads";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Command } from "commander";
import { AttachmentService } from "../../gen/sessionpool/v1/attachment_service_pb.js";
import { PIECE_BYTES } from "../../src/domain/attachment.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";
import { freshSchemaUrl, startPostgresServer } from "../support/postgres-server.js";
import type { PieceStore } from "./engine/attachments.js";
import { MongoPieces } from "./engine/mongo-attachments.js";
import { RawPostgres } from "./engine/postgres-attachments.js";
import { RawSqlite } from "./engine/raw-sqlite.js";
import { type ServerProcess, startServer } from "./processes.js";

// Measures uploads and downloads through a running service against the same pieces through the bare driver, the memory
// of the service, what other callers notice of eight transfers, and pages of messages with pictures.
//
//     npm run bench -- transfers

const { stores, mib, rounds } = new Command("transfers")
  .option("--stores <names>", "which stores are measured", "memory,sqlite,postgres,mongodb")
  .option("--mib <n>", "MiB of a transfer", Number, 64)
  .option("--rounds <n>", "how often each transfer is measured", Number, 3)
  .parse()
  .opts<{ stores: string; mib: number; rounds: number }>();

type Address = Pick<ServerProcess, "httpPort">;

const PIECES = (mib * 2 ** 20) / PIECE_BYTES;
const PIECE = randomBytes(PIECE_BYTES);
const TRANSFERS = 8;
/** How long other callers are measured, alone and beside transfers. */
const OTHERS_MS = 10_000;
const PAGE = 100;

/** Eight callers that upload, download and delete, until they are told to end. */
async function makeLoad(port: MessagePort, httpPort: number): Promise<void> {
  const server = { httpPort };
  let isOver = false;
  port.once("message", () => {
    isOver = true;
  });
  const transfers = Array.from({ length: TRANSFERS }, async (_, i) => {
    while (!isOver) {
      await uploadByRest(server, `t${i}`);
      await downloadByRest(server, `t${i}`);
      await call(server, "DELETE", `session/s/attachment/t${i}`);
    }
  });
  port.postMessage("begun");
  await Promise.all(transfers);
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "session-pool-transfers-"));
  const isMeasured = (store: string) => stores.split(",").includes(store);
  const postgres = isMeasured("postgres") ? await startPostgresServer() : null;
  const mongo = isMeasured("mongodb") ? await startMongoServer() : null;
  try {
    if (isMeasured("memory")) await measure("memory", "memory:", null);
    if (isMeasured("sqlite")) await measure("SQLite", `sqlite:${folder}/all.db`, new RawSqlite(`${folder}/raw.db`));
    if (postgres)
      await measure("PostgreSQL", freshSchemaUrl(postgres), await RawPostgres.connect(freshSchemaUrl(postgres)));
    if (mongo) await measure(mongo.kind, freshDatabaseUrl(mongo), await MongoPieces.connect(freshDatabaseUrl(mongo)));
  } finally {
    await postgres?.stop();
    await mongo?.stop();
    await rm(folder, { recursive: true });
  }
}

async function measure(store: string, url: string, raw: PieceStore | null): Promise<void> {
  const server = await startServer(url, undefined);
  try {
    await call(server, "POST", "session", { sessionId: "s" });
    await compareRates(store, server, raw);
    await compareOthers(store, server);
    await comparePages(store, server);
  } finally {
    await server.stop();
    await raw?.close();
  }
}

/** Prints the rates of all fronts in MiB a second, and their ratios to the bare driver's. */
async function compareRates(store: string, server: ServerProcess, raw: PieceStore | null): Promise<void> {
  const { residentMib } = server.memory();
  const grpc = createClient(AttachmentService, createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.grpcPort}` }));
  const kinds: Record<string, () => Promise<unknown>> = {
    "write by the driver": async () => {
      for (let seq = 1; seq <= PIECES; seq++) await raw?.insertPiece(seq, PIECE);
    },
    "upload by REST": () => uploadByRest(server, "a"),
    "upload by gRPC": () => grpc.uploadAttachment(messages("b")),
    "read by the driver": async () => {
      for (let seq = 1; seq <= PIECES; seq++) await raw?.readPiece(seq);
    },
    "download by REST": () => downloadByRest(server, "a"),
    "download by gRPC": async () => {
      let bytes = 0;
      for await (const { chunk } of grpc.getAttachment({ sessionId: "s", attachmentId: "b" })) bytes += chunk.length;
      if (bytes !== mib * 2 ** 20) throw new Error(`${bytes} bytes arrived`);
    },
  };
  const rates = new Map<string, number[]>();
  for (let round = 0; round <= rounds; round++) {
    for (const [kind, run] of Object.entries(kinds)) {
      if (raw === null && kind.endsWith("driver")) continue;
      const begun = performance.now();
      await run();
      // The first round warms up.
      if (round > 0) rates.set(kind, [...(rates.get(kind) ?? []), (mib * 1000) / (performance.now() - begun)]);
    }
    await raw?.deletePieces();
    for (const id of ["a", "b"]) await call(server, "DELETE", `session/s/attachment/${id}`);
  }
  console.log(`\n| ${store} | MiB/s | of the driver's |\n|---|---|---|`);
  for (const [kind, all] of rates) {
    const base = rates.get(/upload|write/.test(kind) ? "write by the driver" : "read by the driver");
    const ratio = base === undefined || kind.endsWith("driver") ? "" : (median(all) / median(base)).toFixed(2);
    console.log(`| ${kind} | ${median(all).toFixed(0)} | ${ratio} |`);
  }
  const { peakMib } = server.memory();
  console.log(`\n${store}: the service had ${residentMib.toFixed(0)} MiB before, and ${peakMib.toFixed(0)} at most`);
}

/** Prints how long other callers wait, alone and beside eight transfers. */
async function compareOthers(store: string, server: ServerProcess): Promise<void> {
  await call(server, "POST", "session", { sessionId: "others" });
  const alone = await others(server);
  // On a thread of its own, so that it does not slow down what is measured here.
  const load = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2), workerData: server.httpPort });
  const [begun] = await once(load, "message");
  if (begun !== "begun") throw new Error(`The load says ${begun}`);
  const beside = await others(server);
  load.postMessage("end");
  await once(load, "exit");
  console.log(`| others on ${store} | p50 ms | p99 ms |\n|---|---|---|`);
  for (const [what, all] of [
    ["alone", alone],
    [`beside ${TRANSFERS} transfers`, beside],
  ] as const) {
    console.log(`| ${what} | ${quantile(all, 0.5).toFixed(1)} | ${quantile(all, 0.99).toFixed(1)} |`);
  }
}

/** How long appends and reads took, in milliseconds, one every 20 ms. */
async function others(server: ServerProcess): Promise<number[]> {
  const times: number[] = [];
  const ends = performance.now() + OTHERS_MS;
  while (performance.now() < ends) {
    const begun = performance.now();
    await call(server, "POST", "session/others/message", {
      info: { role: "user" },
      parts: [{ type: "text", text: "x" }],
    });
    await call(server, "GET", "session/others/message?limit=1&newest_first=true");
    times.push(performance.now() - begun);
    await sleep(20);
  }
  return times;
}

/** Prints how long a page of messages with pictures takes, against one of short texts. */
async function comparePages(store: string, server: ServerProcess): Promise<void> {
  for (const id of ["texts", "pictures"]) await call(server, "POST", "session", { sessionId: id });
  for (let i = 0; i < PAGE; i++) {
    const text = { type: "text", text: "A short text." };
    await call(server, "POST", "session/texts/message", {
      info: { role: "user" },
      parts: [text, { type: "file", text: "picture" }],
    });
    const attachmentId = `picture-${i}`;
    await send(
      server,
      `session/pictures/attachment?attachment_id=${attachmentId}&name=p.png`,
      PIECE,
      PIECE,
      PIECE,
      PIECE,
    );
    await call(server, "POST", "session/pictures/message", {
      info: { role: "user" },
      parts: [text, { type: "file", attachment: { attachmentId } }],
    });
  }
  const times: Record<string, number[]> = { texts: [], pictures: [] };
  for (let i = 0; i < 400; i++) {
    for (const id of ["texts", "pictures"] as const) {
      const begun = performance.now();
      await call(server, "GET", `session/${id}/message?limit=${PAGE}`);
      if (i >= 100) times[id]?.push(performance.now() - begun);
    }
  }
  const [texts, pictures] = [median(times.texts as number[]), median(times.pictures as number[])];
  console.log(
    `\n${store}: a page of ${PAGE} messages takes ${pictures.toFixed(2)} ms with pictures, ${texts.toFixed(2)} ms with texts`,
  );
}

function uploadByRest(server: Address, id: string): Promise<unknown> {
  return send(server, `session/s/attachment?attachment_id=${id}`, ...Array<Buffer>(PIECES).fill(PIECE));
}

async function send(server: Address, path: string, ...pieces: readonly Buffer[]): Promise<unknown> {
  const body = ReadableStream.from(pieces) as ReadableStream<Uint8Array<ArrayBuffer>>;
  const headers = { "content-type": "image/png" };
  const init = { method: "POST", body, headers, duplex: "half" } as RequestInit;
  return answerOf(await fetch(`http://127.0.0.1:${server.httpPort}/${path}`, init));
}

async function downloadByRest(server: Address, id: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${server.httpPort}/session/s/attachment/${id}`);
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) bytes += chunk.length;
  if (bytes !== mib * 2 ** 20) throw new Error(`${bytes} bytes arrived`);
}

async function call(server: Address, method: string, path: string, body?: object): Promise<unknown> {
  const init = body && { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  return answerOf(await fetch(`http://127.0.0.1:${server.httpPort}/${path}`, { method, ...init }));
}

async function answerOf(response: Response): Promise<unknown> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status}: ${text}`);
  return JSON.parse(text);
}

async function* messages(attachmentId: string) {
  yield { sessionId: "s", attachmentId };
  for (let i = 0; i < PIECES; i++) yield { chunk: PIECE };
}

if (parentPort === null) await main();
else await makeLoad(parentPort, workerData as number);

function median(all: readonly number[]): number {
  return quantile(all, 0.5);
}

function quantile(all: readonly number[], share: number): number {
  return all.toSorted((a, b) => a - b)[Math.floor(share * (all.length - 1))] as number;
}
