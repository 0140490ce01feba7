import { expect, it } from "vitest";
import { LogHistoryProvider } from "../../../../src/storage/history/log-history-provider.js";
import { MemoryLogDatabase } from "../../../../src/storage/memory/memory-log-database.js";

const DELTAS = [{ kind: "append_text", partId: "", text: "late" }] as const;

it("a draft is not finished with deltas that come while the call looks at the history", async () => {
  const store = new MemoryLogDatabase().namespace("default");
  const provider = new LogHistoryProvider(store);
  await provider.createSession({ sessionId: "s" });
  await provider.startDraft("s", { id: "d", role: "assistant", parts: [] });
  const findById = store.findById.bind(store);
  store.findById = async (...args) => {
    store.findById = findById;
    expect(await provider.extendDraft("s", "d", 1, DELTAS)).toBe(2);
    return findById(...args);
  };
  const finished = provider.finishDraft("s", "d", { version: 1 });
  await expect(finished).rejects.toMatchObject({ code: "aborted" });
  expect(await provider.getMessageCount("s")).toBe(0);
  expect(await provider.finishDraft("s", "d", { version: 2 })).toMatchObject({ position: 0 });
});
