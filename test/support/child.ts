import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { buildInto } from "../../scripts/build.mjs";
import { poll } from "./poll.js";
import { cached, ROOT } from "./toolchain.js";

const INPUTS = ["src", "gen", "scripts", "package.json", "package-lock.json"].map((path) => join(ROOT, path));

/** The built program. It is built once for each state of the source, and test processes share it. */
export const MAIN = join(await cached("program", INPUTS, buildInto), "main.js");

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Served {
  readonly child: Child;
  readonly grpcAddress: string;
  readonly httpUrl: string;
}

interface ChildOptions {
  readonly descriptors?: number;
  readonly node?: string;
  readonly main?: string;
}

/** The program as a process of its own. */
export class Child {
  readonly process: ChildProcess;
  readonly #closed: Promise<unknown>;
  stdout = "";
  stderr = "";

  constructor(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    { descriptors, node = process.execPath, main = MAIN }: ChildOptions = {},
  ) {
    const command = [node, main, ...args] as const;
    const limited = ["sh", "-c", `ulimit -n ${descriptors} && exec "$@"`, "sh", ...command] as const;
    const [program, ...rest] = descriptors === undefined ? command : limited;
    this.process = spawn(program, rest, { env: { ...process.env, ...env } });
    this.#closed = once(this.process, "close");
    this.process.stdout?.on("data", (chunk) => {
      this.stdout += chunk;
    });
    this.process.stderr?.on("data", (chunk) => {
      this.stderr += chunk;
    });
  }

  /** Starts `serve` on free ports. Resolves to its addresses as soon as it has printed them. */
  static serve(...args: readonly string[]): Promise<Served> {
    return Child.serveWith({}, ...args);
  }

  /** Starts `serve` with further environment variables. */
  static async serveWith(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Served> {
    return Child.#started(
      new Child(["serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", ...args], env),
    );
  }

  /** Starts `serve` with a limit on open file descriptors, and perhaps one on the heap. */
  static async serveLimited(
    { descriptors, heapMiB }: { readonly descriptors: number; readonly heapMiB?: number | undefined },
    ...args: readonly string[]
  ): Promise<Served> {
    const all = ["serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", ...args];
    const env: Record<string, string> =
      heapMiB === undefined ? {} : { NODE_OPTIONS: `--max-old-space-size=${heapMiB}` };
    return Child.#started(new Child(all, env, { descriptors }));
  }

  /** Starts `serve` on another Node, or another program. */
  static serveOn(options: ChildOptions, ...args: readonly string[]): Promise<Served> {
    const all = ["serve", "--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0", ...args];
    return Child.#started(new Child(all, {}, options));
  }

  static async #started(child: Child): Promise<Served> {
    await poll(() => child.stdout.includes("\n") || child.process.exitCode !== null, "the start line is printed");
    const [, grpcAddress, httpUrl] = /gRPC on (\S+), HTTP on (\S+),/.exec(child.stdout) ?? [];
    if (grpcAddress === undefined || httpUrl === undefined)
      throw new Error(`The program printed no start line: ${child.stdout}${child.stderr}`);
    return { child, grpcAddress, httpUrl };
  }

  kill(signal: NodeJS.Signals): void {
    this.process.kill(signal);
  }

  /** Resolves when the process has ended and everything that it wrote has been read. */
  async ended(): Promise<Ended> {
    await this.#closed;
    const { exitCode: code, signalCode: signal } = this.process;
    return { code, signal, stdout: this.stdout, stderr: this.stderr };
  }
}

/** Runs a command and resolves when it has ended. */
export function run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended> {
  return new Child(args, env).ended();
}
