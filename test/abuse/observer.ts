import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { GrpcClient } from "../support/grpc-client.js";
import { KEYS, type Target } from "./target.js";

/** What an ordinary client, with another key, and the operator saw while an attack was held. */
export interface Observation {
  readonly calls: number;
  readonly failures: readonly string[];
  /** The longest of the fastest of three calls in a row: one that the machine itself held up does not count. */
  readonly slowestMs: number;
  /** Above the start, in MiB. */
  readonly memoryMiB: number;
}

const MIB = 1024 * 1024;
const MOST_WAIT_MS = 120_000;

/** Calls by both ports, on connections old and new. */
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

  /** Observes for so many milliseconds. */
  watch(durationMs: number): Promise<Observation> {
    const endMs = Date.now() + durationMs;
    return this.#watchWhile(() => Date.now() < endMs);
  }

  /** Observes for so many rounds of calls, and longer until the condition holds: two minutes at most. */
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

  /** MiB above the start. */
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
  const fastestOfThree = times.map((time, i) => Math.min(time, times[i + 1] ?? time, times[i + 2] ?? time));
  return Math.round(Math.max(...fastestOfThree));
}
