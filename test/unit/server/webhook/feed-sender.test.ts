import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type WatchSessionsResponse,
  WatchSessionsResponseSchema,
} from "../../../../gen/sessionpool/v1/session_service_pb.js";
import { DomainError } from "../../../../src/domain/errors.js";
import { FeedSender } from "../../../../src/server/webhook/feed-sender.js";
import type { WebhookMessage } from "../../../../src/server/webhook/webhook-endpoint.js";
import { MemoryRegisters } from "../../../../src/storage/memory/memory-registers.js";
import { poll } from "../../../support/poll.js";
import { TestLogger } from "../../../support/test-logger.js";

const PLACE = "webhook default";

let registers: MemoryRegisters;
let logger: TestLogger;
let delivered: WebhookMessage[];
/** What each watch does: it yields events and then waits, or cannot be begun. */
let watches: (readonly WatchSessionsResponse[] | DomainError)[];
let watchedFrom: string[];
let resets: number;
let stopping: AbortController;
let runs: Promise<void>[];

beforeEach(() => {
  registers = new MemoryRegisters();
  logger = new TestLogger();
  delivered = [];
  watches = [];
  watchedFrom = [];
  resets = 0;
  stopping = new AbortController();
  runs = [];
});
afterEach(async () => {
  stopping.abort();
  await Promise.all(runs);
});

const created = (resumeToken: string, sessionId: string) =>
  create(WatchSessionsResponseSchema, { resumeToken, event: { case: "created", value: { sessionId } } });
const heartbeat = (resumeToken: string) =>
  create(WatchSessionsResponseSchema, { resumeToken, event: { case: "heartbeat", value: {} } });

function start(deliver: (message: WebhookMessage) => Promise<boolean> = async () => true): void {
  const sender = new FeedSender({
    namespace: "default",
    watch: async (from) => {
      watchedFrom.push(from);
      const events = watches.shift() ?? [];
      if (events instanceof DomainError) throw events;
      return watchOf(events);
    },
    registers,
    deliveries: {
      deliver: async (message) => {
        const isDelivered = await deliver(message);
        if (isDelivered) delivered.push(message);
        return isDelivered;
      },
    },
    metrics: { webhookResets: { inc: () => resets++ } } as never,
    logger: logger.pino,
  });
  runs.push(sender.run({ stopping: stopping.signal, cut: stopping.signal }));
}

/** Yields events and then nothing until the end, as a watch does. */
async function* watchOf(events: readonly WatchSessionsResponse[]) {
  yield* events;
  await poll(() => stopping.signal.aborted, "the watch is ended");
}

const place = async () => (await registers.read(PLACE))?.text;
const isAt = (token: string) => poll(async () => (await place()) === token, `the place is ${token}`);
const types = () => delivered.map(({ body }) => (JSON.parse(body) as { type: string }).type);

describe("the sender of a namespace", () => {
  it("asks for a list first, and then tells what happened since", async () => {
    watches = [[heartbeat("t1")]];
    start();
    await isAt("t1");
    expect(types()).toEqual(["sessions.reset"]);
    expect(JSON.parse(delivered[0]?.body ?? "").data).toEqual({ namespace: "default", resumeToken: "t1" });
    expect(resets).toBe(0);
  });

  it("goes on after the stored place, and stores the next one once the message is delivered", async () => {
    await registers.replace(PLACE, "t1", 0);
    watches = [[heartbeat("t1"), created("t2", "a")]];
    let answer = (_isDelivered: boolean) => {};
    start(() => new Promise((resolve) => (answer = resolve)));
    await poll(() => watchedFrom.length === 1, "the watch is begun");
    expect(watchedFrom).toEqual(["t1"]);
    expect(await place()).toBe("t1");
    await poll(() => {
      answer(true);
      return delivered.length > 0;
    }, "the message is delivered");
    await isAt("t2");
    expect(JSON.parse(delivered[0]?.body ?? "").data).toMatchObject({
      namespace: "default",
      events: [{ created: { sessionId: "a", revision: "0" } }],
      resumeToken: "t2",
    });
  });

  it("stores nothing for a message that was not delivered", async () => {
    await registers.replace(PLACE, "t1", 0);
    watches = [[created("t2", "a")]];
    start(async () => {
      stopping.abort();
      return false;
    });
    await Promise.all(runs);
    expect(await place()).toBe("t1");
  });

  it("gives a message the same id when it is made again of the same events, and another one of more", async () => {
    const ids: string[] = [];
    for (const events of [[created("t2", "a")], [created("other", "a")], [created("t2", "a"), created("t3", "b")]]) {
      registers = new MemoryRegisters();
      await registers.replace(PLACE, "t1", 0);
      stopping = new AbortController();
      watches = [events];
      start(async ({ id }) => {
        ids.push(id);
        stopping.abort();
        return false;
      });
      await Promise.all(runs);
    }
    expect(ids[0]).toMatch(/^msg_[\w-]{27}$/);
    expect(ids[1]).toBe(ids[0]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  it("does not move the place of another sender, and goes on from there", async () => {
    await registers.replace(PLACE, "t1", 0);
    watches = [[created("t2", "a")], [created("t6", "b")]];
    start(async () => {
      if (delivered.length === 0) await registers.replace(PLACE, "t5", 1);
      return true;
    });
    await isAt("t6");
    expect(watchedFrom).toEqual(["t1", "t5"]);
  });

  it.each(["failed_precondition", "invalid_argument"] as const)(
    "asks for a list when its token is %s",
    async (code) => {
      await registers.replace(PLACE, "t1", 0);
      watches = [new DomainError(code, "resume_token is too old"), [heartbeat("t7")]];
      start();
      await isAt("t7");
      expect(watchedFrom).toEqual(["t1", ""]);
      expect(types()).toEqual(["sessions.reset"]);
      expect(resets).toBe(1);
      expect(logger.lines).toMatchObject([{ level: 40, namespace: "default", reason: "resume_token is too old" }]);
    },
  );

  it("tries again while the store does not answer, and says so once", async () => {
    await registers.replace(PLACE, "t1", 0);
    const down = new DomainError("unavailable", "down");
    watches = [down, down, [created("t2", "a")]];
    start();
    await isAt("t2");
    expect(watchedFrom).toEqual(["t1", "t1", "t1"]);
    expect(logger.lines).toHaveLength(1);
  });

  it("begins the watch again where it was, without a word, when the receiver was slow", async () => {
    await registers.replace(PLACE, "t1", 0);
    watches = [new DomainError("resource_exhausted", "The reader does not keep up"), [created("t2", "a")]];
    start();
    await isAt("t2");
    expect(logger.lines).toEqual([]);
  });

  it("stores the token of the first heartbeat after a message, and no further ones", async () => {
    await registers.replace(PLACE, "t1", 0);
    const gap = Array.from({ length: 99 }, () => created("t2", "a"));
    watches = [[created("t2", "a"), ...gap, heartbeat("t3")]];
    start();
    await isAt("t3");
    expect((await registers.read(PLACE))?.revision).toBe(3);
    expect(delivered).toHaveLength(1);
  });
});
