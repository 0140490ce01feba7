import { expect, test } from "vitest";
import { EventQueue } from "../../../../../src/storage/history/follow/event-queue.js";

test("a follower is woken without an error being made, because that takes longer than the event itself", async () => {
  let reason: unknown;
  const pause = (_ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      signal?.addEventListener("abort", () => {
        reason = signal.reason;
        resolve();
      });
    });
  const queue = new EventQueue(1, pause, () => undefined);
  const next = queue.next(1000);
  queue.wake();
  expect(await next).toBeNull();
  expect(reason).not.toBeInstanceOf(Error);
});
