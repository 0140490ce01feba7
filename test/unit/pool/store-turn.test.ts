import { beforeEach, describe, expect, it } from "vitest";
import { DomainError } from "../../../src/domain/errors.js";
import { RootPool } from "../../../src/pool/root-pool.js";
import type { SessionPool } from "../../../src/pool/session-pool.js";
import type { QueuedAppend } from "../../../src/pool/session-pool-types.js";
import { storeTurn } from "../../../src/pool/store-turn.js";
import { LogHistoryProvider } from "../../../src/storage/history/log-history-provider.js";
import { MemoryLogDatabase } from "../../../src/storage/memory/memory-log-database.js";
import type { StorageManager } from "../../../src/storage/storage-manager.js";
import {
  type LoggedMessage,
  type LogOptions,
  type LogResult,
  StorageProvider,
  type TurnOutcome,
} from "../../../src/storage/storage-provider.js";
import { naiveState } from "../../contract/model/naive-sessions-provider.js";
import { NaiveStorageProvider } from "../../contract/model/naive-storage-provider.js";
import { showing } from "../../contract/storage-provider/attachments.js";
import { message, messages, refusal } from "../../contract/storage-provider/fixtures.js";

/** The minimal provider of the specification, which logs messages one by one. */
class MessageByMessage extends StorageProvider {
  readonly logged: (LoggedMessage & LogOptions)[] = [];

  override async logMessage(logged: LoggedMessage, options?: LogOptions): Promise<LogResult> {
    if (logged.id === "bad") throw new Error("bad");
    this.logged.push({ ...logged, ...options });
    return { messageIds: [logged.id ?? "made"], position: this.logged.length - 1 };
  }
}

/** A provider that implements batches but not turns. */
class BatchByBatch extends NaiveStorageProvider {
  override logTurn = StorageProvider.prototype.logTurn;
}

/** A provider that records the calls that tests check. */
class Noting extends NaiveStorageProvider {
  readonly asked: string[] = [];

  override async createSession(...args: Parameters<NaiveStorageProvider["createSession"]>) {
    this.asked.push("createSession");
    return super.createSession(...args);
  }

  override async logTurn(...args: Parameters<NaiveStorageProvider["logTurn"]>) {
    this.asked.push("logTurn");
    return super.logTurn(...args);
  }
}

describe("appends that create their session", () => {
  const CREATE = { createSession: true };
  let provider: Noting;
  let sessions: SessionPool;

  beforeEach(() => {
    provider = new Noting(naiveState());
    sessions = new RootPool({ storage: provider }).sessions;
  });

  it("make it when it is missing, and cost no extra call when it exists", async () => {
    expect(await sessions.appendMessages("s", messages("a", "b"), CREATE)).toEqual({
      messageIds: ["a", "b"],
      position: 0,
    });
    expect(provider.asked).toEqual(["logTurn", "createSession", "logTurn"]);
    expect(await sessions.getSession("s")).toMatchObject({ title: "", parentId: "", messageCount: 2 });
    provider.asked.length = 0;
    expect(await sessions.appendMessages("s", messages("c"), CREATE)).toMatchObject({ position: 2 });
    expect(provider.asked).toEqual(["logTurn"]);
  });

  it("answer a repetition like the first call", async () => {
    const first = await sessions.appendMessages("s", messages("a"), { ...CREATE, expectedPosition: 0 });
    expect(await sessions.appendMessages("s", messages("a"), { ...CREATE, expectedPosition: 0 })).toEqual(first);
    expect(await sessions.getMessageCount("s")).toBe(1);
  });

  it("are stored in their order, while appends that do not create the session are refused", async () => {
    const outcomes = await Promise.allSettled([
      sessions.appendMessages("s", messages("a"), CREATE),
      sessions.appendMessages("s", messages("b")),
      sessions.appendMessages("s", messages("c"), CREATE),
      sessions.appendMessages("s", messages("d"), CREATE),
    ]);
    expect(outcomes).toMatchObject([
      { value: { messageIds: ["a"], position: 0 } },
      { reason: { code: "not_found" } },
      { value: { messageIds: ["c"], position: 1 } },
      { value: { messageIds: ["d"], position: 2 } },
    ]);
  });

  it("are all stored when several processes make the session at once", async () => {
    const database = new MemoryLogDatabase();
    const pools = [0, 1, 2].map(() => {
      const storage = new LogHistoryProvider(database.namespace("default"));
      return new RootPool({ storage }).sessions;
    });
    const ids = Array.from({ length: 12 }, (_, i) => `m${i}`);
    const appends = ids.map((id, i) => (pools[i % 3] as SessionPool).appendMessage("s", message(id), CREATE));
    expect(await Promise.all(appends)).toEqual(ids);
    const stored = await (pools[0] as SessionPool).getMessages("s");
    expect(stored.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    expect((await (pools[1] as SessionPool).listSessions({ limit: 9 })).sessions).toHaveLength(1);
  });

  it("create the session even when they are refused", async () => {
    await refusal(sessions.appendMessages("s", messages("a"), { ...CREATE, expectedPosition: 4 }), "aborted");
    expect(await sessions.getMessageCount("s")).toBe(0);
  });

  it("do not create the session when a message is malformed", async () => {
    await refusal(sessions.appendMessages("s", messages("a", "a"), CREATE), "invalid_argument");
    expect(provider.asked).toEqual([]);
  });

  it("do not create the session when a message names an attachment, which a new session cannot have", async () => {
    const naming = showing("m", "a");
    const error = await refusal(sessions.appendMessages("s", [message("b"), naming], CREATE), "invalid_argument");
    expect(error.message).toBe('attachment_id "a" names no attachment of session "s"');
    await refusal(sessions.drafts.start("s", naming, CREATE), "invalid_argument");
    expect(provider.asked).toEqual(["logTurn"]);
  });

  it("fail with the error of the creation", async () => {
    provider.createSession = async () => {
      throw new DomainError("unavailable", "no store");
    };
    await refusal(sessions.appendMessages("s", messages("a"), CREATE), "unavailable");
  });

  it("work with a provider without turns", async () => {
    sessions = new RootPool({ storage: new BatchByBatch(naiveState()) }).sessions;
    expect(await sessions.appendMessage("s", message("a"), CREATE)).toBe("a");
  });
});

describe("appends to a provider without turns", () => {
  let sessions: SessionPool;

  beforeEach(async () => {
    sessions = new RootPool({ storage: new BatchByBatch(naiveState()) }).sessions;
    await sessions.createSession({ sessionId: "s" });
  });

  it("are stored batch by batch, each with its own answer", async () => {
    const outcomes = await Promise.allSettled([
      sessions.appendMessages("s", messages("a")),
      sessions.appendMessages("s", messages("b", "c")),
      sessions.appendMessages("s", [message("a", { role: "other" })]),
      sessions.appendMessages("s", messages("d"), { expectedPosition: 3 }),
    ]);
    expect(outcomes).toMatchObject([
      { value: { messageIds: ["a"], position: 0 } },
      { value: { messageIds: ["b", "c"], position: 1 } },
      { reason: { code: "already_exists" } },
      { value: { messageIds: ["d"], position: 3 } },
    ]);
  });
});

describe("appends to a provider that implements only logMessage", () => {
  let provider: MessageByMessage;
  let sessions: SessionPool;

  beforeEach(() => {
    provider = new MessageByMessage();
    sessions = new RootPool({ storage: provider }).sessions;
  });

  it("are logged one by one, with their session and options", async () => {
    const results = await Promise.all([
      sessions.appendMessage("s", message("a")),
      sessions.appendMessage("s", message("b"), { expectedPosition: 1 }),
    ]);
    expect(results).toEqual(["a", "b"]);
    expect(provider.logged).toMatchObject([
      { ...message("a"), sessionId: "s" },
      { ...message("b"), sessionId: "s", expectedPosition: 1 },
    ]);
  });

  it("do not affect each other when one fails", async () => {
    const outcomes = await Promise.allSettled(["a", "bad", "b"].map((id) => sessions.appendMessage("s", message(id))));
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });

  it("are refused for a batch of several messages, which logMessage cannot store as all or nothing", async () => {
    const error = await refusal(sessions.appendMessages("s", messages("a", "b")), "unimplemented");
    expect(error.message).toContain("MessageByMessage");
    expect(provider.logged).toEqual([]);
  });
});

describe("a turn that may have to create its session", () => {
  const LATER_MS = Date.now() + 1_000_000;
  const { signal } = new AbortController();
  const missing: TurnOutcome = { ok: false, error: new DomainError("not_found", "no session") };

  /** Stores a turn whose appends all have this outcome. Resolves to the call of each createSession. */
  async function creations(options: readonly NonNullable<QueuedAppend["options"]>[], outcome?: TurnOutcome) {
    const calls: unknown[] = [];
    const storage = {
      logTurn: async (_: string, appends: readonly QueuedAppend[]) => (outcome ? appends.map(() => outcome) : []),
      createSession: async (_: unknown, call: unknown) => void calls.push(call),
    };
    const appends = options.map((one) => ({ messages: [message("a")], options: { createSession: true, ...one } }));
    await storeTurn(storage as unknown as StorageManager, "s", appends);
    return calls;
  }

  it.each([
    ["the call of the only append", [{ deadlineMs: LATER_MS, signal }], { deadlineMs: LATER_MS, signal }],
    [
      "the latest deadline of several",
      [{ deadlineMs: LATER_MS, signal }, { deadlineMs: LATER_MS + 1 }],
      { deadlineMs: LATER_MS + 1 },
    ],
    ["no deadline when one of several has none", [{ deadlineMs: LATER_MS }, { signal }], {}],
  ])("creates it within %s", async (_, options, call) => {
    expect(await creations(options, missing)).toEqual([call]);
  });

  it.each([
    ["the store is unavailable", { ok: false, error: new DomainError("unavailable", "no store") }],
    ["another program's error says not_found", { ok: false, error: Object.assign(new Error(), { code: "not_found" }) }],
    ["the provider gives no outcome", undefined],
  ] satisfies [string, TurnOutcome | undefined][])("does not create it when %s", async (_, outcome) => {
    expect(await creations([{}], outcome)).toEqual([]);
  });
});

it("an append that fails as part of a batch is not tried once more as a single message", async () => {
  const provider = new MessageByMessage();
  provider.logMessages = async () => {
    throw new DomainError("unavailable", "no store");
  };
  const { sessions } = new RootPool({ storage: provider });
  await refusal(sessions.appendMessages("s", messages("a")), "unavailable");
  expect(provider.logged).toEqual([]);
});
