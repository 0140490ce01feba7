import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Child } from "../support/child.js";
import { processorMs } from "../support/processor-time.js";
import { quickHash } from "../support/quick-hash.js";

export const KEYS = { hostile: "hostile-key", reader: "reader-key", ordinary: "ordinary-key" } as const;

const TEXT = "x".repeat(2_900_000);
/** The session whose only message nearly has the largest size that is allowed. */
export const LARGE_SESSION = "large";

/** A server in a process of its own, with keys for three callers. */
export class Target {
  readonly grpcUrl: string;
  readonly httpUrl: string;
  readonly #child: Child;
  readonly #folder: string;

  private constructor(child: Child, addresses: { grpc: string; http: string }, folder: string) {
    this.#child = child;
    this.grpcUrl = `http://${addresses.grpc}`;
    this.httpUrl = addresses.http;
    this.#folder = folder;
  }

  /**
   * Starts a server. `chosenKeys`: further keys, whose hashes are slow to compare. `isOpen`: whether the server has no
   * keys. `heapMiB`: the most that its heap may take.
   */
  static async start({
    descriptors = 4096,
    chosenKeys = [],
    isOpen = false,
    heapMiB,
  }: {
    readonly descriptors?: number;
    readonly chosenKeys?: readonly string[];
    readonly isOpen?: boolean;
    readonly heapMiB?: number;
  } = {}): Promise<Target> {
    const folder = mkdtempSync(join(tmpdir(), "session-pool-abuse-"));
    const keysFile = join(folder, "keys.json");
    const chosen = chosenKeys.map((key) => ({
      ...{ name: key, namespace: "default", scope: "write" },
      hash: quickHash(key),
    }));
    const keys = [entry("hostile", "write"), entry("reader", "read"), entry("ordinary", "write")];
    writeFileSync(keysFile, JSON.stringify([...keys, ...chosen]));
    const flags = [
      "--storage",
      "memory:",
      "--openai",
      "--log-level",
      "error",
      ...(isOpen ? [] : ["--keys-file", keysFile]),
    ];
    const { child, grpcAddress, httpUrl } = await Child.serveLimited({ descriptors, heapMiB }, ...flags);
    const target = new Target(child, { grpc: grpcAddress, http: httpUrl }, folder);
    await target.#fill();
    return target;
  }

  /** Returns the resident memory of the process, in bytes. */
  memory(): number {
    const { pid } = this.#child.process;
    const status = `/proc/${pid}/status`;
    if (existsSync(status)) return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(status, "utf8"))?.[1]) * 1024;
    return Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" })) * 1024;
  }

  /** Returns how long the process has run on processors since its start, in milliseconds. */
  processorMs(): number {
    const pid = this.#child.process.pid!;
    const known = processorMs(pid);
    if (known !== undefined) return known;
    const clock = execFileSync("ps", ["-o", "cputime=", "-p", String(pid)], { encoding: "utf8" });
    return clock.split(":").reduce((seconds, part) => 60 * seconds + Number(part), 0) * 1000;
  }

  isRunning(): boolean {
    return this.#child.process.exitCode === null && this.#child.process.signalCode === null;
  }

  fetch(
    path: string,
    { key = KEYS.ordinary, body }: { readonly key?: string; readonly body?: object } = {},
  ): Promise<Response> {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    if (body === undefined) return fetch(this.httpUrl + path, { headers });
    return fetch(this.httpUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.ended();
    rmSync(this.#folder, { recursive: true });
  }

  async #fill(): Promise<void> {
    const large = { info: { role: "user" }, parts: [{ type: "text", text: TEXT }] };
    for (const [path, body] of [
      ["/session", { sessionId: LARGE_SESSION }],
      [`/session/${LARGE_SESSION}/message`, large],
      ["/session", { sessionId: "ordinary" }],
    ] as const) {
      const response = await this.fetch(path, { body });
      if (!response.ok) throw new Error(`The server could not be filled: ${response.status} ${await response.text()}`);
    }
  }
}

/** Makes an entry of the keys file. All keys share a namespace, because an attacker may be anybody who has a key. */
function entry(name: keyof typeof KEYS, scope: string): object {
  const hash = `sha256:${createHash("sha256").update(KEYS[name]).digest("hex")}`;
  return { name, hash, namespace: "default", scope };
}
