import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { poll } from "./poll.js";
import { PID_FILE, type ServerUser } from "./postgres-folder.js";

const run = promisify(execFile);

const START_MS = 300_000;
/** The line of the pid file that has the key and the id of a segment of System V shared memory. */
const SHARED_MEMORY_LINE = 6;

/** A server that the tests have started and may freeze and kill. Its postmaster has one child for each connection. */
export interface PostgresProcess {
  readonly port: number;
  /** The folder of its data. */
  readonly folder: string;
  /** What the server has logged since it was started first. */
  readonly log: string;
  /** Sends SIGSTOP to the postmaster and its children. Resolves when all of them have stopped. */
  freeze(): Promise<void>;
  /** Sends SIGCONT to what `freeze` has stopped. */
  thaw(): void;
  /** Sends SIGKILL to the postmaster and its children. Resolves when they are gone. */
  kill(): Promise<void>;
  /** Starts the server anew on the same files and port, after `kill`. Resolves when it accepts connections. */
  start(): Promise<void>;
  killAndRestart(): Promise<void>;
}

/** Starts a server on the files in the folder, whose configuration names the port. */
export async function startPostgresProcess(
  binary: string,
  folder: string,
  port: number,
  user: ServerUser,
): Promise<PostgresProcess> {
  const server = new OwnPostgresProcess(binary, folder, port, user);
  await server.start();
  return server;
}

class OwnPostgresProcess implements PostgresProcess {
  #child: ChildProcess | null = null;
  #frozen: readonly number[] = [];
  log = "";

  constructor(
    private readonly binary: string,
    readonly folder: string,
    readonly port: number,
    private readonly user: ServerUser,
  ) {}

  async start(): Promise<void> {
    const child = spawn(this.binary, ["-D", this.folder], {
      ...this.user,
      cwd: this.folder,
      env: { LC_ALL: "C" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#child = child;
    let output = "";
    child.stderr.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      this.log += chunk.toString();
    });
    let failure: Error | null = null;
    child.once("error", (error) => {
      failure = error;
    });
    const isReady = () => output.includes("ready to accept");
    await poll(() => isReady() || failure !== null || hasEnded(child), `${this.binary} is ready`, START_MS);
    if (failure) throw failure;
    if (!isReady()) throw new Error(`${this.binary} has ended: ${output.slice(-2000)}`);
  }

  async freeze(): Promise<void> {
    const pids = await this.#stopForking();
    for (const pid of pids) signal(pid, "SIGSTOP");
    await poll(async () => (await processes()).every((one) => !pids.includes(one.pid) || one.isStopped), "all stopped");
    this.#frozen = pids;
  }

  thaw(): void {
    // The postmaster is the first, and goes on last: until then, children that have ended keep their ids.
    for (const pid of this.#frozen.toReversed()) signal(pid, "SIGCONT");
    this.#frozen = [];
  }

  async kill(): Promise<void> {
    const child = this.#running();
    const pids = await this.#stopForking();
    const pidFile = join(this.folder, PID_FILE);
    const sharedMemory = (await readFile(pidFile, "utf8")).split("\n")[SHARED_MEMORY_LINE]?.trim().split(/ +/)[1];
    const ended = once(child, "exit");
    for (const pid of pids) signal(pid, "SIGKILL");
    await ended;
    await poll(async () => (await processes()).every(({ pid }) => !pids.includes(pid)), "all killed");
    this.#frozen = [];
    // The server can no longer give back what the system keeps for it.
    if (sharedMemory) await removeSharedMemory(sharedMemory);
    await rm(pidFile);
  }

  async killAndRestart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** Stops the postmaster, so that it starts no further child. Resolves to the ids of all its processes. */
  async #stopForking(): Promise<readonly number[]> {
    const { pid: postmaster } = this.#running();
    process.kill(postmaster, "SIGSTOP");
    let all: readonly Process[] = [];
    await poll(async () => {
      all = await processes();
      return all.some(({ pid, isStopped }) => pid === postmaster && isStopped);
    }, "the postmaster has stopped");
    // The postmaster comes last: it takes the ids of its children that have ended meanwhile.
    return [...all.filter(({ parent }) => parent === postmaster).map(({ pid }) => pid), postmaster];
  }

  #running(): ChildProcess & { readonly pid: number } {
    const child = this.#child;
    if (child?.pid === undefined || hasEnded(child)) throw new Error("The server does not run");
    return child as ChildProcess & { readonly pid: number };
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** A process that has ended meanwhile needs no signal. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** A server that was just starting anew, because one of its processes had died, has removed it already. */
async function removeSharedMemory(id: string): Promise<void> {
  try {
    await run("ipcrm", ["-m", id]);
  } catch (error) {
    if (!/invalid id|already removed/i.test(String((error as { stderr?: string }).stderr))) throw error;
  }
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly isStopped: boolean;
}

/** Resolves to all processes of this machine, without those that have ended and wait for their parents. */
async function processes(): Promise<readonly Process[]> {
  const { stdout } = await run("ps", ["-A", "-o", "pid=,ppid=,state="]);
  const rows = stdout
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/ +/));
  return rows
    .filter(([, , state]) => !state?.startsWith("Z"))
    .map(([pid, parent, state = ""]) => ({
      pid: Number(pid),
      parent: Number(parent),
      isStopped: state.startsWith("T"),
    }));
}
