import { create, type DescMethod, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { MessageService } from "../../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService, SessionView } from "../../../gen/sessionpool/v1/session_service_pb.js";
import { TodoService, TodoTrackerService } from "../../../gen/sessionpool/v1/todo_service_pb.js";
import { API_METHODS, type ApiContext } from "../../../src/api/method-table.js";
import { encodeMessageToken, encodeResumeToken, encodeSessionToken } from "../../../src/api/page-token.js";
import type { ChatMessage } from "../../../src/domain/chat-message.js";
import { DEFAULT_LIMITS } from "../../../src/domain/limits.js";
import type { FollowEvent } from "../../../src/domain/page.js";

const SESSION = {
  ...{ sessionId: "s", parentId: "", forkPointId: "", title: "", createTimeMicros: 1, updateTimeMicros: 1 },
  ...{ messageCount: 3, inheritedCount: 0, revision: 1, reverted: false },
};
const MESSAGE: ChatMessage = { id: "m", sessionId: "s", role: "user", timestampMicros: 1, parts: [], position: 2 };
const TODO = { id: "t", content: "c", status: "s", priority: "p" };
const QUERY = { newestFirst: true, includeAncestors: false, sinceMicros: undefined, untilMicros: undefined };
const CURSOR = { sessionUid: "uid", query: QUERY, log: "uid.1", seq: 3, messageId: "m", ancestor: undefined };
const CALL = { deadlineMs: 123, signal: new AbortController().signal, key: "k", access: undefined };

/** A pool whose operations return the given answers. `asked` records the calls. */
function fakePool(answers: Record<string, unknown>) {
  const asked: unknown[][] = [];
  const operations = Object.fromEntries(
    Object.entries(answers).map(([name, answer]) => [
      name,
      async (...args: unknown[]) => {
        asked.push([name, ...args]);
        return answer;
      },
    ]),
  );
  const rootPool = { sessions: operations, todos: operations } as unknown as ApiContext["rootPool"];
  return { asked, context: { namespace: "n", rootPool, limits: DEFAULT_LIMITS, ...CALL } };
}

async function call<M extends DescMethod>(
  desc: M,
  request: MessageInitShape<M["input"]>,
  answers: Record<string, unknown> = {},
) {
  const { asked, context } = fakePool(answers);
  const method = API_METHODS.find((candidate) => candidate.desc === desc);
  const answer = await method?.unary?.(create(desc.input, request) as Message, context);
  return { asked, answer: answer as object };
}

describe("SessionService", () => {
  const { method } = SessionService;

  it("creates a session with the fields that are set, and passes empty ones as undefined", async () => {
    const { asked } = await call(method.createSession, {}, { createSession: SESSION });
    const nothing = {
      sessionId: undefined,
      parentId: undefined,
      title: undefined,
      metadata: undefined,
      labels: {},
      owner: undefined,
      expireTimeMicros: undefined,
    };
    expect(asked).toStrictEqual([["createSession", nothing, CALL]]);
    const all = { sessionId: "s", parentId: "p", title: "t", metadata: { a: 1 }, labels: { a: "1" }, owner: "o" };
    const request = { ...all, expireTime: { seconds: 7n, nanos: 1001 } };
    const created = await call(method.createSession, request, { createSession: SESSION });
    expect(created.asked).toStrictEqual([["createSession", { ...all, expireTimeMicros: 7_000_002 }, CALL]]);
    expect(created.answer).toMatchObject({ $typeName: "sessionpool.v1.Session", sessionId: "s", messageCount: 3n });
  });

  it("gets a session", async () => {
    const { asked, answer } = await call(method.getSession, { sessionId: "s" }, { getSession: SESSION });
    expect(asked).toStrictEqual([["getSession", "s", CALL]]);
    expect(answer).toMatchObject({ sessionId: "s" });
  });

  it("loads a session with its last 100 messages, or continues with older ones", async () => {
    const loaded = { session: SESSION, messages: [MESSAGE], next: CURSOR };
    const first = await call(method.loadSession, { sessionId: "s" }, { loadSession: loaded });
    expect(first.asked).toStrictEqual([["loadSession", "s", { limit: 100, cursor: undefined, ...CALL }]]);
    expect(first.answer).toMatchObject({
      session: { sessionId: "s" },
      messages: [{ info: { id: "m" } }],
      nextPageToken: encodeMessageToken(CURSOR),
    });
    const request = { sessionId: "s", limit: 5000, pageToken: encodeMessageToken(CURSOR) };
    const last = await call(method.loadSession, request, { loadSession: { ...loaded, next: undefined } });
    expect(last.asked).toStrictEqual([["loadSession", "s", { limit: 1000, cursor: CURSOR, ...CALL }]]);
    expect(last.answer).toMatchObject({ nextPageToken: "" });
  });

  it("lists sessions, and refuses the token of a list with another filter", async () => {
    const next = { parentId: "p", key: 5, sessionId: "s" };
    const answers = { listSessions: { sessions: [SESSION], next } };
    const filter = {
      ...{ parentId: "p", labels: [], owner: undefined, titleWords: undefined },
      ...{ updatedSinceMicros: undefined, updatedUntilMicros: undefined },
      order: { by: "update_time", descending: true },
    };
    const { asked, answer } = await call(method.listSessions, { parentId: "p", limit: 2 }, answers);
    expect(asked).toStrictEqual([
      ["listSessions", { ...filter, view: "basic", limit: 2, cursor: undefined, withTotal: false, ...CALL }],
    ]);
    const pageToken = encodeSessionToken(next, { namespace: "n" });
    expect(answer).toMatchObject({ sessions: [{ sessionId: "s" }], nextPageToken: pageToken });
    const more = await call(method.listSessions, { parentId: "p", pageToken }, answers);
    const list = { ...filter, view: "basic", limit: 100, cursor: { ...next, ...filter }, withTotal: false };
    expect(more.asked).toStrictEqual([["listSessions", { ...list, ...CALL }]]);
    const full = await call(method.listSessions, { parentId: "p", pageToken, view: SessionView.FULL }, answers);
    expect(full.asked).toMatchObject([["listSessions", { view: "full", cursor: next }]]);
    await expect(call(method.listSessions, { view: 7 as never }, answers)).rejects.toMatchObject({
      code: "invalid_argument",
      message: "view is 7; it must be SESSION_VIEW_BASIC or SESSION_VIEW_FULL",
    });
    for (const other of [{}, { parentId: "p", label: ["a=1"] }, { parentId: "p", owner: "o" }]) {
      const refused = call(method.listSessions, { ...other, pageToken }, answers);
      await expect(refused).rejects.toMatchObject({ code: "invalid_argument" });
    }
  });

  it.each([
    ["nothing", {}, {}],
    [
      "what is set without a mask",
      { title: "t", metadata: {}, labels: { a: "" }, owner: "o", expireTime: { seconds: 7n } },
      { title: "t", metadata: {}, labels: { a: "" }, owner: "o", expireTimeMicros: 7_000_000 },
    ],
    ["what is set with an empty mask", { title: "t", updateMask: { paths: [] } }, { title: "t" }],
    [
      "what the mask names alone",
      {
        title: "t",
        metadata: { a: 1 },
        labels: { a: "1" },
        owner: "o",
        expireTime: {},
        updateMask: { paths: ["title"] },
      },
      { title: "t" },
    ],
    [
      "what the mask names though it is empty",
      { updateMask: { paths: ["title", "metadata", "labels", "expire_time", "owner"] } },
      { title: "", metadata: {}, labels: {}, owner: "", expireTimeMicros: null },
    ],
  ])("updates %s", async (_what, request, change) => {
    const { asked } = await call(method.updateSession, { sessionId: "s", ...request }, { updateSession: SESSION });
    const absent = { title: undefined, metadata: undefined, labels: undefined, owner: undefined };
    const whole = { ...absent, expireTimeMicros: undefined, ...change };
    expect(asked).toStrictEqual([["updateSession", "s", whole, { expectedRevision: undefined, ...CALL }]]);
  });

  it("updates only the expected revision, and only known fields", async () => {
    const request = { sessionId: "s", title: "t", expectedRevision: 0n };
    const { asked } = await call(method.updateSession, request, { updateSession: SESSION });
    expect(asked[0]?.[3]).toStrictEqual({ expectedRevision: 0, ...CALL });
    await expect(call(method.updateSession, { updateMask: { paths: ["title", "revision"] } })).rejects.toMatchObject({
      code: "invalid_argument",
      message: 'update_mask names "revision"; it may name title, metadata, labels, expire_time, owner',
    });
  });

  it("deletes a session", async () => {
    const { asked, answer } = await call(method.deleteSession, { sessionId: "s" }, { deleteSession: undefined });
    expect(asked).toStrictEqual([["deleteSession", "s", CALL]]);
    expect(answer).toStrictEqual({ $typeName: "sessionpool.v1.DeleteSessionResponse" });
  });

  it("forks and shares a session", async () => {
    const made = { session: SESSION, forkPointId: "m", copiedCount: 3 };
    const request = { sessionId: "s", upToMessageId: "m", newSessionId: "n", title: "t" };
    const fork = await call(method.forkSession, request, { forkSession: made });
    const options = { newSessionId: "n", upToMessageId: "m", title: "t", ...CALL };
    expect(fork.asked).toStrictEqual([["forkSession", "s", options]]);
    expect(fork.answer).toMatchObject({ session: { sessionId: "s" }, forkPointId: "m", copiedCount: 3n });
    const empty = { session: SESSION, forkPointId: null, copiedCount: 0 };
    const share = await call(method.shareSession, { sessionId: "s" }, { shareSession: empty });
    expect(share.asked).toStrictEqual([["shareSession", "s", { newSessionId: undefined, ...CALL }]]);
    expect(share.answer).toMatchObject({
      $typeName: "sessionpool.v1.ForkSessionResponse",
      forkPointId: "",
      copiedCount: 0n,
    });
  });

  it("reverts a session, and restores it", async () => {
    const reverted = { session: SESSION, removedCount: 2 };
    const unexpected = { expectedRevision: undefined, expectedRemovedCount: undefined };
    const revert = await call(
      method.revertSession,
      { sessionId: "s", upToMessageId: "m" },
      { revertSession: reverted },
    );
    expect(revert.asked).toStrictEqual([["revertSession", "s", "m", { ...unexpected, ...CALL }]]);
    const toStart = { sessionId: "s", toStart: true, expectedRevision: 7n, expectedRemovedCount: 2n };
    const start = await call(method.revertSession, toStart, { revertSession: reverted });
    expect(start.asked).toStrictEqual([
      ["revertSession", "s", null, { expectedRevision: 7, expectedRemovedCount: 2, ...CALL }],
    ]);
    expect(revert.answer).toMatchObject({ session: { sessionId: "s" }, removedCount: 2n });
    const restored = { session: SESSION, restoredCount: 2 };
    const unrevert = await call(method.unrevertSession, { sessionId: "s" }, { unrevertSession: restored });
    expect(unrevert.asked).toStrictEqual([["unrevertSession", "s", CALL]]);
    expect(unrevert.answer).toMatchObject({ session: { sessionId: "s" }, restoredCount: 2n });
  });
});

describe("MessageService", () => {
  const { method } = MessageService;
  const stored = { messageIds: ["m"], position: 0 };
  const given = { info: { role: "user" } };
  const taken = {
    ...{ id: undefined, role: "user", timestampMicros: undefined },
    ...{ parts: [], metadata: undefined, usage: undefined },
  };

  it("appends one message", async () => {
    const request = { sessionId: "s", message: given, expectedPosition: 0n, createSession: true };
    const { asked, answer } = await call(method.appendMessage, request, { appendMessages: stored });
    const options = { expectedPosition: 0, createSession: true, ...CALL };
    expect(asked).toStrictEqual([["appendMessages", "s", [taken], options]]);
    expect(answer).toMatchObject({ messageId: "m", position: 0n });
    await expect(call(method.appendMessage, { sessionId: "s" })).rejects.toMatchObject({
      message: "message is required",
    });
  });

  it("appends several messages", async () => {
    const answers = { appendMessages: { messageIds: ["a", "b"], position: 7 } };
    const { asked, answer } = await call(method.appendMessages, { sessionId: "s", messages: [given, given] }, answers);
    const options = { expectedPosition: undefined, createSession: false, ...CALL };
    expect(asked).toStrictEqual([["appendMessages", "s", [taken, taken], options]]);
    expect(answer).toMatchObject({ messageIds: ["a", "b"], position: 7n });
    await expect(call(method.appendMessages, { messages: [given, {}] })).rejects.toMatchObject({
      message: "messages[1].info is required",
    });
  });

  it("gets a message, or names the missing one", async () => {
    const request = { sessionId: "s", messageId: "m" };
    const { asked, answer } = await call(method.getMessage, request, { getMessage: MESSAGE });
    expect(asked).toStrictEqual([["getMessage", "s", "m", CALL]]);
    expect(answer).toMatchObject({ info: { id: "m", position: 2n } });
    await expect(call(method.getMessage, request, { getMessage: null })).rejects.toMatchObject({
      code: "not_found",
      message: 'Message "m" not found',
    });
  });

  it("passes on the options of a list", async () => {
    const request = {
      ...{ sessionId: "s", limit: 7, offset: 0, newestFirst: true, includeAncestors: true },
      ...{ since: { seconds: 1n, nanos: 1001 }, until: { seconds: 253_402_300_799n } },
    };
    const answers = { listMessages: { messages: [MESSAGE], next: CURSOR } };
    const { asked, answer } = await call(method.listMessages, request, answers);
    const query = { newestFirst: true, includeAncestors: true, sinceMicros: 1_000_002 };
    const options = { ...query, untilMicros: Number.MAX_SAFE_INTEGER, limit: 7, offset: 0, cursor: undefined };
    expect(asked).toStrictEqual([["listMessages", "s", { ...options, ...CALL }]]);
    expect(answer).toMatchObject({ messages: [{ info: { id: "m" } }], nextPageToken: encodeMessageToken(CURSOR) });
  });

  it("continues a list at the place of a token, but not with an offset", async () => {
    const pageToken = encodeMessageToken(CURSOR);
    const answers = { listMessages: { messages: [] } };
    const { asked, answer } = await call(method.listMessages, { sessionId: "s", pageToken }, answers);
    expect(asked[0]?.[2]).toMatchObject({ limit: 100, offset: undefined, cursor: CURSOR });
    expect(answer).toMatchObject({ messages: [], nextPageToken: "" });
    await expect(call(method.listMessages, { sessionId: "s", pageToken, offset: 0 })).rejects.toMatchObject({
      code: "invalid_argument",
      message: "offset and page_token exclude each other",
    });
    await expect(call(method.listMessages, { sessionId: "s", pageToken: "x" })).rejects.toMatchObject({
      code: "invalid_argument",
    });
  });

  it("counts, truncates and copies messages", async () => {
    const count = await call(method.countMessages, { sessionId: "s" }, { getMessageCount: 0 });
    expect(count).toMatchObject({ asked: [["getMessageCount", "s", CALL]], answer: { count: 0n } });
    const cut = await call(method.truncateMessages, { sessionId: "s", upToMessageId: "m" }, { truncateMessages: 4 });
    expect(cut).toMatchObject({ asked: [["truncateMessages", "s", "m", CALL]], answer: { removedCount: 4n } });
    const toStart = { sessionId: "s", toStart: true, expectedRevision: 7n };
    const start = await call(method.truncateMessages, toStart, { truncateMessages: 4 });
    expect(start.asked).toStrictEqual([["truncateMessages", "s", null, { expectedRevision: 7, ...CALL }]]);
    const request = { sessionId: "s", targetSessionId: "t", upToMessageId: "m", expectedRevision: 7n };
    const copy = await call(method.copyMessages, request, {
      copyMessagesCounted: { forkPointId: "m", copiedCount: 1 },
    });
    expect(copy.asked).toStrictEqual([
      ["copyMessagesCounted", "s", "t", { upToMessageId: "m", expectedRevision: 7, ...CALL }],
    ]);
    expect(copy.answer).toMatchObject({ forkPointId: "m", copiedCount: 1n });
    const none = { copyMessagesCounted: { forkPointId: null, copiedCount: 0 } };
    const nothing = await call(method.copyMessages, { sessionId: "s", targetSessionId: "t" }, none);
    expect(nothing.asked[0]?.[3]).toStrictEqual({ upToMessageId: undefined, expectedRevision: undefined, ...CALL });
    expect(nothing.answer).toMatchObject({ forkPointId: undefined, copiedCount: 0n });
  });
});

describe("WatchMessages", () => {
  const at = { sessionUid: "uid", revision: 1, position: 2 };

  async function watch(request: MessageInitShape<typeof MessageService.method.watchMessages.input>, events: unknown) {
    const { asked, context } = fakePool({ followMessages: events });
    const desc = MessageService.method.watchMessages;
    const method = API_METHODS.find((candidate) => candidate.desc === desc);
    const stream = await method?.stream?.(create(desc.input, request), context);
    return { asked, stream: stream as AsyncIterable<object> };
  }

  async function* eventsOf(...events: FollowEvent[]): AsyncGenerator<FollowEvent> {
    yield* events;
  }

  async function readAll(stream: AsyncIterable<object>): Promise<object[]> {
    const events: object[] = [];
    for await (const event of stream) events.push(event);
    return events;
  }

  it.each([
    ["now", {}, undefined],
    ["a position, even 0", { fromPosition: 0n }, 0],
    ["the place of a follower", { resumeToken: encodeResumeToken(at) }, at],
  ])("starts at %s", async (_what, request, from) => {
    const { asked } = await watch({ sessionId: "s", ...request }, eventsOf());
    expect(asked).toStrictEqual([["followMessages", "s", from, CALL]]);
  });

  it("refuses two starting points, and an invalid token", async () => {
    const both = { fromPosition: 0n, resumeToken: encodeResumeToken(at) };
    await expect(watch(both, eventsOf())).rejects.toMatchObject({
      code: "invalid_argument",
      message: "from_position and resume_token exclude each other",
    });
    await expect(watch({ resumeToken: "x" }, eventsOf())).rejects.toMatchObject({ code: "invalid_argument" });
  });

  it("reports each event", async () => {
    const events = eventsOf({ kind: "appended", message: MESSAGE, at }, { kind: "truncated", messageCount: 0, at });
    const { stream } = await watch({ sessionId: "s" }, events);
    expect(await readAll(stream)).toMatchObject([
      { event: { case: "appended" }, resumeToken: encodeResumeToken(at) },
      { event: { case: "truncated", value: { messageCount: 0n } } },
    ]);
  });

  it("stops following when its reader stops, even if nothing was read", async () => {
    let ended = 0;
    const source = {
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false, value: { kind: "heartbeat", at } }),
        return: async () => {
          ended++;
          return { done: true, value: undefined };
        },
      }),
    };
    const unread = await watch({ sessionId: "s" }, source);
    await unread.stream[Symbol.asyncIterator]().return?.();
    expect(ended).toBe(1);
    const read = await watch({ sessionId: "s" }, source);
    for await (const event of read.stream) {
      expect(event).toMatchObject({ event: { case: "heartbeat" } });
      break;
    }
    expect(ended).toBe(2);
  });

  it("passes on the error of the stream", async () => {
    const failing = (async function* () {
      yield { kind: "heartbeat", at };
      throw new Error("gone");
    })();
    const { stream } = await watch({ sessionId: "s" }, failing);
    await expect(readAll(stream)).rejects.toThrow("gone");
  });
});

describe("todo services", () => {
  it("list todos for any session id", async () => {
    for (const sessionId of ["", "unknown", "..", "x".repeat(500)]) {
      const { asked, answer } = await call(TodoService.method.listTodos, { sessionId }, { list: [TODO] });
      expect(asked).toStrictEqual([["list", CALL]]);
      expect(answer).toMatchObject({ todos: [TODO] });
    }
  });

  const { method } = TodoTrackerService;

  it("replace, add and remove todos", async () => {
    const replaced = await call(method.replaceTodos, { todos: [TODO, { content: "c" }] }, { replace: [TODO] });
    const second = { id: "", content: "c", status: "", priority: "" };
    expect(replaced.asked).toStrictEqual([["replace", [TODO, second], CALL]]);
    expect(replaced.answer).toMatchObject({ todos: [TODO] });
    const added = await call(method.addTodo, { todo: TODO }, { add: TODO });
    expect(added).toMatchObject({ asked: [["add", TODO, CALL]], answer: TODO });
    await expect(call(method.addTodo, {})).rejects.toMatchObject({ message: "todo is required" });
    const removed = await call(method.removeTodo, { todoId: "t" }, { remove: undefined });
    expect(removed).toMatchObject({ asked: [["remove", "t", CALL]] });
    await expect(call(method.removeTodo, {})).rejects.toMatchObject({
      code: "invalid_argument",
      message: "todo_id is required",
    });
  });

  it.each([
    ["what is set without a mask", { status: "done" }, undefined, ["status"]],
    ["what the mask names", { status: "done" }, ["content"], ["content"]],
    ["nothing", {}, undefined, []],
  ])("update %s", async (_what, fields, paths, named) => {
    const todo = { id: "t", ...fields };
    const request = paths === undefined ? { todo } : { todo, updateMask: { paths } };
    const { asked, answer } = await call(method.updateTodo, request, { update: TODO });
    const whole = { id: "t", content: "", status: "", priority: "", ...fields };
    expect(asked).toStrictEqual([["update", whole, named, CALL]]);
    expect(answer).toMatchObject(TODO);
  });

  it("update only known fields", async () => {
    await expect(call(method.updateTodo, { todo: TODO, updateMask: { paths: ["id"] } })).rejects.toMatchObject({
      code: "invalid_argument",
      message: 'update_mask names "id"; it may name content, status, priority',
    });
  });
});
