import { Code } from "@connectrpc/connect";
import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from "prom-client";
import { codeName } from "../../api/api-error.js";
import type { ApiMethod } from "../../api/method-table.js";
import type { FrontCall } from "./front-call.js";

export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

const BUCKETS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const LATENCY = "session_pool_call_duration_seconds";
const OK = 0;
const CODES = Code.Unauthenticated + 1;

/**
 * Calls of one method by one front, in plain arrays because prom-client's own histogram costs as much as a small call.
 */
class Series {
  readonly codes = new Float64Array(CODES);
  readonly buckets = new Float64Array(BUCKETS_SECONDS.length);
  sum = 0;
  count = 0;

  constructor(readonly labels: { readonly method: string; readonly front: string }) {}

  observe(seconds: number, code: Code | undefined): void {
    this.codes[code ?? OK]! += 1;
    this.sum += seconds;
    this.count += 1;
    let bucket = 0;
    while (bucket < BUCKETS_SECONDS.length && seconds > BUCKETS_SECONDS[bucket]!) bucket += 1;
    if (bucket < BUCKETS_SECONDS.length) this.buckets[bucket]! += 1;
  }
}

/** The metrics that `/metrics` shows: calls, latency, running calls and streams, refused keys, and the process. */
export class Metrics {
  readonly registry = new Registry();
  readonly refusedKeys = new Counter({
    name: "session_pool_refused_keys_total",
    help: "Requests without a key, or with a wrong one",
    registers: [this.registry],
  });
  readonly #series = new Map<ApiMethod, Map<FrontCall["front"], Series>>();

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    this.registry.registerMetric(this.#callCounter());
    this.registry.registerMetric(this.#latencyHistogram());
  }

  /** Adds gauges of running calls, open streams and the bytes they hold, which are read when metrics are asked for. */
  track(current: { readonly inFlight: number; readonly openStreams: number; readonly bufferedBytes: number }): void {
    this.#gauge("session_pool_calls_in_flight", "Unary calls being answered", () => current.inFlight);
    this.#gauge("session_pool_watchers", "Streams being followed", () => current.openStreams);
    const buffered = "Bytes of requests that are not answered yet, and of answers that are not read yet";
    this.#gauge("session_pool_buffered_bytes", buffered, () => current.bufferedBytes);
  }

  /** Counts one call; `code` is undefined when it succeeded. */
  observe(method: ApiMethod, front: FrontCall["front"], seconds: number, code: Code | undefined): void {
    this.#seriesOf(method, front).observe(seconds, code);
  }

  #seriesOf(method: ApiMethod, front: FrontCall["front"]): Series {
    let fronts = this.#series.get(method);
    if (fronts === undefined) {
      fronts = new Map();
      this.#series.set(method, fronts);
    }
    let series = fronts.get(front);
    if (series === undefined) {
      series = new Series({ method: `${method.desc.parent.typeName}/${method.desc.name}`, front });
      fronts.set(front, series);
    }
    return series;
  }

  #all(): Series[] {
    return [...this.#series.values()].flatMap((fronts) => [...fronts.values()]);
  }

  #gauge(name: string, help: string, value: () => number): void {
    const registers = [this.registry];
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value());
      },
    });
  }

  #callCounter(): Metric<"method" | "front" | "code"> {
    const all = () => this.#all();
    return new Counter({
      name: "session_pool_calls_total",
      help: "Calls by method, front and gRPC code",
      labelNames: ["method", "front", "code"],
      registers: [],
      collect() {
        this.reset();
        for (const { labels, codes } of all()) {
          codes.forEach((calls, code) => {
            if (calls > 0) this.inc({ ...labels, code: codeName(code) }, calls);
          });
        }
      },
    });
  }

  /** A histogram in the form that the registry reads. */
  #latencyHistogram(): Metric {
    const histogram = {
      name: LATENCY,
      get: () =>
        Promise.resolve({
          name: LATENCY,
          help: "Time from authentication to the answer, or to the end of a stream",
          type: "histogram",
          aggregator: "sum",
          values: this.#all().flatMap(histogramValues),
        }),
      reset: () => this.#series.clear(),
    };
    return histogram as unknown as Metric;
  }
}

function histogramValues(series: Series): object[] {
  let below = 0;
  const buckets = BUCKETS_SECONDS.map((le, i) => {
    below += series.buckets[i]!;
    return { metricName: `${LATENCY}_bucket`, labels: { ...series.labels, le }, value: below };
  });
  return [
    ...buckets,
    { metricName: `${LATENCY}_bucket`, labels: { ...series.labels, le: "+Inf" }, value: series.count },
    { metricName: `${LATENCY}_sum`, labels: series.labels, value: series.sum },
    { metricName: `${LATENCY}_count`, labels: series.labels, value: series.count },
  ];
}
