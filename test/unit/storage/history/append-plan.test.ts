import { describe, expect, it } from "vitest";
import { MessageBody } from "../../../../src/domain/message-body.js";
import type { Job } from "../../../../src/storage/history/append/append-job.js";
import { idsToLookUp, type Known, planAppend, wholePlans } from "../../../../src/storage/history/append/append-plan.js";
import type { Head } from "../../../../src/storage/history/heads.js";
import type { Entry, Segment, SessionRecord } from "../../../../src/storage/history/log-store.js";

const NOW = 1_000;
const NONE: Known = new Map();

function headOf(count: number, lastTimestampMicros: number | null, segments: readonly Segment[] = []): Head {
  const record = { sessionId: "s", log: "u.1", segments, drafts: [] } as unknown as SessionRecord;
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

  it("leaves one message at the end of a session without segments to the unique key", () => {
    expect(idsToLookUp(headOf(3, 30), jobOf([{ id: "a" }], 3))).toEqual([]);
  });

  it("includes ids chosen by the caller when there are segments", () => {
    expect(idsToLookUp(inSegments, jobOf([{ id: "a" }]))).toEqual(["a"]);
    expect(idsToLookUp(inSegments, jobOf([{ id: "a", isMade: true }]))).toEqual([]);
  });

  it("includes the ids of several messages", () => {
    const several = jobOf([{ id: "a" }, { id: "b", isMade: true }, { id: "c" }]);
    expect(idsToLookUp(headOf(0, null), several)).toEqual(["a", "c"]);
  });

  it("includes the id of a message that is older than the last or expected elsewhere", () => {
    expect(idsToLookUp(headOf(3, 30), jobOf([{ id: "a", timestampMicros: 29 }]))).toEqual(["a"]);
    expect(idsToLookUp(headOf(3, 30), jobOf([{ id: "a" }], 2))).toEqual(["a"]);
  });
});

describe("planAppend", () => {
  it("writes at the end, with the current time or the last timestamp, whichever is later", () => {
    const plan = planAppend(headOf(3, 30), NONE, jobOf([{ id: "a" }], 3), NOW);
    const entries = [expect.objectContaining({ log: "u.1", seq: 4, id: "a", timestampMicros: NOW, owed: 0 })];
    expect(plan).toEqual({ kind: "write", entries, result: { messageIds: ["a"], position: 3 } });
    const ahead = planAppend(headOf(3, 2 * NOW), NONE, jobOf([{ id: "a" }]), NOW);
    expect(ahead).toMatchObject({ entries: [{ timestampMicros: 2 * NOW }] });
  });

  it("records for each message how many of its batch follow", () => {
    const plan = planAppend(headOf(0, null), NONE, jobOf([{ id: "a" }, { id: "b" }]), NOW);
    expect(plan).toMatchObject({ kind: "write", entries: [{ owed: 1 }, { owed: 0 }] });
  });

  it("answers a retry with the place of the first call, whatever position is expected", () => {
    const plan = planAppend(headOf(3, 30), knownAt(1, { id: "a" }), jobOf([{ id: "a" }], 3), NOW);
    expect(plan).toEqual({ kind: "known", result: { messageIds: ["a"], position: 1 } });
  });

  it("writes the rest of a batch that is known in part, whatever position is expected", () => {
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

  it("finds messages that are older than the last one, or than the one before them", () => {
    const older = planAppend(headOf(3, 30), NONE, jobOf([{ id: "a", timestampMicros: 29 }]), NOW);
    expect(older).toMatchObject({ kind: "older", fresh: [{ id: "a" }], first: undefined });
    const unsorted = [
      { id: "a", timestampMicros: 50 },
      { id: "b", timestampMicros: 40 },
    ];
    expect(planAppend(headOf(3, 30), NONE, jobOf(unsorted), NOW)).toMatchObject({ kind: "older" });
  });
});

describe("wholePlans", () => {
  it("counts the plans whose entries were all stored", () => {
    const plans = [[{ id: "a" }, { id: "b" }], [{ id: "c" }]].map((sent) =>
      planAppend(headOf(0, null), NONE, jobOf(sent), NOW),
    );
    expect([0, 1, 2, 3].map((stored) => wholePlans(plans, stored))).toEqual([0, 0, 1, 2]);
  });
});
