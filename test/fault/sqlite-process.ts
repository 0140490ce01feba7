import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Answer, Command } from "./sqlite-child.js";

/** Beside node_modules, where the bundle finds its packages. */
const FOLDER = fileURLToPath(new URL("../../node_modules/.cache/session-pool/", import.meta.url));

/** The child's script as one file that plain node runs. */
export async function bundleChild(): Promise<{ readonly script: string; remove(): void }> {
  mkdirSync(FOLDER, { recursive: true });
  const script = `${FOLDER}sqlite-child-${process.pid}.mjs`;
  await build({
    entryPoints: [fileURLToPath(new URL("sqlite-child.ts", import.meta.url))],
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

/** The process was killed before it answered: what it was told may have happened or not. */
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
      // A killed process reads no more; whoever waits for its answer is told so below.
    });
    this.#exited = once(lines, "close").then(() => {
      for (const { reject } of this.#pending.values()) reject(new Killed("The process has ended"));
      this.#pending.clear();
    });
  }

  /** How many answers it has given. */
  get answers(): number {
    return this.#answers;
  }

  /** Resolves to the child's answer; rejects with `Killed`, or with what the child says of its failure. */
  tell<T>(command: Command, onAcknowledged?: (id: string) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const number = ++this.#number;
      this.#pending.set(number, { resolve: resolve as (result: unknown) => void, reject, onAcknowledged });
      this.#child.stdin?.write(`${JSON.stringify({ number, ...command })}\n`);
    });
  }

  /** Kills it with -9 once it has given so many answers in all. */
  killAfter(answers: number): void {
    this.#onAnswer = (count) => {
      if (count >= answers) this.#child.kill("SIGKILL");
    };
    this.#onAnswer(this.#answers);
  }

  /** Lets it close its store and end, unless it has ended. */
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
