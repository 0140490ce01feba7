import { beforeEach, describe, expect, it } from "vitest";
import { RootPool } from "../../../src/pool/root-pool.js";
import type { SessionPool } from "../../../src/pool/session-pool.js";
import {
  type LoggedMessage,
  type LogOptions,
  type LogResult,
  StorageProvider,
} from "../../../src/storage/storage-provider.js";
import { NaiveStorageProvider, naiveState } from "../../contract/model.js";
import { message, messages, refusal } from "../../contract/storage-provider/fixtures.js";

/** The spec's provider: it logs messages one by one. */
class MessageByMessage extends StorageProvider {
  readonly logged: (LoggedMessage & LogOptions)[] = [];

  override async logMessage(logged: LoggedMessage, options?: LogOptions): Promise<LogResult> {
    if (logged.id === "bad") throw new Error("bad");
    this.logged.push({ ...logged, ...options });
    return { messageIds: [logged.id ?? "made"], position: this.logged.length - 1 };
  }
}

/** A provider that knows batches and no turns. */
class BatchByBatch extends NaiveStorageProvider {
  override logTurn = StorageProvider.prototype.logTurn;
}

describe("appends to a provider that knows no turns", () => {
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

describe("appends to a provider that knows only logMessage", () => {
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

  it("of which one fails leave the others alone", async () => {
    const outcomes = await Promise.allSettled(["a", "bad", "b"].map((id) => sessions.appendMessage("s", message(id))));
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });

  it("are refused when they are several: one by one they would not be all or nothing", async () => {
    const error = await refusal(sessions.appendMessages("s", messages("a", "b")), "unimplemented");
    expect(error.message).toContain("MessageByMessage");
    expect(provider.logged).toEqual([]);
  });
});
