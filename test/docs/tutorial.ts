import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "vitest";
import { MAIN } from "../support/child.js";
import { poll } from "../support/poll.js";
import { run } from "../support/toolchain.js";
import { type Block, blocksOf } from "./blocks.js";

/** A step of a tutorial: a program to save, commands whose output is not shown, or commands with their output. */
export type Step =
  | { readonly kind: "program"; readonly name: string; readonly text: string }
  | { readonly kind: "install"; readonly text: string }
  | { readonly kind: "commands"; readonly line: number; readonly commands: readonly Command[] };

interface Command {
  readonly command: string;
  readonly output: string;
}

export interface Ports {
  readonly grpc: number;
  readonly http: number;
  readonly chat: number;
}

/** Commands that run until somebody stops them: the service, and the backend in each language. */
const SERVERS = ["npm start", ".venv/bin/uvicorn", "npx tsx chat.ts"];
const END = "@end-of-command@";

/** Returns the steps of a page. A program is saved under the last name before it: "Save this as `chat.py`:". */
export function stepsOf(page: string, lines: readonly string[]): readonly Step[] {
  return blocksOf(page).map((block): Step => {
    if (block.language === "sh") return { kind: "install", text: block.text };
    if (block.language === "console") return { kind: "commands", line: block.line, commands: commandsOf(block) };
    const [, name] = /`([\w-]+\.\w+)`[^`]*:$/.exec(lines[block.line - 3] ?? "") ?? [];
    if (name === undefined) throw new Error(`${page}:${block.line}: the line before this program does not name it`);
    return { kind: "program", name, text: block.text };
  });
}

function commandsOf({ text }: Block): readonly Command[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((one) => {
      const [command = "", ...output] = one.split("\n");
      return { command, output: output.join("\n").trim() };
    });
}

/** Runs the commands of a tutorial as its reader would: servers in terminals of their own, all else in one shell. */
export class Terminals {
  readonly #folder: string;
  readonly #clone: string;
  readonly #ports: Ports;
  readonly #servers = new Map<string, ChildProcess>();
  /** What the shell has to remember for later commands. */
  readonly #variables: string[] = [];

  /** `folder`: of the chat. `clone`: beside it, where the service runs. */
  constructor(folder: string, clone: string, ports: Ports) {
    this.#folder = folder;
    this.#clone = clone;
    this.#ports = ports;
  }

  /** Runs commands and expects the output that the page shows. */
  async follow(commands: readonly Command[]): Promise<void> {
    const server = commands.at(-1);
    if (server !== undefined && SERVERS.some((prefix) => server.command.startsWith(prefix))) await this.#serve(server);
    else await this.#run(commands);
  }

  async stop(): Promise<void> {
    for (const name of [...this.#servers.keys()]) await this.#end(name);
  }

  /** Puts the ports of this test in the place of those that the page names. */
  moved(text: string): string {
    const { grpc, http, chat } = this.#ports;
    return text.replaceAll("50051", `${grpc}`).replaceAll("8080", `${http}`).replaceAll("8000", `${chat}`);
  }

  async #run(commands: readonly Command[]): Promise<void> {
    const lines = commands.map(({ command }) => `${this.moved(command)}\necho '${END}'`);
    const script = [...this.#variables, ...lines].join("\n");
    const printed = await run("bash", ["-c", script], { cwd: this.#folder, env: { no_proxy: "localhost,127.0.0.1" } });
    const outputs = printed.split(`${END}\n`).map((output) => output.trim());
    expect(outputs.slice(0, -1)).toEqual(commands.map(({ output }) => like(this.moved(output))));
    this.#variables.push(...commands.map(({ command }) => command).filter((command) => /^[A-Z]+=/.test(command)));
  }

  /** Starts a server and waits until it prints the line that the page shows. Stops the one that ran before. */
  async #serve({ command, output }: Command): Promise<void> {
    const isService = command.startsWith("npm start");
    const name = isService ? "service" : "backend";
    await this.#end(name);
    const { grpc, http } = this.#ports;
    // `npm start` would build the program first; the one that the other tests run has been built already.
    const program = isService ? `"${process.execPath}" "${MAIN}" serve` : command;
    const flags = isService ? command.slice("npm start --".length) : "";
    const addresses = {
      SESSION_POOL_GRPC_ADDRESS: `127.0.0.1:${grpc}`,
      SESSION_POOL_HTTP_ADDRESS: `127.0.0.1:${http}`,
    };
    const child = spawn("bash", ["-c", `${this.moved(program)} ${flags}`], {
      // Like in a terminal, an interrupt reaches all processes of the command.
      detached: true,
      cwd: isService ? this.#clone : this.#folder,
      env: { ...process.env, ...(isService ? addresses : {}) },
    });
    this.#servers.set(name, child);
    let printed = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        printed += chunk;
      });
    const shown = this.moved(output);
    await poll(() => {
      if (child.exitCode !== null) throw new Error(`${command} has ended: ${printed}`);
      return printed.split("\n").includes(shown);
    }, `${command} prints: ${shown}`);
  }

  async #end(name: string): Promise<void> {
    const child = this.#servers.get(name);
    this.#servers.delete(name);
    if (child?.pid === undefined || child.exitCode !== null) return;
    const ended = once(child, "close");
    process.kill(-child.pid, "SIGINT");
    await ended;
  }
}

/** What a page shows as `…` may be up to 100 characters. */
function like(shown: string): unknown {
  if (!shown.includes("…")) return shown;
  const parts = shown.split("…").map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return expect.stringMatching(new RegExp(`^${parts.join(".{0,100}")}$`, "s"));
}
