import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import {
  type WatchSessionsResponse,
  WatchSessionsResponseSchema,
} from "../../../../gen/sessionpool/v1/session_service_pb.js";
import { batchesOf } from "../../../../src/server/webhook/event-batches.js";

const created = (resumeToken: string) =>
  create(WatchSessionsResponseSchema, { resumeToken, event: { case: "created", value: { sessionId: resumeToken } } });
const heartbeat = (resumeToken: string) =>
  create(WatchSessionsResponseSchema, { resumeToken, event: { case: "heartbeat", value: {} } });

/** Yields what is given; a promise in it is waited for. */
async function* watchOf(...events: readonly (WatchSessionsResponse | Promise<void>)[]) {
  for (const event of events) {
    if (event instanceof Promise) await event;
    else yield event;
  }
}

async function batches(watch: AsyncIterable<WatchSessionsResponse>) {
  const found = [];
  for await (const { events, resumeToken } of batchesOf(watch))
    found.push([events.map((event) => event.resumeToken), resumeToken]);
  return found;
}

it("events that come together make one batch, and heartbeats only move the token", async () => {
  expect(await batches(watchOf(heartbeat("1"), created("2"), created("3"), heartbeat("4")))).toEqual([
    [["2", "3"], "4"],
  ]);
});

it("a batch ends when nothing comes for a while, and the next event begins another one", async () => {
  let go = () => {};
  const later = new Promise<void>((resolve) => {
    go = resolve;
  });
  const reader = batchesOf(watchOf(created("1"), later, created("2")));
  const first = (await reader.next()).value;
  expect(first?.resumeToken).toBe("1");
  go();
  expect((await reader.next()).value?.resumeToken).toBe("2");
  expect((await reader.next()).done).toBe(true);
});

it("a batch has 100 events at most", async () => {
  const events = Array.from({ length: 250 }, (_, i) => created(`${i}`));
  expect((await batches(watchOf(...events))).map(([ids]) => ids?.length)).toEqual([100, 100, 50]);
});

it("the failure of a watch is told after the batches before it, and ends it", async () => {
  const failed = Promise.reject(new Error("over"));
  failed.catch(() => {});
  const reader = batchesOf(watchOf(...Array.from({ length: 100 }, () => created("1")), failed));
  expect((await reader.next()).value?.events).toHaveLength(100);
  await expect(reader.next()).rejects.toThrow("over");
});

it("leaving a batch ends the watch", async () => {
  let isEnded = false;
  const watch = {
    [Symbol.asyncIterator]: () => ({
      next: async () => ({ done: false as const, value: created("1") }),
      return: async () => {
        isEnded = true;
        return { done: true as const, value: undefined };
      },
    }),
  };
  for await (const batch of batchesOf(watch)) {
    expect(batch.resumeToken).toBe("1");
    break;
  }
  expect(isEnded).toBe(true);
});
