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

/** Figures about the store, those that are known. Ages and times are in milliseconds. */
interface ShownFigures {
  readonly bytes?: number | undefined;
  readonly sessions: number;
  readonly openDrafts: number;
  readonly unsweptAgeMs: number;
  readonly unindexed?: number | undefined;
}

/** How the values of several workers become one. All see the same store, so that of one is enough: the largest. */
type Aggregator = "sum" | "min" | "max";

/**
 * The metrics that `/metrics` shows: calls, latency, running calls and streams, refused keys, the store, and the
 * process.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly refusedKeys = new Counter({
    name: "session_pool_refused_keys_total",
    help: "Requests without a key, with a wrong one, or with a token that names no owner",
    registers: [this.registry],
  });
  readonly quotaRefusals = new Counter({
    name: "session_pool_quota_refusals_total",
    help: "Calls that a quota refused",
    labelNames: ["quota"],
    registers: [this.registry],
  });
  readonly auditFailures = new Counter({
    name: "session_pool_audit_failures_total",
    help: "Attempts to write the audit log that failed",
    registers: [this.registry],
  });
  readonly auditLost = new Counter({
    name: "session_pool_audit_lost_lines_total",
    help: "Lines of the audit log that are lost",
    registers: [this.registry],
  });
  readonly webhookAttempts = new Counter({
    name: "session_pool_webhook_attempts_total",
    help: "Requests to the receiver of the webhook",
    labelNames: ["result"],
    registers: [this.registry],
  });
  readonly webhookResets = new Counter({
    name: "session_pool_webhook_resets_total",
    help: "How often the webhook could not go on where it was",
    registers: [this.registry],
  });
  readonly storedBytes = this.#perFront(
    "session_pool_attachment_stored_bytes_total",
    "Bytes of attachments that were uploaded",
  );
  readonly servedBytes = this.#perFront(
    "session_pool_attachment_served_bytes_total",
    "Bytes of attachments that were read",
  );
  readonly uploadsEndedEarly = this.#perFront(
    "session_pool_uploads_ended_early_total",
    "Uploads that ended before all of their bytes had arrived",
  );
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

  /** Adds gauges of the store. Those that are unknown when metrics are asked for are left out. */
  trackStore(current: () => ShownFigures | undefined): void {
    const gauge = (name: string, help: string, value: (figures: ShownFigures) => number | undefined) =>
      this.#gauge(
        name,
        help,
        () => {
          const figures = current();
          return figures && value(figures);
        },
        "max",
      );
    gauge("session_pool_store_bytes", "What the store takes up on its disk", ({ bytes }) => bytes);
    gauge("session_pool_sessions", "Sessions of all namespaces that were not deleted", ({ sessions }) => sessions);
    gauge(
      "session_pool_open_drafts",
      "Drafts that were neither finished nor discarded",
      ({ openDrafts }) => openDrafts,
    );
    const unswept = "How long the oldest thing that a sweep is to clear away, or expired session, has waited";
    gauge("session_pool_unswept_age_seconds", unswept, ({ unsweptAgeMs }) => unsweptAgeMs / 1000);
    const unindexed = "Messages without words in the index of search, counted up to 10,000";
    gauge("session_pool_unindexed_messages", unindexed, (figures) => figures.unindexed);
  }

  /** Adds gauges of whether the process is ready, and of when its last sweep ended, which is undefined at first. */
  trackState(state: { readonly isReady: () => boolean; readonly sweptAtMs: () => number | undefined }): void {
    this.#gauge(
      "session_pool_ready",
      "1 while the server takes calls and its store answers",
      () => +state.isReady(),
      "min",
    );
    const sweep = "When the last sweep of this server ended, as Unix time";
    this.#gauge("session_pool_last_sweep_timestamp_seconds", sweep, () => seconds(state.sweptAtMs()), "max");
  }

  /** Adds gauges of the webhook, which is undefined where this process does not send it. */
  trackWebhook(current: () => { readonly failures: number; readonly unsentAgeMs: number } | undefined): void {
    const sender = "1 if this process sends the webhook";
    this.#gauge("session_pool_webhook_sender", sender, () => +(current() !== undefined));
    const failures = "Requests to the receiver of the webhook that have failed in a row";
    this.#gauge("session_pool_webhook_failures", failures, () => current()?.failures, "max");
    const unsent = "How long the oldest event that the webhook has not delivered has waited";
    this.#gauge("session_pool_webhook_unsent_age_seconds", unsent, () => seconds(current()?.unsentAgeMs), "max");
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

  #perFront(name: string, help: string): Counter<"front"> {
    return new Counter({ name, help, labelNames: ["front"], registers: [this.registry] });
  }

  #gauge(name: string, help: string, value: () => number | undefined, aggregator: Aggregator = "sum"): void {
    const registers = [this.registry];
    new Gauge({
      name,
      help,
      registers,
      aggregator,
      collect() {
        const current = value();
        if (current === undefined) this.remove();
        else this.set(current);
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

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
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
