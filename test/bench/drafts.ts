import { setMaxListeners } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";
import { processorMs } from "../support/processor-time.js";
import { type ServerProcess, startServer } from "./processes.js";

// Streams many drafts at once into one SQLite file, each with a watcher, and prints how late the watchers get the
// deltas:
//
//     npm run bench -- drafts [drafts] [deltas a second for each draft] [seconds]

const [drafts = 200, rate = 20, seconds = 30] = process.argv.slice(2).map(Number);
const TEXT = " and a few words more";

type Messages = Client<typeof MessageService>;

interface Draft {
  readonly sessionId: string;
  version: bigint;
  /** The text that was acknowledged. */
  written: string;
  /** For each version, when its ExtendDraft was answered. */
  readonly answeredMs: Map<bigint, number>;
  /** For each version, when the watcher received it. */
  readonly toldMs: Map<bigint, number>;
  told: string;
  message: string | null;
}

const folder = await mkdtemp(join(tmpdir(), "session-pool-drafts-"));
const storage = `sqlite:${join(folder, "bench.db")}`;
const writing = await startServer(storage, undefined);
const watching = await startServer(storage, undefined);
try {
  for (const where of ["same process", "another process"] as const) {
    await measure(where, where === "same process" ? writing : watching);
  }
  await compareCpu();
} finally {
  await Promise.all([writing.stop(), watching.stop()]);
  await rm(folder, { recursive: true, force: true });
}

async function measure(where: string, watched: ServerProcess): Promise<void> {
  const writer = clientOf(writing);
  const all = await startDrafts(writer, where);
  const gone = new AbortController();
  setMaxListeners(0, gone.signal);
  const watcher = clientOf(watched);
  const watches = all.map((draft) => watch(watcher, draft, gone.signal));
  await sleep(1000);
  const before = cpuMs(writing);
  const begunMs = performance.now();
  await Promise.all(all.map((draft, i) => extendAll(writer, draft, i / all.length)));
  const tookMs = performance.now() - begunMs;
  const deltas = all.reduce((sum, { answeredMs }) => sum + answeredMs.size, 0);
  const cpuPerDelta = ((cpuMs(writing) - before) * 1000) / deltas;
  await Promise.all(
    all.map(({ sessionId, version }) => writer.finishDraft({ sessionId, messageId: "d", version, deltas: [] })),
  );
  await Promise.all(watches);
  gone.abort();
  const wrong = all.filter(({ told, message, written }) => told !== message || message !== written);
  const late = all.flatMap(({ answeredMs, toldMs }) => latenesses(answeredMs, toldMs)).sort((a, b) => a - b);
  const perSecond = Math.round((deltas * 1000) / tookMs);
  print(`${where}: ${deltas} deltas, ${perSecond} a second of ${drafts * rate} wanted`);
  print(`  deltas add up to the message for ${all.length - wrong.length} of ${all.length} watchers`);
  print(`  answer to event: p50 ${quantile(late, 0.5)} ms, p99 ${quantile(late, 0.99)} ms`);
  print(`  CPU of the server that writes: ${cpuPerDelta.toFixed(0)} µs a delta, watchers included`);
}

/** Compares the CPU that ExtendDraft and AppendMessage need to store the same bytes while nobody watches. */
async function compareCpu(): Promise<void> {
  const writer = clientOf(writing);
  const all = (await startDrafts(writer, "cpu")).slice(0, 20);
  const count = 100;
  const spent = async (work: (draft: Draft) => Promise<void>) => {
    const before = cpuMs(writing);
    await Promise.all(all.map(work));
    return ((cpuMs(writing) - before) * 1000) / (all.length * count);
  };
  const extend = await spent(async (draft) => {
    for (let i = 0; i < count; i++) await extendOnce(writer, draft);
  });
  const append = await spent(async ({ sessionId }) => {
    for (let i = 0; i < count; i++) {
      const message = { info: { role: "assistant" }, parts: [{ type: "text", text: TEXT }] };
      await writer.appendMessage({ sessionId, message });
    }
  });
  print(
    `CPU: ExtendDraft ${extend.toFixed(0)} µs, AppendMessage ${append.toFixed(0)} µs, ratio ${(extend / append).toFixed(2)}`,
  );
}

async function startDrafts(writer: Messages, name: string): Promise<Draft[]> {
  const sessions = createClient(SessionService, transportOf(writing));
  const all = Array.from({ length: drafts }, (_, i) => `${name} ${i}`);
  for (const sessionId of all) {
    await sessions.createSession({ sessionId });
    await writer.startDraft({ sessionId, message: { info: { id: "d", role: "assistant" } } });
  }
  return all.map((sessionId) => ({
    ...{ sessionId, version: 1n, written: "", told: "", message: null },
    answeredMs: new Map(),
    toldMs: new Map(),
  }));
}

/**
 * Extends a draft at the rate, or as fast as the server answers. `phase` spreads the drafts over the first interval.
 */
async function extendAll(writer: Messages, draft: Draft, phase: number): Promise<void> {
  const beginMs = performance.now() + (phase * 1000) / rate;
  for (let i = 0; i < rate * seconds; i++) {
    const waitMs = beginMs + (i * 1000) / rate - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    if (performance.now() - beginMs > seconds * 1000) return;
    await extendOnce(writer, draft);
  }
}

async function extendOnce(writer: Messages, draft: Draft): Promise<void> {
  const { sessionId, version } = draft;
  const deltas = [{ delta: { case: "appendText", value: { partId: "p", text: TEXT } } } as const];
  draft.version = (await writer.extendDraft({ sessionId, messageId: "d", version, deltas })).version;
  draft.answeredMs.set(draft.version, performance.now());
  draft.written += TEXT;
}

/** Records the events of a draft until its message is appended. */
async function watch(watcher: Messages, draft: Draft, signal: AbortSignal): Promise<void> {
  let version = 1n;
  for await (const { event } of watcher.watchMessages({ sessionId: draft.sessionId, fromPosition: 0n }, { signal })) {
    if (event.case === "draftExtended") {
      const nowMs = performance.now();
      while (version < event.value.version) draft.toldMs.set(++version, nowMs);
      for (const { delta } of event.value.deltas) if (delta.case === "appendText") draft.told += delta.value.text;
    } else if (event.case === "appended") {
      draft.message = event.value.parts.map(({ text }) => text).join("");
      return;
    }
  }
}

/** Returns how much later than its answer each event came. An event that came before its answer counts as 0 late. */
function latenesses(answeredMs: Draft["answeredMs"], toldMs: Draft["toldMs"]): number[] {
  return [...answeredMs].map(([version, ms]) => Math.max(0, (toldMs.get(version) ?? Number.POSITIVE_INFINITY) - ms));
}

function quantile(sorted: readonly number[], part: number): string {
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN).toFixed(1);
}

function clientOf(server: ServerProcess): Messages {
  return createClient(MessageService, transportOf(server));
}

function transportOf({ grpcPort }: ServerProcess) {
  return createGrpcTransport({ baseUrl: `http://127.0.0.1:${grpcPort}` });
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function cpuMs({ pids }: ServerProcess): number {
  return processorMs(...pids) ?? Number.NaN;
}
