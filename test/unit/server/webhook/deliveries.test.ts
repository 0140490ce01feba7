import { describe, expect, it } from "vitest";
import { Deliveries, retryDelayMs } from "../../../../src/server/webhook/deliveries.js";
import type { Attempt } from "../../../../src/server/webhook/webhook-endpoint.js";
import { poll } from "../../../support/poll.js";
import { TestLogger } from "../../../support/test-logger.js";

const MESSAGE = { id: "msg_1", body: "{}" };
const REFUSED: Attempt = { result: "refused", reason: "The receiver answered 500" };
const GONE: Attempt = { result: "refused", reason: "The receiver answered 410", isGone: true };

function setUp(outcomes: readonly Attempt[]) {
  const logger = new TestLogger();
  const results: string[] = [];
  const sent: string[] = [];
  const endpoint = {
    name: "https://receiver.example",
    post: async ({ id }: { readonly id: string }) => {
      sent.push(id);
      return outcomes[sent.length - 1] ?? ({ result: "delivered" } as const);
    },
  };
  const metrics = { webhookAttempts: { inc: ({ result }: { result: string }) => results.push(result) } };
  const deliveries = new Deliveries({ endpoint, metrics: metrics as never, logger: logger.pino, firstRetryMs: 1 });
  const [stopping, cut] = [new AbortController(), new AbortController()];
  const ending = { stopping: stopping.signal, cut: cut.signal };
  return { deliveries, logger, results, sent, ending, stopping };
}

describe("a message", () => {
  it("is tried until it is delivered, with a line at the beginning and at the end", async () => {
    const { deliveries, logger, results, ending } = setUp([REFUSED, REFUSED, REFUSED]);
    expect(await deliveries.deliver(MESSAGE, "default", ending)).toBe(true);
    expect(results).toEqual(["refused", "refused", "refused", "delivered"]);
    expect(logger.lines).toMatchObject([
      { level: 40, receiver: "https://receiver.example", namespace: "default", reason: "The receiver answered 500" },
      { level: 30, failures: 3, msg: "The webhook is delivered again" },
    ]);
    expect(deliveries.state).toEqual({ failures: 0, unsentAgeMs: 0, failingSinceMs: undefined });
  });

  it("is given up when the service stops, even in the pause for a receiver that is gone", async () => {
    const { deliveries, logger, sent, ending, stopping } = setUp([REFUSED, GONE, GONE]);
    const delivering = deliveries.deliver(MESSAGE, "default", ending);
    await poll(() => deliveries.state.failures === 2, "the receiver has said that it is gone");
    expect(deliveries.state.failingSinceMs).toBeLessThanOrEqual(Date.now());
    stopping.abort();
    expect(await delivering).toBe(false);
    expect(sent).toHaveLength(2);
    expect(logger.lines.map(({ reason }) => reason)).toEqual([
      "The receiver answered 500",
      "The receiver answered 410",
    ]);
  });

  it("of another namespace does not wait for it", async () => {
    const { deliveries, ending, stopping } = setUp([GONE]);
    const waiting = deliveries.deliver(MESSAGE, "one", ending);
    await poll(() => deliveries.state.failures === 1, "the first one waits");
    expect(await deliveries.deliver(MESSAGE, "two", ending)).toBe(true);
    stopping.abort();
    expect(await waiting).toBe(false);
  });
});

describe("the pause before the next attempt", () => {
  const longest = { random: () => 0 };

  it("doubles from a second to five minutes", () => {
    const pauses = [1, 2, 3, 8, 9, 10, 1000].map((failures) => retryDelayMs({}, failures, longest));
    expect(pauses).toEqual([1000, 2000, 4000, 128_000, 256_000, 300_000, 300_000]);
  });

  it("is shorter by chance, by a fifth at most", () => {
    expect(retryDelayMs({}, 1, { random: () => 1 })).toBe(800);
    expect(retryDelayMs({}, 50, { random: () => 0.5 })).toBe(270_000);
  });

  it("is what the receiver asks for, if that is longer, but five minutes at most", () => {
    expect(retryDelayMs({ retryAfterMs: 60_000 }, 1, longest)).toBe(60_000);
    expect(retryDelayMs({ retryAfterMs: 500 }, 3, longest)).toBe(4000);
    expect(retryDelayMs({ retryAfterMs: 86_400_000 }, 1, longest)).toBe(300_000);
  });

  it("is the longest for a receiver that is gone", () => {
    expect(retryDelayMs({ isGone: true }, 1, longest)).toBe(300_000);
  });
});
