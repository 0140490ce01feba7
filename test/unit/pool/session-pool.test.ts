import { beforeEach, describe, expect, it } from "vitest";
import { RootPool } from "../../../src/pool/root-pool.js";
import type { SessionPool } from "../../../src/pool/session-pool.js";
import { MemoryStorageProvider } from "../../../src/storage/memory/memory-storage-provider.js";
import { naiveState } from "../../contract/model/naive-sessions-provider.js";
import { NaiveStorageProvider } from "../../contract/model/naive-storage-provider.js";
import { idsOf, message, messages, numbered, refusal } from "../../contract/storage-provider/fixtures.js";

const ULID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

let provider: NaiveStorageProvider;
let sessions: SessionPool;

const history = async (sessionId: string) => idsOf(await sessions.getMessages(sessionId));

beforeEach(async () => {
  provider = new NaiveStorageProvider(naiveState());
  sessions = new RootPool({ storage: provider }).sessions;
  await sessions.createSession({ sessionId: "s", title: "title" });
  await sessions.appendMessages("s", messages(...numbered(3)));
});

describe("SessionPool", () => {
  it("makes ascending ids for sessions without one", async () => {
    const made = [await sessions.createSession(), await sessions.createSession({ sessionId: "" })];
    const forks = [await sessions.forkSession("s"), await sessions.shareSession("s", { newSessionId: "" })];
    const ids = [...made, ...forks.map(({ session }) => session)].map(({ sessionId }) => sessionId);
    for (const id of ids) expect(id).toMatch(ULID);
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(4);
  });

  it("appends, and returns the id or the whole result", async () => {
    expect(await sessions.appendMessage("s", message("m4"))).toBe("m4");
    expect(await sessions.appendMessages("s", messages("m5", "m6"))).toEqual({
      messageIds: ["m5", "m6"],
      position: 4,
    });
  });

  it("copies, and returns the fork point, with the count if asked", async () => {
    await sessions.createSession({ sessionId: "t" });
    expect(await sessions.copyMessages("s", "t", { upToMessageId: "m2" })).toBe("m2");
    expect(await sessions.copyMessagesCounted("s", "t")).toEqual({ forkPointId: "m3", copiedCount: 1 });
    expect(await sessions.copyMessages("s", "t")).toBeNull();
  });

  it("forks and shares into sessions with the given id and title", async () => {
    const fork = await sessions.forkSession("s", { newSessionId: "f", upToMessageId: "m1", title: "fork" });
    expect(fork).toMatchObject({ forkPointId: "m1", copiedCount: 1, session: { sessionId: "f", title: "fork" } });
    const share = await sessions.shareSession("s", { newSessionId: "g" });
    expect(share).toMatchObject({ forkPointId: "m3", copiedCount: 3, session: { sessionId: "g", title: "title" } });
    expect(await sessions.shareSession("s", { newSessionId: "g" })).toEqual(share);
    await refusal(sessions.forkSession("s", { newSessionId: "g" }), "already_exists");
  });

  it("reads the session of a fork itself when the provider does not return it", async () => {
    const { forkConversation } = provider;
    provider.forkConversation = async (...args) => {
      const { forkPointId, copiedCount } = await forkConversation.apply(provider, args);
      return { forkPointId, copiedCount };
    };
    expect(await sessions.forkSession("s", { newSessionId: "f" })).toMatchObject({
      session: { sessionId: "f", messageCount: 3 },
    });
  });

  it("reverts, restores, and returns the session afterwards", async () => {
    expect(await sessions.revertSession("s", "m1")).toMatchObject({
      removedCount: 2,
      session: { messageCount: 1, reverted: true },
    });
    expect(await sessions.unrevertSession("s")).toMatchObject({
      restoredCount: 2,
      session: { messageCount: 3, reverted: false },
    });
    expect(await sessions.truncateMessages("s", "m2")).toBe(1);
    await refusal(sessions.unrevertSession("s"), "failed_precondition");
  });

  it("returns no sums of usage with the session that was reverted or restored", async () => {
    await sessions.appendMessage("s", message("m4", { usage: { inputTokens: 5 } }));
    await sessions.appendMessage("s", message("m5"));
    expect(await sessions.getSession("s")).toMatchObject({ usage: { calls: 1 }, inheritedUsage: { calls: 0 } });
    const { session: reverted } = await sessions.revertSession("s", "m4");
    const { session: restored } = await sessions.unrevertSession("s");
    for (const session of [reverted, restored]) {
      expect(session).not.toHaveProperty("usage");
      expect(session).not.toHaveProperty("inheritedUsage");
    }
  });

  it("updates and deletes one message, in the session's turn", async () => {
    const change = { role: "tool", metadata: { a: 1 } };
    const updated = sessions.updateMessage("s", "m2", change, { expectedRevision: 1 });
    const deleted = sessions.deleteMessage("s", "m1", { expectedRevision: 2 });
    expect(await updated).toMatchObject({ id: "m2", role: "tool", position: 1, parts: [{ text: "text of m2" }] });
    await deleted;
    expect(await history("s")).toEqual(["m2", "m3"]);
    await refusal(sessions.updateMessage("s", "m1", change), "not_found");
    await refusal(sessions.deleteMessage("s", "m1"), "not_found");
  });

  it("reverts and truncates to the start, and only at an expected revision", async () => {
    await refusal(sessions.revertSession("s", null, { expectedRevision: 2 }), "aborted");
    expect(await sessions.revertSession("s", null, { expectedRevision: 1 })).toMatchObject({ removedCount: 3 });
    await sessions.unrevertSession("s");
    await refusal(sessions.truncateMessages("s", "m1", { expectedRevision: 1 }), "aborted");
    expect(await sessions.truncateMessages("s", null)).toBe(3);
    expect(await history("s")).toEqual([]);
    await refusal(sessions.copyMessages("s", "s2", { expectedRevision: 0.5 }), "invalid_argument");
  });

  it("treats a page limit above 1,000 as 1,000", async () => {
    sessions = new RootPool({ storage: provider, limits: { pageMessages: 2 } }).sessions;
    expect((await sessions.listMessages("s", { limit: 99 })).messages).toHaveLength(2);
    expect((await sessions.loadSession("s", { limit: 99 })).messages).toHaveLength(2);
    await sessions.createSession({ sessionId: "t" });
    await sessions.createSession({ sessionId: "u" });
    expect((await sessions.listSessions({ limit: 99 })).sessions).toHaveLength(2);
    expect(await sessions.getMessages("s")).toHaveLength(3);
  });

  it("lists the children of one session, or all", async () => {
    await sessions.createSession({ sessionId: "child", parentId: "s" });
    const idsOfPage = async (parentId?: string) =>
      (await sessions.listSessions({ parentId, limit: 9 })).sessions.map(({ sessionId }) => sessionId);
    expect(await idsOfPage("s")).toEqual(["child"]);
    expect((await idsOfPage()).toSorted()).toEqual(["child", "s"]);
  });

  it("copies between two sessions in both directions at once", async () => {
    await sessions.createSession({ sessionId: "t" });
    await sessions.appendMessage("t", message("t1"));
    await Promise.all([sessions.copyMessages("s", "t"), sessions.copyMessages("t", "s")]);
    expect((await history("s")).toSorted()).toEqual([...numbered(3), "t1"]);
    expect((await history("t")).toSorted()).toEqual([...numbered(3), "t1"]);
    expect(sessions.turnLock.size).toBe(0);
  });

  it("answers at once about a session that the caller may not see, while others change it", async () => {
    sessions = new RootPool({ storage: new MemoryStorageProvider() }).sessions;
    const [ada, bob] = [{ access: { owner: "ada" } }, { access: { owner: "bob" } }];
    for (const call of [ada, bob]) await sessions.createSession({ sessionId: `of ${call.access.owner}` }, call);
    const release = await sessions.turnLock.acquire("of ada", ada);
    const waiting = sessions.appendMessage("of ada", message("m1"), ada);
    await refusal(sessions.appendMessage("of ada", message("m1"), bob), "not_found");
    await refusal(sessions.appendMessage("of ada", message("m1"), { ...bob, createSession: true }), "already_exists");
    await refusal(sessions.copyMessages("of bob", "of ada", bob), "not_found");
    await refusal(sessions.updateSession("of ada", { title: "x" }, bob), "not_found");
    await refusal(sessions.deleteSession("of ada", bob), "not_found");
    await refusal(sessions.drafts.start("of ada", message("m1"), bob), "not_found");
    expect(await sessions.getMessageCount("of ada", ada)).toBe(0);
    release();
    expect(await waiting).toBe("m1");
    expect(sessions.turnLock.size).toBe(0);
  });
});

describe("SessionPool refuses, before storage is asked,", () => {
  const bad = "line\nbreak";
  const long = "x".repeat(129);
  const calls: readonly (readonly [string, () => Promise<unknown>])[] = [
    ["a session id with control characters", () => sessions.getMessages(bad)],
    ["a session id that is too long", () => sessions.getMessageCount(long)],
    ["an empty session id", () => sessions.appendMessage("", message("m"))],
    ["the session id ..", () => sessions.createSession({ sessionId: ".." })],
    ["a malformed id for a fork", () => sessions.forkSession("s", { newSessionId: bad })],
    ["an id for a share that is too long", () => sessions.shareSession("s", { newSessionId: long })],
    ["a malformed parent id", () => sessions.createSession({ parentId: bad })],
    ["a malformed parent id in a list", () => sessions.listSessions({ parentId: bad, limit: 1 })],
    ["an empty target id of a copy", () => sessions.copyMessages("s", "")],
    ["a malformed message id", () => sessions.getMessage("s", bad)],
    ["an appended message with a malformed id", () => sessions.appendMessage("s", message(bad))],
    ["an empty id of the last message to keep", () => sessions.truncateMessages("s", "")],
    ["an empty id of the message to update", () => sessions.updateMessage("s", "", {})],
    [
      "new content with an empty part type",
      () => sessions.updateMessage("s", "m1", { parts: [{ id: "", type: "", text: "" }] }),
    ],
    [
      "new metadata of a message over its limit",
      () => sessions.updateMessage("s", "m1", { metadata: { a: "x".repeat(65_536) } }),
    ],
    [
      "a fraction as the expected revision of an update",
      () => sessions.updateMessage("s", "m1", {}, { expectedRevision: 0.5 }),
    ],
    ["an empty id of the message to delete", () => sessions.deleteMessage("s", "")],
    ["a negative expected revision of a delete", () => sessions.deleteMessage("s", "m1", { expectedRevision: -1 })],
    [
      "a negative expected revision of a truncate",
      () => sessions.truncateMessages("s", "m1", { expectedRevision: -1 }),
    ],
    [
      "a fraction as the expected revision of a revert",
      () => sessions.revertSession("s", "m1", { expectedRevision: 0.5 }),
    ],
    ["a malformed id of the message to revert to", () => sessions.revertSession("s", bad)],
    ["a malformed id of the last message to copy", () => sessions.copyMessages("s", "t", { upToMessageId: bad })],
    ["a malformed id of the last message to fork", () => sessions.forkSession("s", { upToMessageId: bad })],
    ["a title that is too long", () => sessions.updateSession("s", { title: "x".repeat(1025) })],
    ["a title of a fork that is too long", () => sessions.forkSession("s", { title: "x".repeat(1025) })],
    ["metadata with NaN", () => sessions.updateSession("s", { metadata: { a: Number.NaN } })],
    ["an append of no messages", () => sessions.appendMessages("s", [])],
    ["an append with one id twice", () => sessions.appendMessages("s", messages("a", "a"))],
    ["a message without a role", () => sessions.appendMessage("s", message("a", { role: "" }))],
    ["a negative expected position", () => sessions.appendMessage("s", message("a"), { expectedPosition: -1 })],
    [
      "a fraction as the expected revision of a session",
      () => sessions.updateSession("s", {}, { expectedRevision: 0.5 }),
    ],
    ["a limit of 0", () => sessions.listMessages("s", { limit: 0 })],
    ["a negative limit of a load", () => sessions.loadSession("s", { limit: -1 })],
    ["a start time after the end time", () => sessions.listMessages("s", { limit: 1, sinceMicros: 2, untilMicros: 1 })],
    ["a negative position to follow from", () => sessions.followMessages("s", -1)],
  ];

  it.each(calls)("%s", async (_, call) => {
    const asked: string[] = [];
    sessions = new RootPool({ storage: recording(provider, asked) }).sessions;
    await refusal(call(), "invalid_argument");
    expect(asked).toEqual([]);
  });

  it.each([
    ["canceled", { signal: AbortSignal.abort() }],
    ["deadline_exceeded", { deadlineMs: Date.now() - 1 }],
  ] as const)("a call that is %s", async (code, call) => {
    const asked: string[] = [];
    sessions = new RootPool({ storage: recording(provider, asked) }).sessions;
    const ended: readonly Promise<unknown>[] = [
      sessions.getMessages("s", call),
      sessions.getMessage("s", "m1", call),
      sessions.getMessageCount("s", call),
      sessions.listMessages("s", { limit: 1, ...call }),
      sessions.followMessages("s", 0, call),
      sessions.appendMessage("s", message("a"), call),
      sessions.copyMessages("s", "t", call),
      sessions.truncateMessages("s", "m1", call),
      sessions.updateMessage("s", "m1", {}, call),
      sessions.deleteMessage("s", "m1", call),
      sessions.createSession({}, call),
      sessions.getSession("s", call),
      sessions.loadSession("s", { limit: 1, ...call }),
      sessions.listSessions({ limit: 1, ...call }),
      sessions.updateSession("s", {}, call),
      sessions.deleteSession("s", call),
      sessions.forkSession("s", call),
      sessions.shareSession("s", call),
      sessions.revertSession("s", "m1", call),
      sessions.unrevertSession("s", call),
    ];
    for (const one of ended) await refusal(one, code);
    expect(asked).toEqual([]);
  });
});

/** The provider, and a list that records its calls. */
function recording(given: NaiveStorageProvider, asked: string[]): NaiveStorageProvider {
  return new Proxy(given, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        asked.push(String(name));
        return Reflect.apply(value, target, args);
      };
    },
  });
}
