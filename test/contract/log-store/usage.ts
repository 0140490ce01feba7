import { describe, expect, it } from "vitest";
import { erasedBody } from "../../../src/domain/erasure.js";
import { MessageBody } from "../../../src/domain/message-body.js";
import type { Usage } from "../../../src/domain/usage.js";
import type { Entry, RunningUsage, Segment, UsageRow } from "../../../src/storage/history/log-store.js";
import { NOTHING_USED, plusEntry } from "../../../src/storage/history/running-usage.js";
import { entries, fill, ODD_TEXTS, own } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

/** The usage of the entry at a place; odd places have none. */
function usageAt(seq: number): Usage | undefined {
  if (seq % 2 === 1) return undefined;
  const times = { startTimeMicros: -seq, firstTokenTimeMicros: 2 ** 52 + seq, durationMicros: seq };
  return { model: `model "${seq}" é`, inputTokens: seq * 1000, cost: `0.${seq}`, currency: "USD", ...times };
}

/** Entries `first` to `last` of an empty log, with their sums. */
function used(log: string, first: number, last: number, originOf = (_seq: number) => "s"): Entry[] {
  let sums: RunningUsage = NOTHING_USED;
  return entries(log, first, last, (seq) => ({
    usage: usageAt(seq),
    originSessionId: originOf(seq),
    remaining: 0,
  })).map((entry) => {
    if (entry.body.usage === undefined) return entry;
    sums = plusEntry(sums, entry, entry.body.usage);
    return { ...entry, usageSums: sums };
  });
}

export function describeUsage(subject: LogStoreSubject): void {
  const store = async (log: string, some: readonly Entry[]) => {
    await own(subject.store, log);
    expect(await subject.store.append(log, some[0]?.seq ?? 1, some)).toBe(some.length);
    return some;
  };
  const rowOf = ({ log, seq, timestampMicros, originSessionId, body }: Entry): UsageRow => {
    return { log, seq, timestampMicros, originSessionId, usage: body.usage ?? {} };
  };
  const range = (log: string, first: number, last: number): Segment => ({ log, first, last });

  describe("readUsage", () => {
    it("reads the entries with usage, in the order of the ranges", async () => {
      const a = await store(
        "u.1",
        used("u.1", 1, 9, (seq) => ODD_TEXTS[seq] ?? "s"),
      );
      const b = await store("u.2", used("u.2", 1, 4));
      const ranges = [range("u.2", 3, 9), range("u.1", 3, 8), range("u.1", 9, 9), range("x.1", 1, 9)];
      const { rows, rest } = await subject.store.readUsage(ranges, 100);
      expect(rows).toEqual([b[3], a[3], a[5], a[7]].map((entry) => rowOf(entry as Entry)));
      expect(rest).toEqual([]);
    });

    it("stops at the limit and says what is left", async () => {
      await store("u.1", used("u.1", 1, 8));
      await store("u.2", used("u.2", 1, 4));
      const seen: string[] = [];
      let left: readonly Segment[] = [range("u.1", 1, 8), range("u.2", 1, 4)];
      for (let pages = 0; left.length > 0; pages++) {
        expect(pages).toBeLessThan(6);
        const { rows, rest } = await subject.store.readUsage(left, 2);
        expect(rows.length).toBeLessThanOrEqual(2);
        seen.push(...rows.map(({ log, seq }) => `${log} ${seq}`));
        left = rest;
      }
      expect(seen).toEqual(["u.1 2", "u.1 4", "u.1 6", "u.1 8", "u.2 2", "u.2 4"]);
      expect((await subject.store.readUsage([range("u.1", 1, 8)], 1)).rest).toEqual([range("u.1", 3, 8)]);
    });

    it("leaves out entries that were appended without sums, as those of drafts are", async () => {
      await fill(subject.store, "u.1", 1, 3, () => ({ usage: { inputTokens: 1 } }));
      expect(await subject.store.readUsage([range("u.1", 1, 3)], 10)).toEqual({ rows: [], rest: [] });
      expect(await subject.store.readUsageEnds([range("u.1", 1, 3)])).toEqual([null]);
    });
  });

  describe("readUsageEnds", () => {
    it("reads the sums at both ends of each range", async () => {
      const a = await store(
        "u.1",
        used("u.1", 1, 9, (seq) => (seq === 4 ? "s" : `from ${seq}`)),
      );
      const ranges = [range("u.1", 3, 7), range("u.1", 3, 3), range("x.1", 1, 9), range("u.1", 6, 6)];
      const ends = await subject.store.readUsageEnds(ranges);
      const sums = (seq: number) => a[seq - 1]?.usageSums as RunningUsage;
      const first = (seq: number) => ({ ...rowOf(a[seq - 1] as Entry), sums: sums(seq) });
      expect(ends).toEqual([
        { sessionId: "s", first: first(4), last: sums(6) },
        null,
        null,
        { sessionId: "s", first: first(6), last: sums(6) },
      ]);
    });

    it("still does after the entries before were deleted", async () => {
      const a = await store("u.1", used("u.1", 1, 6));
      await subject.store.deleteEntries(range("u.1", 1, 3), 10);
      const [ends] = await subject.store.readUsageEnds([range("u.1", 1, 6)]);
      expect(ends).toMatchObject({ first: { seq: 4, sums: a[3]?.usageSums }, last: a[5]?.usageSums });
      await subject.store.deleteEntries(range("u.1", 1, 6), 10);
      expect(await subject.store.readUsageEnds([range("u.1", 1, 6)])).toEqual([null]);
    });
  });

  it("no read of entries returns the sums, and every one the usage", async () => {
    const [, second] = await store("u.1", used("u.1", 1, 2));
    const found = [
      ...(await subject.store.readRange("u.1", 2, 2)).entries,
      ...(await subject.store.readLast(["u.1"])),
      ...(await subject.store.findById(["u.1"], ["m2"])),
      ...(await subject.store.findOwned("u", "m2")),
    ];
    expect(found).toHaveLength(4);
    for (const entry of found) {
      expect(entry?.usageSums).toBeUndefined();
      expect(entry?.body.usage).toEqual(second?.body.usage);
    }
  });

  it("overwriting an entry replaces its usage and keeps the sums", async () => {
    const a = await store("u.1", used("u.1", 1, 4));
    const overwritten = a.map((entry) => ({ ...entry, body: erasedBody(entry.body) }));
    await subject.store.overwriteEntries(overwritten);
    const { rows } = await subject.store.readUsage([range("u.1", 1, 4)], 10);
    expect(rows.map(({ seq, usage }) => [seq, usage.model, usage.inputTokens])).toEqual([
      [2, undefined, 2000],
      [4, undefined, 4000],
    ]);
    const [ends] = await subject.store.readUsageEnds([range("u.1", 1, 4)]);
    expect(ends?.last).toEqual(a[3]?.usageSums);
    const draft = { ...(a[0] as Entry), body: MessageBody.of({ parts: [], usage: { inputTokens: 1 } }) };
    await subject.store.overwriteEntries([draft]);
    expect((await subject.store.readUsage([range("u.1", 1, 4)], 10)).rows).toHaveLength(2);
  });
}
