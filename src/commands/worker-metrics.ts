import type { Worker } from "node:cluster";
import { AggregatorRegistry } from "prom-client";
import { endsBy } from "../domain/call.js";
import type { MetricValues } from "./worker-messages.js";

/** How long `/metrics` waits for the workers. */
const ANSWER_MS = 2000;

/**
 * The metrics of all workers together. A worker that does not answer in time counts with its last answer, and one that
 * has ended with the counters of its last answer, so that no counter goes down while this process runs.
 */
export class WorkerMetrics {
  readonly #ask: (worker: Worker) => void;
  readonly #asked = new Map<Worker, { readonly answered: Promise<void>; readonly answer: () => void }>();
  readonly #latest = new Map<Worker, MetricValues>();
  /** The counters of the workers that have ended. */
  #ended: Promise<MetricValues> = Promise.resolve([]);

  /** `ask` makes the worker send its metrics, which are then given to `collected`. */
  constructor(ask: (worker: Worker) => void) {
    this.#ask = ask;
  }

  /** The metrics of these workers and of those that have ended, in Prometheus's format. */
  async text(workers: readonly Worker[]): Promise<string> {
    await endsBy(Date.now() + ANSWER_MS, Promise.all(workers.map((worker) => this.#answerOf(worker))));
    return aggregate([await this.#ended, ...this.#latest.values()]).metrics();
  }

  collected(worker: Worker, values: MetricValues): void {
    this.#latest.set(worker, values);
    this.#settle(worker);
  }

  ended(worker: Worker): void {
    const counters = (this.#latest.get(worker) ?? []).filter(({ type }) => isCounting(String(type)));
    this.#latest.delete(worker);
    this.#ended = this.#ended.then((before) => aggregate([before, counters]).getMetricsAsJSON());
    this.#settle(worker);
  }

  /** Resolves when the worker has answered or ended. A worker is not asked again before it has answered. */
  #answerOf(worker: Worker): Promise<void> {
    const before = this.#asked.get(worker);
    if (before !== undefined) return before.answered;
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    this.#asked.set(worker, { answered, answer });
    this.#ask(worker);
    return answered;
  }

  #settle(worker: Worker): void {
    this.#asked.get(worker)?.answer();
    this.#asked.delete(worker);
  }
}

function isCounting(type: string): boolean {
  return type === "counter" || type === "histogram";
}

function aggregate(some: readonly MetricValues[]) {
  return AggregatorRegistry.aggregate(some as unknown as object[]);
}
