import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { GrpcClient } from "../support/grpc-client.js";
import { KEYS, type Target } from "./target.js";

/** What an ordinary client with another key, and the operator, saw during an attack. */
export interface Observation {
  readonly calls: number;
  readonly failures: readonly string[];
  /**
   * The longest time that three calls in a row all took at least. A single call that the machine delayed does not
   * count.
   */
  readonly slowestMs: number;
  /** The largest growth of the server's memory since its start, in MiB. */
  readonly memoryMiB: number;
}

const MIB = 1024 * 1024;
const MOST_WAIT_MS = 120_000;

/** Calls both ports, on open and on new connections, and measures the calls and the server's memory. */
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
    const times: number[] = [];
    const failures: string[] = [];
    this.#peakBytes = 0;
    while (goesOn()) {
      for (const call of [
        () => this.#callGrpc(this.#grpc),
        () => this.#callOnNewConnection(),
        () => this.#callHttp(),
      ]) {
        const begun = performance.now();
        const failure = await call();
        times.push(performance.now() - begun);
        if (failure !== undefined) failures.push(failure);
      }
      this.#peakBytes = Math.max(this.#peakBytes, this.#target.memory());
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return { calls: times.length, failures, slowestMs: slowestOf(times), memoryMiB: this.#grownMiB(this.#peakBytes) };
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

function slowestOf(times: readonly number[]): number {
  const fastestOfThree = times.slice(2).map((time, i) => Math.min(time, times[i + 1]!, times[i]!));
  return Math.round(Math.max(...fastestOfThree));
}
