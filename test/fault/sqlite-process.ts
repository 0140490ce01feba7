import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Answer, Command } from "./sqlite-child.js";

/** The folder of the bundle, in which it finds its packages. */
const FOLDER = fileURLToPath(new URL("../../node_modules/.cache/session-pool/", import.meta.url));

/** Bundles a child's script into one file that Node.js can run. */
export async function bundleChild(
  source = new URL("sqlite-child.ts", import.meta.url),
): Promise<{ readonly script: string; remove(): void }> {
  mkdirSync(FOLDER, { recursive: true });
  const script = `${FOLDER}${randomUUID()}.mjs`;
  await build({
    entryPoints: [fileURLToPath(source)],
    outfile: script,
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
    logLevel: "error",
  });
  return { script, remove: () => rmSync(script) };
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly onAcknowledged: ((id: string) => void) | undefined;
}

/** Thrown when the process was killed before it answered. The command may have taken effect or not. */
export class Killed extends Error {}

/** A process that works on a SQLite file. */
export class SqliteProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #pending = new Map<number, Pending>();
  #number = 0;
  #answers = 0;
  #onAnswer: ((answers: number) => void) | undefined;

  constructor(script: string, path: string) {
    this.#child = spawn(process.execPath, [script, path], { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream });
    lines.on("line", (line) => this.#take(JSON.parse(line) as Answer));
    this.#child.stdin?.on("error", () => {
      // Writing to a killed process fails, which is expected. The commands that wait for answers are rejected below.
    });
    this.#exited = once(lines, "close").then(() => {
      for (const { reject } of this.#pending.values()) reject(new Killed("The process has ended"));
      this.#pending.clear();
    });
  }

  /** How many answers the process has given. */
  get answers(): number {
    return this.#answers;
  }

  /**
   * Sends a command. Resolves to the child's answer. Rejects with `Killed`, or with the error that the child reports.
   */
  tell<T>(command: Command, onAcknowledged?: (id: string) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const number = ++this.#number;
      this.#pending.set(number, { resolve: resolve as (result: unknown) => void, reject, onAcknowledged });
      this.#child.stdin?.write(`${JSON.stringify({ number, ...command })}\n`);
    });
  }

  /** Kills the process with SIGKILL once it has given this many answers in all. */
  killAfter(answers: number): void {
    this.#onAnswer = (count) => {
      if (count >= answers) this.#child.kill("SIGKILL");
    };
    this.#onAnswer(this.#answers);
  }

  /** Lets the process close its store and end, unless it has ended already. */
  async end(): Promise<void> {
    this.#child.stdin?.end();
    await this.exited();
  }

  async exited(): Promise<void> {
    await this.#exited;
  }

  #take(answer: Answer): void {
    const pending = this.#pending.get(answer.number);
    this.#answers++;
    if ("acknowledged" in answer) pending?.onAcknowledged?.(answer.acknowledged);
    else {
      this.#pending.delete(answer.number);
      if ("failure" in answer) pending?.reject(new Error(answer.failure));
      else pending?.resolve(answer.result);
    }
    this.#onAnswer?.(this.#answers);
  }
}
