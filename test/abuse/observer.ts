import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { GrpcClient } from "../support/grpc-client.js";
import { KEYS, type Target } from "./target.js";

/** What an ordinary client with another key, and the operator, saw during an attack. */
export interface Observation {
  readonly calls: number;
  readonly failures: readonly string[];
  /**
   * The most processor time that the server used until it had answered a call, in milliseconds: the work that an attack
   * can put in front of the calls of others. A busy machine delays this work, but does not add to it.
   */
  readonly mostWorkMs: number;
  /** The longest call, which says more about a quiet machine than about a busy one. */
  readonly slowestMs: number;
  /** The largest growth of the server's memory since its start, in MiB. */
  readonly memoryMiB: number;
}

const MIB = 1024 * 1024;
const MOST_WAIT_MS = 120_000;

/** Calls both ports, on open and on new connections, and measures the server's work and memory. */
export class Observer {
  readonly #target: Target;
  readonly #startBytes: number;
  readonly #grpc: GrpcClient;
  #peakBytes = 0;

  constructor(target: Target) {
    this.#target = target;
    this.#startBytes = target.memory();
    this.#grpc = new GrpcClient(new URL(target.grpcUrl).host);
  }

  /** Observes for this many milliseconds. */
  watch(durationMs: number): Promise<Observation> {
    const endMs = Date.now() + durationMs;
    return this.#watchWhile(() => Date.now() < endMs);
  }

  /** Observes for this many rounds of calls, and then until the condition holds, but for two minutes at most. */
  watchRounds(rounds: number, condition: () => boolean = () => true): Promise<Observation> {
    const endMs = Date.now() + MOST_WAIT_MS;
    let round = 0;
    return this.#watchWhile(() => round++ < rounds || (!condition() && Date.now() < endMs));
  }

  async #watchWhile(goesOn: () => boolean): Promise<Observation> {
    const workMs: number[] = [];
    const times: number[] = [];
    const failures: string[] = [];
    this.#peakBytes = 0;
    while (goesOn()) {
      for (const call of [
        () => this.#callGrpc(this.#grpc),
        () => this.#callOnNewConnection(),
        () => this.#callHttp(),
      ]) {
        const usedMs = this.#target.processorMs();
        const begun = performance.now();
        const failure = await call();
        times.push(performance.now() - begun);
        workMs.push(this.#target.processorMs() - usedMs);
        if (failure !== undefined) failures.push(failure);
      }
      this.#peakBytes = Math.max(this.#peakBytes, this.#target.memory());
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return {
      calls: times.length,
      failures,
      mostWorkMs: Math.round(Math.max(...workMs)),
      slowestMs: Math.round(Math.max(...times)),
      memoryMiB: this.#grownMiB(this.#peakBytes),
    };
  }

  /** Returns how much the server's memory has grown since its start, in MiB. */
  grownNow(): number {
    return this.#grownMiB(this.#target.memory());
  }

  close(): void {
    this.#grpc.close();
  }

  #grownMiB(bytes: number): number {
    return Math.round((bytes - this.#startBytes) / MIB);
  }

  async #callGrpc(client: GrpcClient): Promise<string | undefined> {
    const outcome = await client.call(
      MessageService,
      "CountMessages",
      { sessionId: "ordinary" },
      { key: KEYS.ordinary },
    );
    return "answer" in outcome ? undefined : `gRPC: ${outcome.code} ${outcome.message}`;
  }

  async #callOnNewConnection(): Promise<string | undefined> {
    const client = new GrpcClient(new URL(this.#target.grpcUrl).host);
    const failure = await this.#callGrpc(client);
    client.close();
    return failure;
  }

  async #callHttp(): Promise<string | undefined> {
    try {
      const response = await this.#target.fetch("/session/ordinary");
      return response.ok ? undefined : `HTTP: ${response.status} ${await response.text()}`;
    } catch (error) {
      return `HTTP: ${String(error)}`;
    }
  }
}
