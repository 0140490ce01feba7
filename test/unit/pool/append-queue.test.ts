import { describe, expect, it } from "vitest";
import type { Limits } from "../../../src/domain/limits.js";
import { RootPool } from "../../../src/pool/root-pool.js";
import type { SessionPool } from "../../../src/pool/session-pool.js";
import type { TurnOutcome } from "../../../src/storage/storage-provider.js";
import { message, messages, numbered } from "../../contract/storage-provider/fixtures.js";
import { ENDINGS, MINUTE_MS } from "../../support/call-endings.js";
import { poll } from "../../support/poll.js";
import { GatedProvider } from "./gated-provider.js";

let provider: GatedProvider;
let sessions: SessionPool;
let held: Promise<string>;

/** A session whose turn is taken by an append of `first`, so that everything else waits. */
async function begin(limits: Partial<Limits> = {}): Promise<void> {
  provider = new GatedProvider();
  sessions = new RootPool({ storage: provider, limits }).sessions;
  await sessions.createSession({ sessionId: "s" });
  provider.shut();
  held = sessions.appendMessage("s", message("first"));
  await poll(() => provider.turns.length === 1, "the first append is being stored");
}

const ids = async () => (await sessions.getMessages("s")).map(({ id }) => id);

describe("appends to a session that is busy", () => {
  it("are stored in one call when the turn is free, each with its own answer", async () => {
    await begin();
    const waiting = [
      sessions.appendMessages("s", messages("a")),
      sessions.appendMessages("s", messages("b", "c")),
      sessions.appendMessages("s", [message("first", { role: "other" })]),
      sessions.appendMessages("s", messages("d"), { expectedPosition: 4 }),
    ];
    provider.open();
    expect(await Promise.allSettled(waiting)).toMatchObject([
      { value: { messageIds: ["a"], position: 1 } },
      { value: { messageIds: ["b", "c"], position: 2 } },
      { reason: { code: "already_exists" } },
      { value: { messageIds: ["d"], position: 4 } },
    ]);
    expect(provider.turns).toEqual([["first"], ["a", "b", "c", "first", "d"]]);
    expect(await ids()).toEqual(["first", "a", "b", "c", "d"]);
    expect(sessions.turnLock.size).toBe(0);
  });

  it("are split into writes of at most the batch's number of messages", async () => {
    await begin({ batchMessages: 3 });
    const waiting = [messages("a", "b"), messages("c"), messages("d", "e"), messages("f", "g")].map((batch) =>
      sessions.appendMessages("s", batch),
    );
    provider.open();
    await Promise.all(waiting);
    expect(provider.turns).toEqual([["first"], ["a", "b", "c"], ["d", "e"], ["f", "g"]]);
  });

  it("are split into writes of at most the batch's bytes, but at least one append", async () => {
    await begin({ batchBytes: 1200 });
    const sized = (id: string, bytes: number) =>
      message(id, { parts: [{ id: "", type: "text", text: "x".repeat(bytes) }] });
    const waiting = [sized("a", 500), sized("b", 500), sized("c", 500), sized("huge", 5000), sized("d", 10)].map(
      (one) => sessions.appendMessage("s", one),
    );
    provider.open();
    await Promise.all(waiting);
    expect(provider.turns).toEqual([["first"], ["a", "b"], ["c"], ["huge"], ["d"]]);
  });

  it("are still stored after all that were left for another write have been canceled", async () => {
    await begin({ batchMessages: 1 });
    const gone = new AbortController();
    const second = sessions.appendMessage("s", message("second"));
    const canceled = sessions.appendMessage("s", message("gone"), { signal: gone.signal });
    provider.open();
    provider.shut();
    await poll(() => provider.turns.length === 2, "the second append is being stored");
    gone.abort();
    await expect(canceled).rejects.toMatchObject({ code: "canceled" });
    provider.open();
    await second;
    const third = sessions.appendMessage("s", message("third"));
    await poll(() => provider.turns.length === 3, "the third append is being stored");
    await third;
    expect(await ids()).toEqual(["first", "second", "third"]);
  });

  it.each(ENDINGS)("are not sent when their call ends with %s while they wait", async (code, start) => {
    const { call, end } = start();
    await begin();
    const impatient = sessions.appendMessage("s", message("gone"), call);
    const patient = sessions.appendMessage("s", message("stays"), { deadlineMs: Date.now() + 2 * MINUTE_MS });
    end();
    await expect(impatient).rejects.toMatchObject({ code });
    provider.open();
    await patient;
    expect(provider.turns).toEqual([["first"], ["stays"]]);
  });

  it.each(ENDINGS)(
    "are answered with %s when their call ends while they are stored with others, which continue",
    async (code, start) => {
      const { call, end } = start();
      await begin();
      const patient = sessions.appendMessage("s", message("a"));
      const impatient = sessions.appendMessage("s", message("b"), call);
      const other = sessions.appendMessage("s", message("c"), { deadlineMs: Date.now() + 2 * MINUTE_MS });
      provider.open();
      provider.shut();
      await poll(() => provider.turns.length === 2, "the others are being stored");
      const waiting = sessions.appendMessage("s", message("d"));
      end();
      await expect(impatient).rejects.toMatchObject({ code });
      provider.open();
      expect(await Promise.all([patient, other, waiting])).toEqual(["a", "c", "d"]);
      expect(provider.turns).toEqual([["first"], ["a", "b", "c"], ["d"]]);
      expect(await ids()).toEqual(["first", "a", "b", "c", "d"]);
      expect(sessions.turnLock.size).toBe(0);
    },
  );

  it("leave nothing in the queue once all are answered", async () => {
    await begin();
    const gone = new AbortController();
    const appends = numbered(3).map((id) => sessions.appendMessage("s", message(id), { signal: gone.signal }));
    gone.abort();
    await Promise.all(appends.map((append) => expect(append).rejects.toMatchObject({ code: "canceled" })));
    provider.open();
    await held;
    await poll(() => sessions.turnLock.size === 0, "the lock is given up");
    expect(provider.turns).toEqual([["first"]]);
    await sessions.appendMessage("s", message("next"));
    expect(await ids()).toEqual(["first", "next"]);
  });

  it("let an edit that came between them have its turn in between", async () => {
    await begin({ batchMessages: 1 });
    const before = sessions.appendMessage("s", message("a"));
    const cut = sessions.truncateMessages("s", "first");
    const after = sessions.appendMessage("s", message("b"));
    provider.open();
    expect(await cut).toBe(1);
    await Promise.all([before, after]);
    expect(await ids()).toEqual(["first", "b"]);
  });

  it("do not hold up other sessions", async () => {
    await begin();
    await sessions.createSession({ sessionId: "t" });
    const copied = sessions.copyMessages("s", "t");
    expect(await copied).toBeNull();
    provider.open();
    await held;
  });
});

describe("a turn", () => {
  it("that fails as a whole fails each of its appends, and the next turn works", async () => {
    await begin();
    const waiting = messages("a", "b").map((one) => sessions.appendMessage("s", one));
    provider.logTurn = () => Promise.reject(new Error("The store has gone"));
    provider.open();
    await held;
    for (const append of waiting) await expect(append).rejects.toThrow("The store has gone");
    provider.logTurn = GatedProvider.prototype.logTurn;
    await sessions.appendMessage("s", message("c"));
    expect(await ids()).toEqual(["first", "c"]);
  });

  it("with too few outcomes from the provider is an internal error for the appends without one", async () => {
    await begin();
    provider.open();
    await held;
    provider.logTurn = async () => [];
    await expect(sessions.appendMessage("s", message("a"))).rejects.toMatchObject({ code: "internal" });
    expect(sessions.turnLock.size).toBe(0);
  });

  it.each([[{ messageIds: ["a"], position: 1 }], [{ ok: "yes" }], [null]])(
    "with %j as an outcome from the provider is an internal error",
    async (outcome) => {
      await begin();
      provider.open();
      await held;
      provider.logTurn = async () => [outcome as unknown as TurnOutcome];
      const append = sessions.appendMessage("s", message("a"));
      await expect(append).rejects.toThrow("The storage provider did not say whether an append was stored");
    },
  );
});
