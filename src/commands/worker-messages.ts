import type { MetricObjectWithValues, MetricValue } from "prom-client";

/** The metrics of one process, as prom-client's registries exchange them. */
export type MetricValues = readonly MetricObjectWithValues<MetricValue<string>>[];

/** Messages from a worker to the process that started it. */
export type FromWorker =
  | { readonly kind: "started"; readonly startLine: string; readonly grpcPort: number; readonly httpPort: number }
  | { readonly kind: "failed"; readonly text: string }
  /** Asks for the metrics of all workers. */
  | { readonly kind: "metrics"; readonly id: number }
  /** Its own metrics. */
  | { readonly kind: "collected"; readonly values: MetricValues };

/** Messages to a worker. */
export type ToWorker =
  | { readonly kind: "stop" }
  | { readonly kind: "reload" }
  /** Asks for the worker's own metrics. */
  | { readonly kind: "collect" }
  /** The metrics of all workers, as `/metrics` shows them. */
  | { readonly kind: "metrics"; readonly id: number; readonly text: string };
