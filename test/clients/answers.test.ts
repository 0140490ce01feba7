import { createGrpcTransport } from "@connectrpc/connect-node";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  Code,
  ConflictError,
  ConnectError,
  createSessionPoolClient,
  dateOf,
  type SessionPoolClient,
  SessionView,
  text,
  textOf,
  timestampOf,
} from "../../clients/typescript/src/index.js";
import { startTestServer, type TestServer } from "../support/server.js";

let server: TestServer;
let client: SessionPoolClient;

const DATA = { name: "lookup", input: { list: [1, -0.5, null, true, { "": "" }], ключ: "чай 🍵" } };
const NOON = new Date("2024-05-01T12:00:00.250Z");

beforeAll(async () => {
  server = await startTestServer({ storage: "sqlite::memory:", search: true, undeleteMs: 86_400_000 });
  client = createSessionPoolClient({ baseUrl: server.httpUrl });
  await client.sessions.createSession({
    sessionId: "trip",
    title: "Kyoto in May",
    labels: { topic: "travel" },
    metadata: { model: { name: "gpt" } },
    expireTime: new Date("2199-12-31T23:59:59.999Z"),
  });
  const call = { info: { id: "m2", role: "assistant" }, parts: [{ type: "tool_use", data: DATA }, { type: "text" }] };
  const question = text("user", "When do the azaleas bloom?", { id: "m1", timestamp: NOON, metadata: { turn: 1 } });
  await client.append("trip", [question, call]);
  await client.sessions.forkSession({ sessionId: "trip", newSessionId: "fork" });
  await client.messages.startDraft({ sessionId: "trip", message: { info: { id: "d", role: "assistant" } } });
});

afterAll(() => server.stop());

/** What REST answers. */
async function rest(path: string): Promise<unknown> {
  return await (await fetch(`${server.httpUrl}${path}`)).json();
}

const jsonOf = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe("JSON.stringify of an answer", () => {
  it.each<[string, (client: SessionPoolClient) => Promise<object>]>([
    ["/session/trip", ({ sessions }) => sessions.getSession({ sessionId: "trip" })],
    ["/session/fork", ({ sessions }) => sessions.getSession({ sessionId: "fork" })],
    ["/session?view=SESSION_VIEW_FULL", ({ sessions }) => sessions.listSessions({ view: SessionView.FULL })],
    ["/session?limit=1", ({ sessions }) => sessions.listSessions({ limit: 1 })],
    ["/session/trip/load", ({ sessions }) => sessions.loadSession({ sessionId: "trip" })],
    ["/session/trip/message", ({ messages }) => messages.listMessages({ sessionId: "trip" })],
    ["/session/trip/message/m2", ({ messages }) => messages.getMessage({ sessionId: "trip", messageId: "m2" })],
    ["/session/trip/message:count", ({ messages }) => messages.countMessages({ sessionId: "trip" })],
    ["/session/trip/draft", ({ messages }) => messages.listDrafts({ sessionId: "trip" })],
    ["/search?q=azaleas", ({ messages }) => messages.searchMessages({ q: "azaleas" })],
  ])("is what REST answers to %s", async (path, call) => {
    expect(jsonOf(await call(client))).toEqual(await rest(path));
  });

  it("is the API's JSON for each part of an answer, and for copies of it", async () => {
    const session = (await rest("/session/trip")) as { createTime: string };
    const answer = await client.sessions.getSession({ sessionId: "trip" });
    expect(JSON.stringify(answer.createTime)).toBe(JSON.stringify(session.createTime));
    expect(jsonOf([answer.metadata, { own: answer }])).toEqual([answer.metadata, { own: session }]);
    expect(await Response.json(answer).json()).toEqual(session);
    expect(jsonOf({ ...answer, title: "Mine" })).toMatchObject({ title: "Mine", createTime: session.createTime });
    answer.title = "Changed";
    expect(jsonOf(answer)).toEqual({ ...session, title: "Changed" });
    expect(structuredClone(answer)).toEqual(answer);
  });

  it("is the API's JSON for what changes a session, the iterators and each event of a watch", async () => {
    expect(jsonOf(await client.append("trip", text("user", "And the maples?", { id: "m3" })))).toEqual({
      messageIds: ["m3"],
      position: "2",
    });
    const { messages } = (await rest("/session/trip/message")) as { messages: object[] };
    const read: unknown[] = [];
    for await (const message of client.history("trip", { pageSize: 2 })) read.push(jsonOf(message));
    expect(read).toEqual(messages);
    const events: unknown[] = [];
    for await (const event of client.watch("trip", { fromPosition: 0 })) {
      events.push(jsonOf(event));
      if (event.event.case === "draft") break;
    }
    const { drafts } = (await rest("/session/trip/draft")) as { drafts: object[] };
    const resumeToken = expect.stringMatching(/./);
    expect(events).toEqual([
      ...messages.map((appended) => ({ appended, resumeToken })),
      { draft: drafts[0], resumeToken },
    ]);
    expect(jsonOf(await client.messages.deleteMessage({ sessionId: "trip", messageId: "m3" }))).toEqual({});
  });
});

describe("a time", () => {
  it("is a Date and back, in answers and in requests", async () => {
    const { info } = await client.messages.getMessage({ sessionId: "trip", messageId: "m1" });
    expect(dateOf(info?.timestamp)).toEqual(NOON);
    expect(dateOf(timestampOf(NOON))).toEqual(NOON);
    expect(dateOf(undefined)).toBeUndefined();
    const found: string[] = [];
    const until = new Date(NOON.getTime() + 1);
    for await (const message of client.history("trip", { since: NOON, until })) found.push(message.info?.id ?? "");
    for await (const message of client.history("trip", { since: info!.timestamp!, offset: 1, pageSize: 1 }))
      found.push(message.info?.id ?? "");
    expect(found).toEqual(["m1", "m2"]);
  });

  it("that is no time is refused by the name of its field", async () => {
    const info = { role: "user", timestamp: new Date(Number.NaN) };
    await expect(client.append("trip", [{ info }])).rejects.toThrow(
      new RangeError("messages[0].info.timestamp is not a valid Date"),
    );
  });
});

describe("an iterator", () => {
  it("reads all sessions that fit its filters, page by page", async () => {
    for (let i = 0; i < 5; i++)
      await client.sessions.createSession({
        sessionId: `s${i}`,
        parentId: "trip",
        labels: { n: `${i % 2}` },
        ...(i === 3 && { owner: "ada" }),
      });
    const idsOf = async (options: Parameters<SessionPoolClient["listSessions"]>[0]) => {
      const ids: string[] = [];
      for await (const { sessionId } of client.listSessions({ pageSize: 2, ...options })) ids.push(sessionId);
      return ids.sort();
    };
    expect(await idsOf({})).toEqual(["fork", "s0", "s1", "s2", "s3", "s4", "trip"]);
    expect(await idsOf({ parentId: "trip" })).toEqual(["fork", "s0", "s1", "s2", "s3", "s4"]);
    expect(await idsOf({ label: ["n=0"], parentId: "trip" })).toEqual(["s0", "s2", "s4"]);
    expect(await idsOf({ owner: "ada" })).toEqual(["s3"]);
    expect(await idsOf({ noOwner: true, label: ["n=1"] })).toEqual(["s1"]);
    const counts = new Map<string, number | undefined>();
    for await (const { sessionId, messageCount } of client.listSessions({ parentId: "trip", view: SessionView.FULL }))
      counts.set(sessionId, messageCount);
    expect(counts.get("fork")).toBe(2);
    const { updateTime } = await client.sessions.getSession({ sessionId: "s3" });
    if (updateTime === undefined) throw new Error("s3 has no update_time");
    expect(await idsOf({ owner: "ada", updatedSince: updateTime })).toEqual(["s3"]);
    expect(await idsOf({ owner: "ada", updatedUntil: updateTime })).toEqual([]);
    expect(await idsOf({ deleted: true })).toEqual([]);
    for (const sessionId of ["s1", "s2", "s3"]) await client.sessions.deleteSession({ sessionId });
    expect(await idsOf({ deleted: true })).toEqual(["s1", "s2", "s3"]);
    expect(await idsOf({ deleted: true, noOwner: true })).toEqual(["s1", "s2"]);
    for (const sessionId of ["s1", "s2", "s3"]) await client.sessions.undeleteSession({ sessionId });
    expect(await idsOf({ deleted: true })).toEqual([]);
  });

  it("reads all hits of a search that fit its filters, and stops when it is told to", async () => {
    await client.append(
      "maples",
      [1, 2, 3, 4, 5].map((n) => text("user", `maple ${n}`)),
      { createSession: true },
    );
    const read = async (...args: Parameters<SessionPoolClient["search"]>) => {
      const found: string[] = [];
      for await (const { sessionId, position } of client.search(...args)) found.push(`${sessionId} ${position}`);
      return found.sort();
    };
    expect(await read("maple", { pageSize: 2, sessionId: "maples" })).toEqual(
      [0, 1, 2, 3, 4].map((n) => `maples ${n}`),
    );
    expect(await read("azaleas", { label: ["topic=travel"] })).toEqual(["trip 0"]);
    expect(await read("azaleas", { sessionId: "maples" })).toEqual([]);
    expect(await read("azaleas", { owner: "ada" })).toEqual([]);
    expect(await read("azaleas", { noOwner: true })).toEqual(["trip 0"]);
    expect(await read("azaleas", { role: "user", since: new Date(0) })).toEqual(["trip 0"]);
    expect(await read("azaleas", { until: new Date(0) })).toEqual([]);
    expect(await read("azaleas", { role: "tool" })).toEqual([]);
    await expect(read("maple", { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: Code.Canceled });
  });
});

describe("an error of a call that expected something else", () => {
  it.each([
    ["Connect", () => client],
    [
      "gRPC",
      () => createSessionPoolClient({ transport: createGrpcTransport({ baseUrl: `http://${server.grpcAddress}` }) }),
    ],
    ["gRPC-Web", () => createSessionPoolClient({ transport: createGrpcWebTransport({ baseUrl: server.httpUrl }) })],
  ])("says over %s what there is", async (name, connect) => {
    const caller = connect();
    const sessionId = `conflict-${name}`;
    await caller.append(sessionId, [text("user", "0", { id: "0" }), text("user", "1")], { createSession: true });
    const late = await caller.append(sessionId, text("user", "x"), { expectedPosition: 0 }).catch((error) => error);
    expect(late).toBeInstanceOf(ConflictError);
    expect(late).toBeInstanceOf(ConnectError);
    expect(late).toMatchObject({ code: Code.Aborted, current: { position: 2 } });
    const { revision } = await caller.sessions.getSession({ sessionId });
    const expectedRevision = revision + 7;
    await expect(
      caller.sessions.revertSession({ sessionId, upToMessageId: "0", expectedRevision }),
    ).rejects.toMatchObject({ current: { revision } });
    await expect(
      caller.sessions.updateSession({ sessionId, title: "T", updateMask: { paths: ["title"] }, expectedRevision }),
    ).rejects.toMatchObject({ current: { revision } });
    const { messageId } = await caller.messages.startDraft({ sessionId, message: { info: { role: "user" } } });
    await expect(caller.messages.finishDraft({ sessionId, messageId, version: 9 })).rejects.toMatchObject({
      code: Code.Aborted,
      current: { version: 1 },
    });
  });

  it("is no conflict when it is another error", async () => {
    const error = await client.sessions.getSession({ sessionId: "nobody" }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ConnectError);
    expect(error).not.toBeInstanceOf(ConflictError);
  });
});

it("gives what was read back to the service unchanged", async () => {
  const message = await client.messages.getMessage({ sessionId: "trip", messageId: "m1" });
  await client.append("again", { ...message, info: { ...message.info!, role: "user" } }, { createSession: true });
  await client.append("once-more", message, { createSession: true });
  const [copy] = (await client.messages.listMessages({ sessionId: "once-more" })).messages;
  expect(textOf(copy!)).toBe(textOf(message));
  expect(dateOf(copy!.info!.timestamp)).toEqual(NOON);
});
