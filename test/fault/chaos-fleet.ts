import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

/** The outcome of a call to a service, as its client knows it. */
export type Reply =
  | { readonly kind: "answer"; readonly body: Record<string, unknown> }
  /** The call certainly had no effect. */
  | { readonly kind: "refusal"; readonly status: number; readonly text: string }
  /** The call may have taken effect. */
  | { readonly kind: "unknown" };

const BYTES = "application/octet-stream";
const CALL_MS = 5000;
/** The statuses of a server that is too busy, unreachable or too slow. */
const UNKNOWN_STATUS: ReadonlySet<number> = new Set([429, 499, 503, 504]);
const PAUSE_MS = 20;

/** A process of a fleet. */
export interface Service {
  readonly child: { readonly process: ChildProcess; kill(signal: NodeJS.Signals): void };
  readonly httpUrl: string;
}

/** Several service processes on one database. Each may be killed or frozen at any time. */
export class Fleet<S extends Service = Service> {
  readonly #serve: () => Promise<S>;
  readonly #services: S[] = [];

  #isStopped = false;

  constructor(serve: () => Promise<S>) {
    this.#serve = serve;
  }

  get size(): number {
    return this.#services.length;
  }

  async start(count: number): Promise<void> {
    this.#services.push(...(await Promise.all(Array.from({ length: count }, () => this.#serve()))));
  }

  /** Kills a process with SIGKILL, and starts another one in its place. */
  async killAndRestart(index: number): Promise<void> {
    await this.#end(index);
    this.#services[index] = await this.#serve();
  }

  async freeze(index: number, ms: number): Promise<void> {
    const { child } = this.at(index);
    child.kill("SIGSTOP");
    await sleep(ms);
    child.kill("SIGCONT");
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#services.map((_, index) => this.#end(index)));
  }

  /** Sends a call to one process, and waits a limited time for its answer. */
  send(index: number, method: string, path: string, body?: unknown): Promise<Reply> {
    return inTime(this.#call(index, method, path, body));
  }

  /**
   * Repeats a call to one process after the other until it is answered or refused, and then waits until all of its
   * tries have ended. Otherwise a try that a frozen process holds could still take effect later, when that process
   * continues.
   */
  async settle(
    first: number,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ reply: Reply; isRepeat: boolean }> {
    const calls: Promise<Reply>[] = [];
    for (let tries = 0; ; tries++) {
      if (this.#isStopped) throw new Error("The services were stopped");
      const call = this.#call((first + tries) % this.size, method, path, body);
      calls.push(call);
      const reply = await inTime(call);
      if (reply.kind !== "unknown") {
        await Promise.all(calls);
        return { reply, isRepeat: tries > 0 };
      }
      await sleep(PAUSE_MS);
    }
  }

  /**
   * Resolves when the call has ended, either with an answer or because its process was killed. Bytes are sent as they
   * are, and bytes that come are the `bytes` of the answer.
   */
  async #call(index: number, method: string, path: string, body?: unknown): Promise<Reply> {
    const isRaw = body instanceof Uint8Array;
    try {
      const answer = await fetch(`${this.at(index).httpUrl}${path}`, {
        method,
        headers: { "content-type": isRaw ? BYTES : "application/json", "grpc-timeout": `${CALL_MS}m` },
        ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
      });
      if (answer.ok && answer.headers.get("content-type") === BYTES) {
        return { kind: "answer", body: { bytes: new Uint8Array(await answer.arrayBuffer()) } };
      }
      const text = await answer.text();
      if (answer.ok) return { kind: "answer", body: JSON.parse(text) as Record<string, unknown> };
      return UNKNOWN_STATUS.has(answer.status) ? { kind: "unknown" } : { kind: "refusal", status: answer.status, text };
    } catch {
      return { kind: "unknown" };
    }
  }

  async #end(index: number): Promise<void> {
    const { process } = this.at(index).child;
    if (process.exitCode !== null || process.signalCode !== null) return;
    const ended = once(process, "exit");
    process.kill("SIGKILL");
    await ended;
  }

  at(index: number): S {
    const service = this.#services[index];
    if (!service) throw new Error(`No service ${index}`);
    return service;
  }
}

/** Resolves to the reply to a call, or to `unknown` if it takes too long. */
async function inTime(call: Promise<Reply>): Promise<Reply> {
  const over = new AbortController();
  const late = sleep<Reply>(2 * CALL_MS, { kind: "unknown" }, { signal: over.signal });
  try {
    return await Promise.race([call, late]);
  } finally {
    late.catch(() => undefined);
    over.abort();
  }
}

/** Returns the body of an answer. Throws if the call was refused or not answered. */
export function bodyOf(reply: Reply, what: string): Record<string, unknown> {
  if (reply.kind === "answer") return reply.body;
  throw new Error(`${what}: ${reply.kind === "refusal" ? `${reply.status} ${reply.text}` : "no answer"}`);
}
