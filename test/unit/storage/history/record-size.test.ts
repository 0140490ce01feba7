import { expect, it } from "vitest";
import { LogHistoryProvider } from "../../../../src/storage/history/log-history-provider.js";
import type { LogStore, NextRecord, SessionRecord } from "../../../../src/storage/history/log-store.js";
import { MemoryLogDatabase } from "../../../../src/storage/memory/memory-log-database.js";

const KIB = 1024;
const NOW = 1_700_000_000_000_000;

/** An id of the greatest length. Its quotes take two bytes each in JSON. */
const longId = (name: string) => `${name}${'"'.repeat(128 - name.length)}`;

/** A provider, and the size of the largest record that it has written. The records have no title and no metadata. */
function measured() {
  const real = new MemoryLogDatabase().namespace("test") as LogStore;
  const sizes: number[] = [];
  let largest: NextRecord | SessionRecord | undefined;
  const store = new Proxy(real, {
    get(target, name: keyof LogStore) {
      const member = target[name] as ((...args: unknown[]) => unknown) | undefined;
      if (!member) return undefined;
      return (...args: unknown[]) => {
        if (name === "createRecord" || name === "replaceRecord") {
          const record = args[0] as NextRecord;
          // A sweep puts a mark on every dropped range.
          const dropped = record.dropped.map((range) => ({ ...range, markedAtMs: NOW }));
          const size = Buffer.byteLength(JSON.stringify({ ...record, dropped }));
          if (size > Math.max(...sizes, 0)) largest = record;
          sizes.push(size);
        }
        return member.apply(target, args);
      };
    },
  });
  const provider = new LogHistoryProvider(store, {
    nowMicros: () => NOW,
    random: () => 0,
    touchDelayMs: Number.POSITIVE_INFINITY,
  });
  return { provider, store: real, size: () => Math.max(...sizes), largest: () => largest };
}

const at = (timestampMicros: number) => ({ role: "user", parts: [], timestampMicros });

it("a record stays below 64 KiB in the worst case", async () => {
  const { provider, size, largest } = measured();
  let parentId = "";
  for (let i = 0; ; i++) {
    const sessionId = longId(`p${i}`);
    const made = await provider.createSession({ sessionId, parentId }).catch((error: Error) => error);
    if (made instanceof Error) {
      expect(made).toMatchObject({ code: "failed_precondition" });
      expect(made.message).toMatch(/too long a chain of parents .* at most 16384 are allowed/);
      break;
    }
    await provider.logMessages(sessionId, [at(0)]);
    parentId = sessionId;
  }
  // The last child has a full ancestry. It now gets edits and dropped ranges, and then as many segments as possible,
  // in its history and in its undo.
  const anchor = longId("anchor");
  await provider.logMessages(parentId, [{ ...at(1), id: anchor }]);
  for (let i = 0; i < 200; i++) {
    await provider.logMessages(parentId, [at(2)]);
    await provider.truncateMessages(parentId, anchor);
  }
  const last = { ...at(999_999), id: longId("last") };
  await provider.logMessages(parentId, [...Array.from({ length: 400 }, (_, i) => at(10 * i + 10)), last]);
  for (let i = 0; i < 58; i++) await provider.logMessages(parentId, [at(10 * (3 * i) + 15)]);
  for (let i = 394; i < 398; i++) {
    const id = longId(`n${i}`);
    await provider.logMessages(parentId, [{ ...at(10 * i + 15), id }, at(999_999)]);
    await provider.truncateMessages(parentId, id, { keepForUnrevert: true });
  }
  const record = largest();
  const counts = [record?.segments, record?.undo?.segments, record?.dropped, record?.edits].map((list) => list?.length);
  console.log(`Largest record: ${size()} bytes; segments, undo, dropped, edits: ${counts.join(", ")}`);
  expect(counts[0]).toBeGreaterThan(100);
  expect(counts[1]).toBeGreaterThan(100);
  expect(counts[2]).toBe(128);
  expect(counts[3]).toBe(64);
  expect(record?.ancestry.length).toBeGreaterThan(40);
  // A place in a log may have 7 digits, 4 more than here. There are 460 segments and ranges with two places each.
  expect(size() + 460 * 8).toBeLessThan(64 * KIB);
});

it("a child merges a parent whose segments do not fit into its record, and still shows its messages", async () => {
  const { provider, store } = measured();
  const sessionId = longId("parent");
  await provider.createSession({ sessionId });
  await provider.logMessages(
    sessionId,
    Array.from({ length: 200 }, (_, i) => at(10 * i)),
  );
  for (let i = 0; i < 60; i++) await provider.logMessages(sessionId, [at(10 * (3 * i) + 5)]);
  expect((await store.readRecord(sessionId))?.segments.length).toBeGreaterThan(100);
  await provider.createSession({ sessionId: "child", parentId: sessionId });
  expect((await store.readRecord("child"))?.ancestry.length).toBeLessThan(100);
  const shown = await provider.getSessionMessages("child", { includeAncestors: true });
  expect(shown.map(({ id }) => id)).toEqual((await provider.getSessionMessages(sessionId)).map(({ id }) => id));
  expect((await store.readRecord(sessionId))?.forks).toBe(1);
});
