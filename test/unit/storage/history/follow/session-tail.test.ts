import { setImmediate } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { DomainError, notFound } from "../../../../../src/domain/errors.js";
import { type DraftStep, toEntry } from "../../../../../src/storage/history/drafts/draft-entry.js";
import { SessionTail } from "../../../../../src/storage/history/follow/session-tail.js";
import type { Head, HistoryContext } from "../../../../../src/storage/history/heads.js";
import type { EditMark, Entry } from "../../../../../src/storage/history/log-store.js";
import type { Reader } from "../../../../../src/storage/history/read/reader.js";

const POLL_MS = { first: 100, most: 200 };

let uid: string;
let revision: number;
let count: number;
let edits: readonly EditMark[];
/** The error that reads of the session and its drafts fail with. */
let failure: Error | null;
/** The open drafts of the session, and the entries of the log of the only one. */
let drafts: readonly { readonly log: string; readonly messageId: string }[];
let draftEntries: Entry[];
/** The number of reads of the session, and of logs of drafts. */
let looks: number;
let draftReads: number;
/** Holds each look at the session after the read of its record. */
let holdLook: Promise<void> | null;
/** Holds every read of messages. */
let holdMessages: Promise<void> | null;
/** The pauses that have not ended, each with the function that ends it. */
let pauses: { readonly ms: number; readonly end: () => void }[];
let anomalies: string[];
let unused: number;
let clockMs: number;
let tail: SessionTail;

function tailThat(isTold: boolean): SessionTail {
  // Each tail has a list of its own, because the tail of an earlier test may still end a pause.
  const own = pauses;
  const options = {
    pollMs: POLL_MS,
    maxFollowerBacklog: 2,
    chunk: 2,
    maxEdits: 8,
    random: () => 0.5,
    clockMs: () => clockMs,
    onAnomaly: (text: string) => anomalies.push(text),
    pause: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => {
        const pause = { ms, end: () => resolve() };
        own.push(pause);
        signal?.addEventListener("abort", pause.end);
      }).finally(() => own.shift()),
  };
  const need = async () => {
    looks++;
    if (failure) throw failure;
    const head = { record: { uid, revision, edits, drafts }, count } as unknown as Head;
    await holdLook;
    return head;
  };
  const store = {
    async readRange(_log: string, first: number) {
      draftReads++;
      if (failure) throw failure;
      return { entries: draftEntries.filter(({ seq }) => seq >= first), cut: false };
    },
  };
  const reader = {
    messagesAt: async (_: Head, from: number, to: number) => {
      await holdMessages;
      return Array.from({ length: to - from }, (_, i) => ({ id: `m${from + i}`, parts: [] }));
    },
  };
  const context = { options: { ...options, limits: {} }, need, store } as unknown as HistoryContext;
  return new SessionTail(context, reader as unknown as Reader, "s", isTold, () => unused++);
}

/** Lets all work run that waits only for the event loop. */
async function settle(): Promise<void> {
  for (let i = 0; i < 10; i++) await setImmediate();
}

beforeEach(() => {
  uid = "u1";
  revision = 1;
  count = 1;
  edits = [];
  failure = null;
  drafts = [];
  draftEntries = [];
  looks = 0;
  draftReads = 0;
  holdLook = null;
  holdMessages = null;
  pauses = [];
  anomalies = [];
  unused = 0;
  clockMs = 0;
  tail = tailThat(false);
});

describe("a tail", () => {
  it("starts at the end of the history, and reports what comes after it", async () => {
    tail.hold();
    await tail.refresh();
    const queue = tail.attach();
    count = 3;
    await tail.refresh();
    const at = (position: number) => ({ sessionUid: "u1", revision: 1, position });
    expect([await queue.next(1), await queue.next(1)]).toEqual([
      { kind: "appended", message: { id: "m1", parts: [] }, at: at(2) },
      { kind: "appended", message: { id: "m2", parts: [] }, at: at(3) },
    ]);
    expect(tail.reached()).toMatchObject({ head: { count: 3 }, at: at(3) });
  });

  it("reports how many messages an edit has kept", async () => {
    count = 5;
    tail.hold();
    await tail.refresh();
    const queue = tail.attach();
    [count, revision, edits] = [3, 2, [{ revision: 2, kept: 2 }]];
    await tail.refresh();
    expect([await queue.next(1), await queue.next(1)]).toMatchObject([
      { kind: "truncated", messageCount: 2, at: { revision: 2, position: 2 } },
      { kind: "appended", message: { id: "m2" }, at: { revision: 2, position: 3 } },
    ]);
  });

  it("polls less and less often while nothing happens, and often again after an append or an edit", async () => {
    tail.hold();
    await tail.refresh();
    const slept = async () => {
      await settle();
      const [pause] = pauses;
      pause?.end();
      return pause?.ms;
    };
    expect([await slept(), await slept(), await slept(), await slept()]).toEqual([100, 150, 200, 200]);
    await settle();
    count = 2;
    expect([await slept(), await slept(), await slept()]).toEqual([200, 100, 150]);
    await settle();
    revision = 2;
    expect([await slept(), await slept()]).toEqual([200, 100]);
  });

  it("polls every five seconds when the store reports changes, and at once on a change of its session", async () => {
    tail = tailThat(true);
    tail.hold();
    await tail.refresh();
    const queue = tail.attach();
    await settle();
    expect(pauses.map(({ ms }) => ms)).toEqual([5000]);
    count = 2;
    tail.wakeIf("u2");
    await settle();
    expect(tail.reached().at.position).toBe(1);
    tail.wakeIf("u1");
    await settle();
    expect(tail.reached().at.position).toBe(2);
    expect(await queue.next(1)).toMatchObject({ kind: "appended" });
    expect(pauses.map(({ ms }) => ms)).toEqual([5000]);
  });

  it("ends a follower with more waiting events than allowed, and continues for the others", async () => {
    tail.hold();
    await tail.refresh();
    const [slow, quick] = [tail.attach(), tail.attach()];
    count = 3;
    await tail.refresh();
    for (let i = 0; i < 2; i++) expect(await quick.next(1)).toMatchObject({ kind: "appended" });
    count = 4;
    await tail.refresh();
    await expect(slow.next(1)).rejects.toMatchObject({ code: "resource_exhausted" });
    expect(await quick.next(1)).toMatchObject({ message: { id: "m3" } });
  });

  it("reports nothing more to a follower that has gone", async () => {
    tail.hold();
    await tail.refresh();
    const queue = tail.attach();
    queue.detach();
    count = 2;
    await tail.refresh();
    const waiting = queue.next(7);
    await settle();
    pauses.find(({ ms }) => ms === 7)?.end();
    expect(await waiting).toBeNull();
  });

  it("stops when the last follower releases it, and counts each release once", async () => {
    const holds = [tail.hold(), tail.hold()];
    await tail.refresh();
    await settle();
    holds[0]?.release();
    holds[0]?.release();
    await settle();
    expect([unused, pauses.length]).toEqual([0, 1]);
    holds[1]?.release();
    await settle();
    expect([unused, pauses.length]).toEqual([1, 0]);
    tail.hold();
    expect(await tail.refresh()).toMatchObject({ count: 1 });
  });

  it.each([
    ["is deleted", () => (failure = notFound("Session", "s"))],
    ["was recreated", () => (uid = "u2")],
  ])("ends all followers when the session %s", async (_, change) => {
    tail.hold();
    await tail.refresh();
    const queue = tail.attach();
    change();
    await expect(tail.refresh()).rejects.toMatchObject({ code: "not_found" });
    await expect(queue.next(1)).rejects.toMatchObject({ code: "not_found" });
    await expect(tail.refresh()).rejects.toMatchObject({ code: "not_found" });
    await expect(tail.attach().next(1)).rejects.toMatchObject({ code: "not_found" });
    expect([unused, anomalies]).toEqual([1, []]);
  });

  it("continues after any other failure, and logs it", async () => {
    tail.hold();
    await tail.refresh();
    const queue = tail.attach();
    failure = new DomainError("unavailable", "The store has gone");
    await expect(tail.refresh()).rejects.toBe(failure);
    expect(anomalies).toEqual(['Session "s" cannot be followed now']);
    failure = null;
    count = 2;
    await tail.refresh();
    expect(await queue.next(1)).toMatchObject({ kind: "appended" });
  });

  it("keeps the first error that ends it", async () => {
    tail.hold();
    await tail.refresh();
    const first = new DomainError("unavailable", "The service is stopping");
    tail.end(first);
    tail.end(new DomainError("internal", "Another"));
    await expect(tail.refresh()).rejects.toBe(first);
  });

  it("has no place before its first read", () => {
    expect(() => tail.reached()).toThrow(notFound("Session", "s"));
  });
});

describe("a tail that is woken", () => {
  /** Wakes the tail, and holds the look that follows until the returned function is called. */
  const holdNextLook = async (): Promise<() => void> => {
    tail.hold();
    await tail.refresh();
    await settle();
    let goOn = () => {};
    holdLook = new Promise((resolve) => {
      goOn = resolve;
    });
    tail.wake();
    await settle();
    return goOn;
  };

  it("while it reads the session, reads it once more before it sleeps", async () => {
    const goOn = await holdNextLook();
    count = 2;
    tail.wake();
    goOn();
    await settle();
    expect([tail.reached().at.position, looks, pauses.length]).toEqual([2, 3, 1]);
  });

  it("for an unknown draft while it reads the session, reads it once more before it sleeps", async () => {
    const goOn = await holdNextLook();
    tail.wakeForDraft("u1.e");
    goOn();
    await settle();
    expect(looks).toBe(3);
  });

  it("by a reported change before its first read ignores that", () => {
    expect(() => tail.wakeIf("u1")).not.toThrow();
  });
});

describe("a tail of a session with a draft", () => {
  const write = (step: DraftStep) => {
    const place = { log: "u1.d", seq: draftEntries.length + 1, sessionId: "s", timestampMicros: 1 };
    draftEntries.push(toEntry(step, place));
  };
  const extend = () => write({ kind: "extended", deltas: [{ kind: "append_text", partId: "", text: "a" }] });

  beforeEach(async () => {
    drafts = [{ log: "u1.d", messageId: "d" }];
    write({ kind: "started", messageId: "d", role: "assistant", parts: [] });
    tail.hold();
    await tail.refresh();
    await settle();
  });

  it("reads only the draft when it was extended, and the session again when the draft has ended", async () => {
    const queue = tail.attach();
    looks = 0;
    draftReads = 0;
    extend();
    tail.wakeForDraft("u1.d");
    await settle();
    expect(await queue.next(1)).toMatchObject({ kind: "draft_extended", version: 2 });
    expect([looks, draftReads]).toEqual([0, 1]);
    write({ kind: "finished", deltas: [] });
    tail.wakeForDraft("u1.d");
    await settle();
    expect(looks).toBe(1);
  });

  it("polls the session when that is due, however often the draft is extended", async () => {
    looks = 0;
    for (let i = 0; i < 3; i++) {
      clockMs += 40;
      extend();
      tail.wakeForDraft("u1.d");
      await settle();
    }
    expect([looks, pauses.map(({ ms }) => ms)]).toEqual([1, [100]]);
  });

  it("sleeps only until it must poll the session, even when the draft is extended meanwhile", async () => {
    clockMs += 40;
    extend();
    tail.wakeForDraft("u1.d");
    await settle();
    expect(pauses.map(({ ms }) => ms)).toEqual([60]);
  });

  it("reads the session when an unknown draft was extended", async () => {
    looks = 0;
    tail.wakeForDraft("u1.e");
    await settle();
    expect(looks).toBe(1);
  });

  it("reads the session at once when a caller waits for that", async () => {
    looks = 0;
    tail.wakeForDraft("u1.d");
    await tail.refresh();
    expect(looks).toBe(1);
  });

  it("before it sleeps, reads a draft that was extended while it read messages", async () => {
    const queue = tail.attach();
    let goOn = () => {};
    holdMessages = new Promise((resolve) => {
      goOn = resolve;
    });
    count = 2;
    tail.wake();
    await settle();
    extend();
    tail.wakeForDraft("u1.d");
    goOn();
    await settle();
    expect([await queue.next(1), await queue.next(1)]).toMatchObject([
      { kind: "appended" },
      { kind: "draft_extended", version: 2 },
    ]);
  });

  it("reads the session when it could not read a draft, and reports the failure", async () => {
    const queue = tail.attach();
    looks = 0;
    failure = new DomainError("unavailable", "The store has gone");
    extend();
    tail.wakeForDraft("u1.d");
    await settle();
    expect(anomalies).toEqual(Array(2).fill('Session "s" cannot be followed now'));
    expect(looks).toBe(1);
    failure = null;
    tail.wake();
    await settle();
    expect(await queue.next(1)).toMatchObject({ kind: "draft_extended", version: 2 });
  });

  it("polls often again after the draft has grown", async () => {
    const slept = async () => {
      await settle();
      const [pause] = pauses;
      pause?.end();
      return pause?.ms;
    };
    for (let i = 0; i < 3; i++) await slept();
    await settle();
    extend();
    expect([await slept(), await slept(), await slept()]).toEqual([200, 100, 150]);
  });
});
