import { expect, it } from "vitest";
import { DomainError } from "../../../../src/domain/errors.js";
import { LogHistoryProvider } from "../../../../src/storage/history/log-history-provider.js";
import { MemoryLogDatabase } from "../../../../src/storage/memory/memory-log-database.js";

const SECRET = "a secret that must go";

/** A draft `id` of session `s` that holds the secret, and has been finished. */
async function finished(provider: LogHistoryProvider, id: string): Promise<void> {
  await provider.startDraft("s", { id, role: "assistant", parts: [] });
  await provider.extendDraft("s", id, 1, [{ kind: "append_text", partId: "", text: `${id}: ${SECRET}` }]);
  await provider.finishDraft("s", id, { version: 2 });
}

it("erases the deltas of a message that was a draft, and keeps those of others", async () => {
  const database = new MemoryLogDatabase();
  const provider = new LogHistoryProvider(database.namespace("n"));
  await provider.createSession({ sessionId: "s" });
  for (const id of ["d", "other"]) await finished(provider, id);
  expect(textsIn(database, "d")).toBe(2);
  await provider.eraseMessage("s", "d");
  expect(textsIn(database, "d")).toBe(0);
  expect(textsIn(database, "other")).toBe(2);
});

it("erases them also when many drafts have ended since, or the session was forked and deleted", async () => {
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

it("erases a message that was finished at the moment at which its draft was started", async () => {
  const database = new MemoryLogDatabase();
  const provider = new LogHistoryProvider(database.namespace("n"), { nowMicros: () => 5 });
  await provider.createSession({ sessionId: "s" });
  await finished(provider, "d");
  await provider.eraseMessage("s", "d");
  expect(textsIn(database, "d")).toBe(0);
});

it("leaves an open draft alone that has the id of the message and began at its very time", async () => {
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

it("erases the deltas of a draft whose process died before the record knew of its end", async () => {
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

/** How many entries hold the secret of a draft. */
function textsIn(database: MemoryLogDatabase, id: string): number {
  const entries = [...database.dump().logs.values()].flatMap((log) => log.entries);
  return entries.filter(({ body }) => JSON.stringify(body.parts).includes(`${id}: ${SECRET}`)).length;
}
