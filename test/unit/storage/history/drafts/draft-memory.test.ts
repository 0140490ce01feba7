import { expect, it } from "vitest";
import { LogHistoryProvider } from "../../../../../src/storage/history/log-history-provider.js";
import type { LogStore } from "../../../../../src/storage/history/log-store.js";
import { MemoryLogDatabase } from "../../../../../src/storage/memory/memory-log-database.js";

import { recordedCalls } from "../../../../support/recorded-calls.js";

const SESSIONS = 3;
const DRAFTS = 16;
/** All drafts together are larger than what a process keeps in memory for drafts. A single one is far smaller. */
const TEXT = "x".repeat(2_000_000);

it("drafts that have grown since their start do not all stay in memory", async () => {
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
  // To extend a draft that is in memory takes only the append.
  expect(await extend(drafts.at(-1)!, 2, "y")).toBe(true);
  expect(await extend(drafts[0]!, 2, "y")).toBe(false);
  // The last call has read this draft again, so it is in memory now.
  expect(await extend(drafts[0]!, 3, "z")).toBe(true);
});

/** A store, and a function that resolves to whether the only store call of an operation is one append. */
function counted(store: LogStore) {
  const { store: recording, calls } = recordedCalls(store);
  const appendsAlone = async (run: () => Promise<void>) => {
    calls.length = 0;
    await run();
    return calls.filter((name) => name !== "knownTimeMs").join() === "append";
  };
  return { store: recording, appendsAlone };
}
