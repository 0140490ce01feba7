import { beforeEach, describe, expect, it } from "vitest";
import { LogHistoryProvider } from "../../../../../src/storage/history/log-history-provider.js";
import { MemoryLogDatabase } from "../../../../../src/storage/memory/memory-log-database.js";

const DELTAS = [{ kind: "append_text", partId: "", text: "late" }] as const;

describe("FinishDraft, while it looks at the history,", () => {
  let provider: LogHistoryProvider;
  let other: LogHistoryProvider;
  /** Runs once, while `provider` looks at the history. */
  let meanwhile: () => Promise<unknown>;

  beforeEach(async () => {
    const database = new MemoryLogDatabase();
    const store = database.namespace("default");
    provider = new LogHistoryProvider(store);
    other = new LogHistoryProvider(database.namespace("default"));
    await provider.createSession({ sessionId: "s" });
    await provider.startDraft("s", { id: "d", role: "assistant", parts: [] });
    const readRecord = store.readRecord.bind(store);
    let reads = 0;
    store.readRecord = async (...args) => {
      // The first read is of the draft, the second one of the history.
      reads += 1;
      if (reads === 2) await meanwhile();
      return readRecord(...args);
    };
  });

  it("does not let in deltas that this process stores, because its caller does not know of them", async () => {
    meanwhile = () => provider.extendDraft("s", "d", 1, DELTAS);
    await expect(provider.finishDraft("s", "d", { version: 1 })).rejects.toMatchObject({ code: "aborted" });
    expect(await provider.getMessageCount("s")).toBe(0);
    expect(await provider.finishDraft("s", "d", { version: 2 })).toMatchObject({ position: 0 });
  });

  it("gives the answer of the same call that another process carries out", async () => {
    const answer = { messageIds: ["d"], position: 0 };
    meanwhile = async () => expect(await other.finishDraft("s", "d", { version: 1 })).toEqual(answer);
    expect(await provider.finishDraft("s", "d", { version: 1 })).toEqual(answer);
  });

  it("is refused as finished when another process has finished it with other content", async () => {
    meanwhile = () => other.finishDraft("s", "d", { version: 1, deltas: DELTAS });
    const refused = provider.finishDraft("s", "d", { version: 1 });
    await expect(refused).rejects.toMatchObject({ code: "failed_precondition", message: 'Draft "d" is finished' });
  });
});
