import { describe, expect, it } from "vitest";
import type { Call } from "../../../src/domain/call.js";
import type { FeedEvent, FeedFilter } from "../../../src/domain/feed.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import { message, messages, refusal, SECOND, sessionWith } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

const QUICK = { heartbeatMs: 50, pollMs: { first: 5, most: 20 } };

/** A reader of the feed that notes the last that it was told of each session. */
class Reader {
  readonly got: FeedEvent[] = [];
  /** `revision:count` by session id, or `gone`. */
  readonly told = new Map<string, string>();
  readonly #events: AsyncIterator<FeedEvent>;
  readonly #stop: AbortController;
  at = "";

  constructor(events: AsyncIterable<FeedEvent>, stop: AbortController) {
    this.#events = events[Symbol.asyncIterator]();
    this.#stop = stop;
  }

  static async open(
    provider: StorageOperations,
    filter: FeedFilter = {},
    from?: string,
    call: Call = {},
  ): Promise<Reader> {
    const stop = new AbortController();
    const reader = new Reader(await provider.watchSessions(filter, from, { ...call, signal: stop.signal }), stop);
    expect((await reader.read()).kind).toBe("heartbeat");
    return reader;
  }

  async read(): Promise<FeedEvent> {
    const { value, done } = await this.#events.next();
    if (done) throw new Error("The events have ended");
    const event = value as FeedEvent;
    this.at = event.at;
    if (event.kind === "heartbeat") return event;
    this.got.push(event);
    if (event.kind === "deleted") this.told.set(event.sessionId, "gone");
    else this.told.set(event.session.sessionId, `${event.session.revision}:${event.session.messageCount}`);
    return event;
  }

  /** Reads until it was told this of a session. */
  async until(sessionId: string, told: string): Promise<void> {
    while (this.told.get(sessionId) !== told) await this.read();
  }

  async untilHeartbeat(): Promise<void> {
    while ((await this.read()).kind !== "heartbeat");
  }

  /** What was told since, as `kind id`. */
  kinds(): readonly string[] {
    return this.got.splice(0).map((event) => {
      if (event.kind === "heartbeat") return event.kind;
      return `${event.kind} ${event.kind === "deleted" ? event.sessionId : event.session.sessionId}`;
    });
  }

  close(): void {
    this.#stop.abort();
  }
}

export function describeSessionFeed(subject: StorageProviderSubject): void {
  /** The state of a session as readers are told it. */
  const stateOf = async (sessionId: string) => {
    const { revision, messageCount } = await subject.provider.getSession(sessionId);
    return `${revision}:${messageCount}`;
  };
  const quick = () => subject.open(QUICK);
  const skipped = () => subject.store !== undefined && subject.store().feed === undefined;

  describe("watchSessions", () => {
    it("tells what other processes create, change and delete, and the last state of each session", async (test) => {
      if (skipped()) return test.skip("the store has no feed");
      await sessionWith(subject.provider, "before", ["m1"]);
      const reader = await Reader.open(quick());
      // Without a message: the clock of the case stands still, and an append that came after a look would be told only
      // when it moves.
      await sessionWith(subject.provider, "s", []);
      await reader.until("s", await stateOf("s"));
      await subject.other.logMessages("s", messages("m1", "m2", "m3"));
      await subject.provider.updateSession("before", { title: "t" });
      await reader.until("before", await stateOf("before"));
      subject.nowMicros += 2 * SECOND;
      await reader.until("s", await stateOf("s"));
      await subject.other.truncateMessages("s", "m1");
      await reader.until("s", await stateOf("s"));
      await subject.provider.deleteSession("s");
      await reader.until("s", "gone");
      expect(
        reader.got.filter(({ kind }) => kind === "created").map((e) => "session" in e && e.session.sessionId),
      ).toContain("s");
      reader.close();
    });

    it("tells of a session that is brought back as of a new one", async (test) => {
      if (skipped() || subject.store?.().bin === undefined) return test.skip("the store has no feed or no bin");
      const keeping = subject.open({ undeleteMs: 86_400_000 });
      await sessionWith(keeping, "s", ["m1"]);
      const reader = await Reader.open(quick());
      await keeping.deleteSession("s");
      await reader.until("s", "gone");
      reader.kinds();
      await keeping.undeleteSession("s");
      await reader.until("s", await stateOf("s"));
      expect(reader.kinds()).toContain("created s");
      reader.close();
    });

    it("resumes after an event with everything since, also what was deleted and made again", async (test) => {
      if (skipped()) return test.skip("the store has no feed");
      for (const id of ["a", "b", "c"]) await sessionWith(subject.provider, id, ["m1"]);
      const first = await Reader.open(quick());
      subject.nowMicros += 2 * SECOND;
      await first.untilHeartbeat();
      await first.untilHeartbeat();
      const { at } = first;
      first.close();
      await subject.provider.deleteSession("a");
      await subject.other.deleteSession("b");
      await sessionWith(subject.provider, "b", []);
      await subject.other.updateSession("c", { labels: { k: "v" } });
      await sessionWith(subject.other, "d", ["m1"]);
      for (let i = 0; i < 2; i++) {
        const again = await Reader.open(quick(), {}, at);
        for (const id of ["b", "c", "d"]) await again.until(id, await stateOf(id));
        await again.until("a", "gone");
        const kinds = again.kinds();
        expect(kinds.indexOf("deleted b")).toBeGreaterThanOrEqual(0);
        expect(kinds.indexOf("deleted b")).toBeLessThan(kinds.indexOf("created b"));
        expect(kinds).toContain("created d");
        // A store with a clock of its own may not have settled it yet.
        expect(kinds.some((kind) => kind === "changed c" || kind === "created c")).toBe(true);
        again.close();
      }
    });

    it("tells a reader that resumes of appends that came right after the event", async (test) => {
      if (skipped()) return test.skip("the store has no feed");
      await sessionWith(subject.provider, "s", []);
      const first = await Reader.open(quick());
      await subject.provider.logMessages("s", messages("m1"));
      await subject.provider.updateSession("s", { title: "t" });
      await first.until("s", await stateOf("s"));
      const { at } = first;
      first.close();
      // This leaves the place of the session as it is.
      await subject.other.logMessages("s", messages("m2"));
      const again = await Reader.open(quick(), {}, at);
      await again.until("s", await stateOf("s"));
      again.close();
    });

    it("tells of the appends of a clock that was set back", async (test) => {
      if (skipped()) return test.skip("the store has no feed");
      await sessionWith(subject.provider, "s", []);
      const reader = await Reader.open(quick());
      subject.nowMicros -= 3600 * SECOND;
      for (const id of ["m1", "m2", "m3"]) {
        await subject.provider.logMessages("s", messages(id));
        await reader.until("s", await stateOf("s"));
      }
      reader.close();
    });

    it("filters by labels and owner, by what a session has and what it had", async (test) => {
      if (skipped()) return test.skip("the store has no feed");
      const create = (sessionId: string, owner: string, labels: Record<string, string>) =>
        subject.provider.createSession({ sessionId, owner, labels });
      const labeled = await Reader.open(quick(), { labels: ["k=v", "l=w"] });
      const owned = await Reader.open(quick(), { owner: "ada" });
      const unowned = await Reader.open(quick(), { owner: "" });
      await create("one", "ada", { k: "v" });
      await create("both", "bob", { k: "v", l: "w" });
      await create("none", "", {});
      await labeled.until("both", await stateOf("both"));
      await owned.until("one", await stateOf("one"));
      await unowned.until("none", await stateOf("none"));
      expect(labeled.kinds()).toEqual(["created both"]);
      expect(owned.kinds()).toEqual(["created one"]);
      expect(unowned.kinds()).toEqual(["created none"]);
      await subject.provider.updateSession("both", { labels: { k: "v" } });
      await subject.provider.updateSession("one", { owner: "bob", labels: { k: "v", l: "w" } });
      await labeled.until("both", await stateOf("both"));
      await labeled.until("one", await stateOf("one"));
      await owned.until("one", await stateOf("one"));
      await subject.provider.deleteSession("one");
      await subject.provider.deleteSession("both");
      await subject.provider.deleteSession("none");
      await labeled.until("one", "gone");
      await unowned.until("none", "gone");
      expect(labeled.told.get("both")).not.toBe("gone");
      for (const reader of [labeled, owned, unowned]) reader.close();
    });

    it("tells callers that are bound to an owner only of theirs, and takes back what they lose", async (test) => {
      if (skipped()) return test.skip("the store has no feed");
      const ada = { access: { owner: "ada" } };
      const reader = await Reader.open(quick(), {}, undefined, ada);
      const others = await Reader.open(quick(), { owner: "bob" }, undefined, ada);
      await subject.provider.createSession({ sessionId: "theirs", owner: "bob" });
      await subject.provider.createSession({ sessionId: "free" });
      await subject.provider.createSession({ sessionId: "hers", owner: "ada" });
      await subject.provider.createSession({ sessionId: "given", owner: "bob" });
      await subject.provider.updateSession("given", { owner: "ada" });
      await reader.until("hers", await stateOf("hers"));
      await reader.until("given", await stateOf("given"));
      await subject.provider.updateSession("hers", { owner: "bob" });
      await reader.until("hers", "gone");
      const at = reader.at;
      reader.close();
      await subject.provider.updateSession("given", { owner: "bob" });
      await subject.provider.deleteSession("theirs");
      await subject.provider.deleteSession("free");
      const again = await Reader.open(quick(), {}, at, ada);
      await again.until("given", "gone");
      await again.untilHeartbeat();
      for (const id of ["theirs", "free"]) expect([reader.told.has(id), again.told.has(id)]).toEqual([false, false]);
      await others.untilHeartbeat();
      expect(others.got).toEqual([]);
      again.close();
      others.close();
      const ticket = { access: { ticket: { sessionId: "s", uid: "u", generation: 0 } } };
      await refusal(subject.provider.watchSessions({}, undefined, ticket), "permission_denied");
    });

    it("tells of sessions that expire, without a sweep", async (test) => {
      if (skipped()) return test.skip("the store has no feed");
      await sessionWith(subject.provider, "s", ["m1"]);
      const reader = await Reader.open(quick());
      await subject.provider.updateSession("s", { expireTimeMicros: 1 });
      await reader.until("s", "gone");
      reader.close();
    });

    it("refuses tokens that are too old, of another feed, or none", async (test) => {
      if (skipped()) return test.skip("the store has no feed");
      const hour = { ...QUICK, feedRetentionMs: 3_600_000 };
      const reader = await Reader.open(subject.open(hour));
      const { at } = reader;
      reader.close();
      await sessionWith(subject.provider, "s", []);
      await subject.provider.deleteSession("s");
      for (const wrong of ["", "x", `${at}A`, at.slice(0, -4)]) {
        await refusal(subject.provider.watchSessions({}, wrong), "invalid_argument");
      }
      const other = `${at.startsWith("A") ? "B" : "A"}${at.slice(1)}`;
      await refusal(subject.provider.watchSessions({}, other), "failed_precondition");
      subject.nowMicros += 3_601 * SECOND;
      const late = subject.open(hour);
      if (await movesWith(subject)) await refusal(late.watchSessions({}, at), "failed_precondition");
      const patient = await Reader.open(quick(), {}, at);
      await patient.until("s", "gone");
      patient.close();
      await late.sweep();
      if (await movesWith(subject)) await refusal(quick().watchSessions({}, at), "failed_precondition");
    });

    it("goes on from the store for a reader that was too slow for a burst", async (test) => {
      if (skipped()) return test.skip("the store has no feed");
      const provider = subject.open({ ...QUICK, maxFollowerBacklog: 4 });
      const slow = await Reader.open(provider);
      const fast = await Reader.open(provider);
      const ids = Array.from({ length: 20 }, (_, i) => `s${i}`);
      for (const id of ids) await sessionWith(subject.other, id, ["m1"]);
      subject.nowMicros += 2 * SECOND;
      for (const id of ids) await fast.until(id, await stateOf(id));
      for (const id of ids) await slow.until(id, await stateOf(id));
      slow.close();
      fast.close();
    });

    it("ends a reader that takes nothing, and all with the provider", async (test) => {
      if (skipped()) return test.skip("the store has no feed");
      let clockMs = 0;
      const provider = subject.open({ ...QUICK, maxFollowerBacklog: 1, clockMs: () => clockMs });
      const stuck = await Reader.open(provider);
      const reading = await Reader.open(provider);
      for (const id of ["a", "b", "c"]) await sessionWith(subject.other, id, []);
      await reading.until("c", await stateOf("c"));
      clockMs = 31_000;
      await subject.other.logMessages("a", [message("m1")]);
      await sessionWith(subject.other, "d", []);
      await reading.until("d", await stateOf("d"));
      await expect(stuck.read()).rejects.toMatchObject({ code: "resource_exhausted" });
      await provider.close();
      await expect(reading.untilHeartbeat().then(() => reading.untilHeartbeat())).rejects.toMatchObject({
        code: "unavailable",
      });
      await refusal(provider.watchSessions({}, undefined), "unavailable");
    });
  });
}

/** Whether the clock of the case is that of the store. */
async function movesWith(subject: StorageProviderSubject): Promise<boolean> {
  const storeMs = await subject.store?.().timeMs();
  return storeMs !== undefined && Math.abs(storeMs - subject.nowMicros / 1000) < 1000;
}
