import { expect, it } from "vitest";
import { LogHistoryProvider } from "../../../../../src/storage/history/log-history-provider.js";
import type { Entry, LogStore } from "../../../../../src/storage/history/log-store.js";
import { MemoryLogDatabase } from "../../../../../src/storage/memory/memory-log-database.js";

const MESSAGES = 2_000;
const SEGMENTS = 20;
const options = { maxSegments: SEGMENTS, mergeMessages: 50, touchDelayMs: Number.POSITIVE_INFINITY };

/** A long session `s`. `written` returns the number of entries that were written since its last call. */
async function longSession() {
  const real = new MemoryLogDatabase().namespace("test") as LogStore;
  let entries = 0;
  const store = new Proxy(real, {
    get(target, name) {
      const member = Reflect.get(target, name, target);
      if (name !== "append") return typeof member === "function" ? member.bind(target) : member;
      return (log: string, seq: number, given: readonly Entry[]) => {
        entries += given.length;
        return real.append(log, seq, given);
      };
    },
  });
  const provider = new LogHistoryProvider(store, options);
  await provider.createSession({ sessionId: "s" });
  const message = (_: unknown, i: number) => ({ id: `m${i}`, role: "user", parts: [] });
  for (let i = 0; i < MESSAGES; i += 1000) {
    await provider.logMessages(
      "s",
      Array.from({ length: 1000 }, (_, k) => message(_, i + k)),
    );
  }
  const written = () => {
    const count = entries;
    entries = 0;
    return count;
  };
  written();
  return { provider, written, segments: async () => (await store.readRecord("s"))?.segments.length ?? 0 };
}

it("an edit copies only a small part of a history, even after edits of many messages far apart", async () => {
  const { provider, written, segments } = await longSession();
  const copied: number[] = [];
  for (let i = 0; i < 100; i++) {
    await provider.updateMessage("s", `m${(i * 619) % MESSAGES}`, { role: `${i}` });
    copied.push(written());
    expect(await segments()).toBeLessThanOrEqual(SEGMENTS + 2);
  }
  expect(copied.slice(0, 9)).toEqual(Array.from({ length: 9 }, () => 1));
  // The largest copy is a merge of three neighbours, one of which lies between two edits.
  expect(Math.max(...copied)).toBeLessThan((4 * MESSAGES) / SEGMENTS);
  const all = await provider.getSessionMessages("s");
  expect(all.map(({ id }) => id)).toEqual(Array.from({ length: MESSAGES }, (_, i) => `m${i}`));
  expect(all.filter(({ role }) => role !== "user")).toHaveLength(100);
});

it("edits of the newest messages copy only their neighbours", async () => {
  const { provider, written } = await longSession();
  let copied = 0;
  for (let i = 0; i < 100; i++) {
    await provider.updateMessage("s", `m${MESSAGES - 1 - 2 * (i % 25)}`, { role: `${i}` });
    copied = Math.max(copied, written());
  }
  expect(copied).toBeLessThan(100);
});
