import { expect, it } from "vitest";
import { DomainError } from "../../../../../src/domain/errors.js";
import { LogHistoryProvider } from "../../../../../src/storage/history/log-history-provider.js";
import { MemoryLogDatabase } from "../../../../../src/storage/memory/memory-log-database.js";

const SECRET = "a secret that must go";

/** Makes and finishes a draft `id` in session `s` that holds the secret. */
async function finished(provider: LogHistoryProvider, id: string): Promise<void> {
  await provider.startDraft("s", { id, role: "assistant", parts: [] });
  await provider.extendDraft("s", id, 1, [{ kind: "append_text", partId: "", text: `${id}: ${SECRET}` }]);
  await provider.finishDraft("s", id, { version: 2 });
}

it("an erasure removes the deltas of a message that was a draft, and keeps those of others", async () => {
  const database = new MemoryLogDatabase();
  const provider = new LogHistoryProvider(database.namespace("n"));
  await provider.createSession({ sessionId: "s" });
  for (const id of ["d", "other"]) await finished(provider, id);
  expect(textsIn(database, "d")).toBe(2);
  await provider.eraseMessage("s", "d");
  expect(textsIn(database, "d")).toBe(0);
  expect(textsIn(database, "other")).toBe(2);
});

it("an erasure removes the deltas even after many other drafts, a fork and a delete of the session", async () => {
  const database = new MemoryLogDatabase();
  const provider = new LogHistoryProvider(database.namespace("n"));
  await provider.createSession({ sessionId: "s" });
  await finished(provider, "d");
  for (let i = 0; i < 40; i++) {
    await provider.startDraft("s", { id: `x${i}`, role: "assistant", parts: [] });
    await provider.discardDraft("s", `x${i}`);
  }
  await finished(provider, "late");
  await provider.forkConversation("s", "f", { as: "fork" });
  await provider.deleteSession("s");
  for (const id of ["d", "late"]) {
    await provider.eraseMessage("f", id);
    expect(textsIn(database, id)).toBe(0);
  }
});

it("an erasure reaches a message that was finished in the same microsecond as its draft was started", async () => {
  const database = new MemoryLogDatabase();
  const provider = new LogHistoryProvider(database.namespace("n"), { nowMicros: () => 5 });
  await provider.createSession({ sessionId: "s" });
  await finished(provider, "d");
  await provider.eraseMessage("s", "d");
  expect(textsIn(database, "d")).toBe(0);
});

it("an erasure leaves alone an open draft that has the same id and time as the message", async () => {
  const database = new MemoryLogDatabase();
  const provider = new LogHistoryProvider(database.namespace("n"), { nowMicros: () => 5 });
  await provider.createSession({ sessionId: "s" });
  await provider.logMessages("s", [{ id: "d", role: "user", parts: [] }]);
  await provider.forkConversation("s", "f", { as: "fork" });
  await provider.deleteMessage("s", "d");
  const parts = [{ id: "", type: "text", text: "of the draft" }];
  await provider.startDraft("s", { id: "d", role: "assistant", parts });
  await provider.eraseMessage("f", "d");
  await provider.finishDraft("s", "d", { version: 1 });
  expect(await provider.getMessage("s", "d")).toMatchObject({ parts });
});

it("an erasure removes the deltas of a draft whose process died before the record noted its end", async () => {
  const database = new MemoryLogDatabase();
  const provider = new LogHistoryProvider(database.namespace("n"));
  await provider.createSession({ sessionId: "s" });
  const store = database.namespace("n");
  const replaceRecord = store.replaceRecord.bind(store);
  store.replaceRecord = async (record, ...rest) => {
    if (record.drafts.some(({ end }) => end !== undefined)) throw new DomainError("unavailable", "The process is dead");
    return replaceRecord(record, ...rest);
  };
  await expect(finished(new LogHistoryProvider(store), "d")).rejects.toMatchObject({ code: "unavailable" });
  await provider.eraseMessage("s", "d");
  expect(textsIn(database, "d")).toBe(0);
  await provider.endAbandonedDrafts();
  expect(await provider.getSessionMessages("s")).toMatchObject([{ id: "d", parts: [{ type: "erased" }] }]);
});

/** The number of entries that hold the secret of a draft. */
function textsIn(database: MemoryLogDatabase, id: string): number {
  const entries = [...database.dump().logs.values()].flatMap((log) => log.entries);
  return entries.filter(({ body }) => JSON.stringify(body.parts).includes(`${id}: ${SECRET}`)).length;
}
