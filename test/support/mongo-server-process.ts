import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { MongoClient } from "mongodb";
import { freePort } from "./free-port.js";
import { poll } from "./poll.js";

const START_MS = 300_000;

/** A database server that the tests have started and may freeze and kill. */
export interface ServerProcess {
  readonly port: number;
  /** Sends SIGSTOP. Resolves when the process has stopped. */
  freeze(): Promise<void>;
  /** Sends SIGCONT. */
  thaw(): void;
  /** Sends SIGKILL, then starts the server anew on the same files and port. */
  killAndRestart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startServerProcess(
  binary: string,
  args: (port: number, folder: string) => readonly string[],
): Promise<ServerProcess> {
  const folder = await mkdtemp(join(tmpdir(), "session-pool-mongo-"));
  const port = await freePort();
  let child = await launch(binary, args(port, folder), port);
  const killOnExit = () => void child.kill("SIGKILL");
  process.once("exit", killOnExit);
  return {
    port,
    async freeze() {
      child.kill("SIGSTOP");
      await poll(() => isStopped(child), "the server has stopped");
    },
    thaw: () => void child.kill("SIGCONT"),
    async killAndRestart() {
      await end(child);
      child = await launch(binary, args(port, folder), port);
    },
    async stop() {
      process.off("exit", killOnExit);
      await end(child);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function launch(binary: string, args: readonly string[], port: number): Promise<ChildProcess> {
  const child = spawn(binary, args, { stdio: ["ignore", "ignore", "pipe"] });
  let output = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-2000);
  });
  let failure: Error | null = null;
  child.once("error", (error) => {
    failure = error;
  });
  for (const endMs = Date.now() + START_MS; Date.now() < endMs; await sleep(100)) {
    if (failure) throw failure;
    if (child.exitCode !== null) throw new Error(`${binary} ended with ${child.exitCode}: ${output}`);
    if (await answers(port)) return child;
  }
  child.kill("SIGKILL");
  throw new Error(`${binary} does not answer: ${output}`);
}

async function isStopped({ pid }: ChildProcess): Promise<boolean> {
  const { stdout } = await promisify(execFile)("ps", ["-o", "state=", "-p", String(pid)]);
  return stdout.trim().startsWith("T");
}

async function answers(port: number): Promise<boolean> {
  const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, {
    serverSelectionTimeoutMS: 500,
  });
  try {
    await client.db("admin").command({ ping: 1 });
    return true;
  } catch {
    return false;
  } finally {
    await client.close();
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
