import { expect, it } from "vitest";
import { LogHistoryProvider } from "../../../../src/storage/history/log-history-provider.js";
import type { LogStore } from "../../../../src/storage/history/log-store.js";
import { MemoryLogDatabase } from "../../../../src/storage/memory/memory-log-database.js";

const SESSIONS = 3;
const DRAFTS = 16;
/** All drafts together take more than a process keeps of drafts, and a single one far less. */
const TEXT = "x".repeat(2_000_000);

it("drafts that were empty when they were started do not all stay in memory when they have grown", async () => {
  const { store, appendsAlone } = counted(new MemoryLogDatabase().namespace("test"));
  const provider = new LogHistoryProvider(store, { touchDelayMs: Number.POSITIVE_INFINITY });
  const drafts = Array.from({ length: SESSIONS * DRAFTS }, (_, i) => [`s${i % SESSIONS}`, `m${i}`] as const);
  for (let i = 0; i < SESSIONS; i += 1) await provider.createSession({ sessionId: `s${i}` });
  for (const [sessionId, id] of drafts) await provider.startDraft(sessionId, { id, role: "assistant", parts: [] });

  const extend = ([sessionId, id]: readonly [string, string], version: number, text: string) =>
    appendsAlone(() =>
      provider.extendDraft(sessionId, id, version, [{ kind: "append_text", partId: "", text }]).then((next) => {
        expect(next).toBe(version + 1);
      }),
    );
  for (const draft of drafts) await extend(draft, 1, TEXT);
  // What is in memory needs nothing but the append.
  expect(await extend(drafts.at(-1)!, 2, "y")).toBe(true);
  expect(await extend(drafts[0]!, 2, "y")).toBe(false);
  // It was read again, and is kept now.
  expect(await extend(drafts[0]!, 3, "z")).toBe(true);
});

/** A store, and a function that tells whether an operation did nothing on it but append, once. */
function counted(store: LogStore) {
  const calls: string[] = [];
  const noting = new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        calls.push(String(name));
        return member.apply(target, args);
      };
    },
  });
  const appendsAlone = async (run: () => Promise<void>) => {
    calls.length = 0;
    await run();
    return calls.filter((name) => name !== "knownTimeMs").join() === "append";
  };
  return { store: noting, appendsAlone };
}
