import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";

/** The folder of the bundles. This module is part of one of them. */
const BUNDLES = fileURLToPath(new URL(".", import.meta.url));
const SERVER = `${BUNDLES}server.mjs`;

export const SERVER_CORE = 0;
export const GENERATOR_CORE = 1;

/** Whether processes can be kept on one core each. */
export const CAN_PIN = availableParallelism() > 1 && spawnSync("taskset", ["-c", "0", "true"]).status === 0;

/** A process that answers one request after the other. */
export class Peer<Request> {
  readonly #child: ChildProcess;
  readonly #onProgress: ((done: number) => void) | undefined;

  constructor(child: ChildProcess, onProgress?: (done: number) => void) {
    this.#child = child;
    this.#onProgress = onProgress;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  async ask<Answer>(request: Request): Promise<Answer> {
    const answer = this.next<Answer>();
    this.#child.send(request as object);
    return answer;
  }

  next<Answer>(): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const onExit = (code: number | null, signal: string | null) => {
        reject(new Error(`A process of the benchmark has ended: ${signal ?? code}`));
      };
      const onMessage = (message: { answer?: Answer; error?: string; done?: number }) => {
        if (message.done !== undefined) return this.#onProgress?.(message.done);
        this.#child.off("exit", onExit).off("message", onMessage);
        if (message.error === undefined) resolve(message.answer as Answer);
        else reject(new Error(message.error));
      };
      this.#child.on("exit", onExit).on("message", onMessage);
    });
  }

  stop(): Promise<void> {
    return stopProcess(this.#child);
  }
}

/** Starts one of this benchmark's programs. Resolves when it is ready, with the first message that it sends. */
export async function startPeer<Request, Ready>(
  name: "bare-server" | "worker",
  core: number | undefined,
  onProgress?: (done: number) => void,
): Promise<{ peer: Peer<Request>; ready: Ready }> {
  const child = start([`${BUNDLES}${name}.mjs`], core, ["ignore", "inherit", "inherit", "ipc"]);
  const peer = new Peer<Request>(child, onProgress);
  return { peer, ready: await peer.next<Ready>() };
}

export interface ServerProcess {
  readonly grpcPort: number;
  readonly httpPort: number;
  /** The process that was started, and its workers. */
  readonly pids: readonly number[];
  /** Returns the resident memory in MiB: the current one and its peak. */
  memory(): { readonly residentMib: number; readonly peakMib: number };
  stop(): Promise<void>;
}

/** Starts `session-pool serve` with its defaults, on free ports. */
export async function startServer(
  storage: string,
  core: number | undefined,
  { workers = 1, program = SERVER }: { readonly workers?: number; readonly program?: string } = {},
): Promise<ServerProcess> {
  const flags = [
    "--grpc-address",
    "127.0.0.1:0",
    "--http-address",
    "127.0.0.1:0",
    "--workers",
    String(workers),
    "--log-level",
    "warn",
  ];
  const args = [...profiling(), program, "serve", "--storage", storage, ...flags];
  const child = start(args, core, ["ignore", "pipe", "inherit"]);
  const line = await startLine(child);
  const ports = /gRPC on \S+:(\d+), HTTP on \S+:(\d+),/.exec(line);
  if (ports === null) throw new Error(`The server did not start: ${line}`);
  return {
    pids: [child.pid as number, ...workersOf(child.pid as number)],
    grpcPort: Number(ports[1]),
    httpPort: Number(ports[2]),
    memory: () => readMemory(child.pid as number),
    stop: () => stopProcess(child),
  };
}

/** The processes that a process has started; none where the system does not say. */
function workersOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  return existsSync(file) ? readFileSync(file, "utf8").split(" ").filter(Boolean).map(Number) : [];
}

/** Returns the flags for a CPU profile of the server, if SESSION_POOL_BENCH_PROFILE names a folder for it. */
function profiling(): string[] {
  const folder = process.env.SESSION_POOL_BENCH_PROFILE;
  return folder === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${folder}`];
}

function start(
  args: string[],
  core: number | undefined,
  stdio: ("ignore" | "inherit" | "pipe" | "ipc")[],
): ChildProcess {
  const [file, ...rest] = onCore(core, process.execPath, args);
  return spawn(file, rest, { stdio, serialization: "advanced" });
}

/** Returns the command that runs a program on one core, if this machine can do that. */
export function onCore(core: number | undefined, program: string, args: readonly string[]): [string, ...string[]] {
  return core !== undefined && CAN_PIN ? ["taskset", "-c", String(core), program, ...args] : [program, ...args];
}

function startLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout?.on("data", (chunk) => {
      text += chunk;
      const line = text.split("\n").find((one) => one.startsWith("session-pool "));
      if (line !== undefined && text.endsWith("\n")) resolve(line);
    });
    child.once("exit", (code) => reject(new Error(`The server ended with ${code}: ${text}`)));
  });
}

function stopProcess(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once("exit", () => resolve());
    if (child.connected) child.disconnect();
    else child.kill("SIGTERM");
  });
}

function readMemory(pid: number): { residentMib: number; peakMib: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mib = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024;
  return { residentMib: mib("VmRSS"), peakMib: mib("VmHWM") };
}
