import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { MAIN } from "./child.js";
import { poll } from "./poll.js";
import { ROOT } from "./toolchain.js";

/** A server that a page's command has started. */
export interface PageServer {
  readonly url: string;
  /** What the server has written to standard error. */
  log(): string;
  stop(): Promise<void>;
}

/** Runs the shell blocks of one page of the documents, as they stand there, in a folder that holds the program. */
export class PageCommands {
  readonly #page: string;
  readonly #folder: string;
  readonly #replaced: readonly (readonly [string, string])[];

  private constructor(page: string, folder: string, replaced: readonly (readonly [string, string])[]) {
    this.#page = readFileSync(join(ROOT, page), "utf8");
    this.#folder = folder;
    this.#replaced = replaced;
  }

  /** `replaced`: examples of the page, such as a URL, and what a test has instead. */
  static async in(
    folder: string,
    page: string,
    replaced: readonly (readonly [string, string])[] = [],
  ): Promise<PageCommands> {
    await symlink(dirname(MAIN), join(folder, "dist"));
    return new PageCommands(page, folder, replaced);
  }

  /** Runs a block of a section to its end. Resolves to what it printed; rejects when it fails. */
  async run(heading: string, index = 0): Promise<string> {
    const child = this.#start(this.#block(heading, index));
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (chunk) => {
        output += chunk;
      });
    }
    const [code] = await once(child, "close");
    if (code !== 0) throw new Error(`The block ${index} of ${heading} ended with ${code}: ${output}`);
    return output;
  }

  /** Starts the server of a block, on free ports. */
  async serve(heading: string, index = 0): Promise<PageServer> {
    const child = this.#start(`exec ${this.#block(heading, index)}`);
    const ended = once(child, "close");
    let line = "";
    let log = "";
    child.stdout?.on("data", (chunk) => {
      line += chunk;
    });
    child.stderr?.on("data", (chunk) => {
      log += chunk;
    });
    await poll(() => line.includes("\n") || child.exitCode !== null, "the start line is printed");
    const [, url] = /HTTP on (http:\S+),/.exec(line) ?? [];
    if (url === undefined) throw new Error(`The block ${index} of ${heading} started no server: ${line}${log}`);
    return {
      url,
      log: () => log,
      stop: async () => {
        child.kill("SIGTERM");
        await ended;
      },
    };
  }

  #block(heading: string, index: number): string {
    const [, section] = this.#page.split(`\n## ${heading}\n`);
    const blocks = [...(section?.split("\n## ")[0] ?? "").matchAll(/^```sh\n(.*?)^```$/gms)];
    const text = blocks[index]?.[1];
    if (text === undefined) throw new Error(`The page has no block ${index} below "${heading}"`);
    return this.#replaced.reduce((block, [example, own]) => block.replaceAll(example, own), text);
  }

  #start(script: string): ChildProcess {
    const env = { SESSION_POOL_GRPC_ADDRESS: "127.0.0.1:0", SESSION_POOL_HTTP_ADDRESS: "127.0.0.1:0" };
    return spawn("bash", ["-euo", "pipefail", "-c", script], {
      cwd: this.#folder,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
  }
}
