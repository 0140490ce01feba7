import type { Worker } from "node:cluster";
import { Counter, Gauge, Registry } from "prom-client";
import { afterEach, expect, it, vi } from "vitest";
import type { MetricValues } from "../../../src/commands/worker-messages.js";
import { WorkerMetrics } from "../../../src/commands/worker-metrics.js";

const [ONE, TWO] = [{ id: 1 }, { id: 2 }] as unknown as [Worker, Worker];

afterEach(() => {
  vi.useRealTimers();
});

it("adds up counters and takes the largest of a gauge that says so", async () => {
  const metrics = answering({ calls: 2, size: 10 }, { calls: 3, size: 12 });
  expect(samples(await metrics.text([ONE, TWO]))).toEqual(["calls 5", "size 12"]);
});

it("keeps the counters of a worker that has ended, but not its gauges", async () => {
  const metrics = answering({ calls: 2, size: 10 }, { calls: 3, size: 12 });
  await metrics.text([ONE, TWO]);
  metrics.ended(TWO);
  expect(samples(await metrics.text([ONE]))).toEqual(["calls 5", "size 10"]);
  metrics.ended(ONE);
  expect(samples(await metrics.text([]))).toEqual(["calls 5"]);
});

it("counts a worker that does not answer in time with its last answer, and asks it only once", async () => {
  vi.useFakeTimers();
  const asked: Worker[] = [];
  const metrics = new WorkerMetrics((worker) => asked.push(worker));
  const texts = [metrics.text([ONE]), metrics.text([ONE])];
  metrics.collected(ONE, await valuesOf({ calls: 2, size: 10 }));
  expect((await Promise.all(texts)).map(samples)).toEqual(Array(2).fill(["calls 2", "size 10"]));
  for (let i = 0; i < 2; i++) {
    const late = metrics.text([ONE]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(samples(await late)).toEqual(["calls 2", "size 10"]);
  }
  expect(asked).toEqual([ONE, ONE]);
});

interface Shown {
  readonly calls: number;
  readonly size: number;
}

function answering(one: Shown, two: Shown): WorkerMetrics {
  const metrics = new WorkerMetrics(async (worker) =>
    metrics.collected(worker, await valuesOf(worker === ONE ? one : two)),
  );
  return metrics;
}

/** What a worker sends that shows these values. */
async function valuesOf({ calls, size }: Shown): Promise<MetricValues> {
  const registers = [new Registry()];
  new Counter({ name: "calls", help: "Calls", registers }).inc(calls);
  new Gauge({ name: "size", help: "Size", registers, aggregator: "max" }).set(size);
  return registers[0]!.getMetricsAsJSON();
}

function samples(text: string): string[] {
  return text.split("\n").filter((line) => /^\w+ \d/.test(line));
}
