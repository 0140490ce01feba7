import { setImmediate } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { expect, test, vi } from "vitest";
import { WatchMessagesRequestSchema } from "../../../gen/sessionpool/v1/message_service_pb.js";
import type { ApiContext } from "../../../src/api/api-method.js";
import { messageMethods } from "../../../src/api/message-service.js";
import { sharingLast } from "../../../src/api/sharing-last.js";

test("what is asked for again in the same iteration of the event loop is converted once", () => {
  const convert = vi.fn((from: { readonly n: number }) => ({ text: String(from.n) }));
  const shared = sharingLast(convert);
  const [one, two] = [{ n: 1 }, { n: 1 }];
  expect(shared(one)).toBe(shared(one));
  expect(shared(two)).not.toBe(shared(one));
  expect(convert).toHaveBeenCalledTimes(3);
});

test("a later iteration converts anew, so that nothing stays in memory", async () => {
  const from = {};
  const shared = sharingLast(() => ({}));
  const first = shared(from);
  await setImmediate();
  expect(shared(from)).not.toBe(first);
});

test("watchers who get the same event get the same message, so that it is also encoded once", async () => {
  const at = { sessionUid: "u", revision: 1, position: 0 };
  const event = { kind: "truncated", messageCount: 0, at };
  const followMessages = async () =>
    (async function* () {
      yield event;
    })();
  const context = { rootPool: { sessions: { followMessages } } };
  const request = create(WatchMessagesRequestSchema, { sessionId: "s" });
  const watch = async () => {
    const events = await messageMethods.watchMessages.handle(request, context as unknown as ApiContext);
    return (await events[Symbol.asyncIterator]().next()).value;
  };
  const [one, two] = await Promise.all([watch(), watch()]);
  expect(one).toMatchObject({ event: { case: "truncated" } });
  expect(two).toBe(one);
});
