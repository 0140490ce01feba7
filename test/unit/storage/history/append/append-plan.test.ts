import { describe, expect, it } from "vitest";
import { ERASED_BODY } from "../../../../../src/domain/erasure.js";
import { MessageBody } from "../../../../../src/domain/message-body.js";
import type { Job, MessageWithId } from "../../../../../src/storage/history/append/append-job.js";
import {
  answerInserted,
  endAfter,
  idsToLookUp,
  type Known,
  type OlderPlan,
  planAppend,
  Refusal,
  wholePlans,
} from "../../../../../src/storage/history/append/append-plan.js";
import type { Head } from "../../../../../src/storage/history/heads.js";
import type { DraftRef, Entry, Segment, SessionRecord } from "../../../../../src/storage/history/log-store.js";
import type { Located } from "../../../../../src/storage/history/read/lookup.js";
import type { Unplaced } from "../../../../../src/storage/history/write/side-logs.js";

const NOW = 1_000;
const NONE: Known = new Map();

function headOf(
  count: number,
  lastTimestampMicros: number | null,
  segments: readonly Segment[] = [],
  drafts: readonly Partial<DraftRef>[] = [],
): Head {
  const record = { sessionId: "s", log: "u.1", segments, drafts } as unknown as SessionRecord;
  return { record, seq: count, state: "open", count, lastTimestampMicros, lastId: null, atMs: 0 };
}

interface Sent {
  readonly id: string;
  readonly timestampMicros?: number;
  readonly text?: string;
  readonly isMade?: boolean;
}

function jobOf(sent: readonly Sent[], expectedPosition?: number): Job {
  const given = sent.map(({ id, isMade = false, timestampMicros, text = id }) => ({
    id,
    isMade,
    message: { role: "user", parts: [{ id: "", type: "text", text }], timestampMicros },
  }));
  return { index: 0, given, expectedPosition, call: undefined };
}

function knownAt(position: number, { id, timestampMicros = 0, text = id }: Sent): Known {
  const body = MessageBody.of({ parts: [{ id: "", type: "text", text }] });
  const entry = { id, role: "user", body, timestampMicros } as Entry;
  return new Map([[id, { entry, position }]]);
}

describe("idsToLookUp", () => {
  const inSegments = headOf(3, 30, [{ log: "u.0", first: 1, last: 1 }]);

  it("leaves a single message at the end of a session without segments to the unique key", () => {
    expect(idsToLookUp(headOf(3, 30), jobOf([{ id: "a" }], 3))).toEqual([]);
    expect(idsToLookUp(headOf(3, 30), jobOf([{ id: "a" }]))).toEqual([]);
    expect(idsToLookUp(headOf(3, 30), jobOf([{ id: "a", timestampMicros: 30 }]))).toEqual([]);
  });

  it("includes ids chosen by the caller when there are segments", () => {
    expect(idsToLookUp(inSegments, jobOf([{ id: "a" }]))).toEqual(["a"]);
    expect(idsToLookUp(inSegments, jobOf([{ id: "a", isMade: true }]))).toEqual([]);
  });

  it("includes the ids of several messages", () => {
    const several = jobOf([{ id: "a" }, { id: "b", isMade: true }, { id: "c" }]);
    expect(idsToLookUp(headOf(0, null), several)).toEqual(["a", "c"]);
  });

  it("includes the id of a message that is older than the last one or expected at another position", () => {
    expect(idsToLookUp(headOf(3, 30), jobOf([{ id: "a", timestampMicros: 29 }]))).toEqual(["a"]);
    expect(idsToLookUp(headOf(3, 30), jobOf([{ id: "a" }], 2))).toEqual(["a"]);
  });
});

describe("planAppend", () => {
  it("writes at the end, with the current time or the last timestamp, whichever is later", () => {
    const plan = planAppend(headOf(3, 30), NONE, jobOf([{ id: "a" }], 3), NOW);
    const entries = [expect.objectContaining({ log: "u.1", seq: 4, id: "a", timestampMicros: NOW, remaining: 0 })];
    expect(plan).toEqual({ kind: "write", entries, result: { messageIds: ["a"], position: 3 } });
    const ahead = planAppend(headOf(3, 2 * NOW), NONE, jobOf([{ id: "a" }]), NOW);
    expect(ahead).toMatchObject({ entries: [{ timestampMicros: 2 * NOW }] });
  });

  it("records for each message how many of its batch follow", () => {
    const plan = planAppend(headOf(0, null), NONE, jobOf([{ id: "a" }, { id: "b" }]), NOW);
    expect(plan).toMatchObject({ kind: "write", entries: [{ remaining: 1 }, { remaining: 0 }] });
  });

  it("answers a retry with the place of the first call, whatever position is expected", () => {
    const plan = planAppend(headOf(3, 30), knownAt(1, { id: "a" }), jobOf([{ id: "a" }], 3), NOW);
    expect(plan).toEqual({ kind: "known", result: { messageIds: ["a"], position: 1 } });
  });

  it("writes the rest of a batch that is known in part", () => {
    const plan = planAppend(headOf(3, 30), knownAt(2, { id: "a" }), jobOf([{ id: "a" }, { id: "b" }], 2), NOW);
    expect(plan).toMatchObject({ kind: "write", entries: [{ id: "b", seq: 4 }], result: { position: 2 } });
  });

  it("refuses a known id with other content", () => {
    const plan = planAppend(headOf(3, 30), knownAt(1, { id: "a", text: "other" }), jobOf([{ id: "a" }]), NOW);
    expect(plan).toMatchObject({ kind: "refuse", error: { code: "already_exists" } });
  });

  it("refuses another position than the expected one", () => {
    const plan = planAppend(headOf(3, 30), NONE, jobOf([{ id: "a" }], 2), NOW);
    expect(plan).toMatchObject({ kind: "refuse", error: { code: "aborted" } });
  });

  it("recognises messages that are older than the last one or than the one before them in the batch", () => {
    const older = planAppend(headOf(3, 30), NONE, jobOf([{ id: "a", timestampMicros: 29 }]), NOW);
    expect(older).toMatchObject({ kind: "older", fresh: [{ id: "a" }], positions: new Map() });
    const unsorted = [
      { id: "a", timestampMicros: 50 },
      { id: "b", timestampMicros: 40 },
    ];
    expect(planAppend(headOf(3, 30), NONE, jobOf(unsorted), NOW)).toMatchObject({ kind: "older" });
  });
});

describe("planAppend with timestamps", () => {
  it("stamps a message no earlier than the one before it in its batch", () => {
    const batch = jobOf([{ id: "a", timestampMicros: 50 }, { id: "b" }]);
    const plan = planAppend(headOf(3, 30), NONE, batch, 40);
    expect(plan).toMatchObject({ kind: "write", entries: [{ timestampMicros: 50 }, { timestampMicros: 50 }] });
  });

  it("refuses a known id with another timestamp, and accepts one without a timestamp as a retry", () => {
    const known = knownAt(1, { id: "a", timestampMicros: 5 });
    const other = planAppend(headOf(3, 30), known, jobOf([{ id: "a", timestampMicros: 6 }]), NOW);
    expect(other).toMatchObject({ kind: "refuse", error: { code: "already_exists" } });
    expect(planAppend(headOf(3, 30), known, jobOf([{ id: "a" }]), NOW)).toMatchObject({ kind: "known" });
  });
});

describe("planAppend in a session with drafts", () => {
  const open = { log: "u.d", messageId: "d" };
  const other = { log: "u.e", messageId: "e" };
  const ended = { log: "u.f", messageId: "f", end: "finished" } as const;
  const head = headOf(3, 30, [], [open, other, ended]);
  const fromDraft = (id: string, log: string): Job => {
    const [renamed] = jobOf([{ id: "renamed", isMade: true }]).given;
    return { ...jobOf([{ id }]), draft: { log, renamed: renamed as MessageWithId } };
  };

  it("refuses a message with the id of an open draft, and no other", () => {
    const refused = planAppend(head, NONE, jobOf([{ id: "a" }, { id: "e" }]), NOW);
    expect(refused).toMatchObject({ kind: "refuse", error: { code: "already_exists" } });
    for (const id of ["a", "f"]) expect(planAppend(head, NONE, jobOf([{ id }]), NOW)).toMatchObject({ kind: "write" });
  });

  it("considers the message of a draft as appended when the history has it with erased content", () => {
    const { entry } = knownAt(1, { id: "d" }).get("d") as Located;
    const erased: Known = new Map([["d", { entry: { ...entry, body: ERASED_BODY }, position: 1 }]]);
    const plan = planAppend(head, erased, fromDraft("d", "u.d"), NOW);
    expect(plan).toEqual({ kind: "known", result: { messageIds: ["d"], position: 1 } });
  });

  it("appends the message of a draft that is open", () => {
    expect(planAppend(head, NONE, fromDraft("d", "u.d"), NOW)).toMatchObject({ kind: "write", entries: [{ id: "d" }] });
  });

  it.each([
    ["has ended", head],
    ["the record no longer names", headOf(3, 30)],
  ])("refuses the message of a draft that %s", (_what, without) => {
    const plan = planAppend(without, NONE, fromDraft("f", "u.f"), NOW);
    expect(plan).toMatchObject({ kind: "refuse", error: { code: "failed_precondition" } });
  });
});

describe("answerInserted", () => {
  const plan = (messageIds: readonly string[], known: Readonly<Record<string, number>> = {}): OlderPlan => ({
    ...{ kind: "older", messageIds, fresh: [] },
    positions: new Map(Object.entries(known)),
  });
  const unplaced = (...ids: string[]) => ids.map((id) => ({ id })) as unknown as readonly Unplaced[];

  it("moves the position of a known message by the messages that are placed before it", () => {
    const batch = jobOf([{ id: "a" }, { id: "b" }]);
    const known = plan(["a", "b"], { a: 2 });
    expect(answerInserted(batch, known, unplaced("b"), [1])).toEqual({ messageIds: ["a", "b"], position: 3 });
    expect(answerInserted(batch, known, unplaced("b"), [3])).toEqual({ messageIds: ["a", "b"], position: 2 });
    // The first one moves the known message to position 3, where the second one is then placed before it.
    expect(answerInserted(batch, known, unplaced("b", "c"), [1, 3])).toMatchObject({ position: 4 });
  });

  it("refuses a position other than the expected one", () => {
    expect(answerInserted(jobOf([{ id: "b" }], 1), plan(["b"]), unplaced("b"), [1])).toMatchObject({ position: 1 });
    expect(() => answerInserted(jobOf([{ id: "b" }], 2), plan(["b"]), unplaced("b"), [1])).toThrow(Refusal);
  });

  it("compares the place of each message, known or not", () => {
    const ids = ["a", "b"];
    const batch = jobOf([{ id: "a" }, { id: "b" }], 2);
    expect(answerInserted(batch, plan(ids, { a: 2 }), unplaced("b"), [3])).toMatchObject({ position: 2 });
    expect(answerInserted(batch, plan(ids, { b: 2 }), unplaced("a"), [2])).toMatchObject({ position: 2 });
    expect(() => answerInserted(batch, plan(ids, { a: 2 }), unplaced("b"), [1])).toThrow(Refusal);
    expect(() => answerInserted(batch, plan(ids, { b: 3 }), unplaced("a"), [2])).toThrow(Refusal);
  });
});

it("endAfter returns the same head when there are no further entries", () => {
  const head = headOf(3, 30);
  expect(endAfter(head, [])).toBe(head);
});

describe("wholePlans", () => {
  it("counts the plans whose entries were all stored", () => {
    const plans = [[{ id: "a" }, { id: "b" }], [{ id: "c" }]].map((sent) =>
      planAppend(headOf(0, null), NONE, jobOf(sent), NOW),
    );
    expect([0, 1, 2, 3].map((stored) => wholePlans(plans, stored))).toEqual([0, 0, 1, 2]);
  });
});
