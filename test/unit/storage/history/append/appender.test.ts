import { expect, it } from "vitest";
import type { AppendTurnParts } from "../../../../../src/storage/history/append/append-turn.js";
import { Appender } from "../../../../../src/storage/history/append/appender.js";
import { HistoryContext } from "../../../../../src/storage/history/heads.js";
import type { SessionRecord } from "../../../../../src/storage/history/log-store.js";
import { MemoryLogDatabase } from "../../../../../src/storage/memory/memory-log-database.js";

it("the message of a draft is not considered as appended when its session is gone", async () => {
  const context = new HistoryContext(new MemoryLogDatabase().namespace("test"), {});
  const appender = new Appender({ context } as unknown as AppendTurnParts);
  const [own, renamed] = ["d", "u.d"].map((id) => ({ id, role: "assistant", parts: [] }));
  if (!own || !renamed) throw new Error("no messages");
  const draft = { log: "u.d", finishMicros: 1 };
  const appended = appender.appendDraft({ sessionId: "gone" } as SessionRecord, { own, renamed }, draft);
  await expect(appended).rejects.toMatchObject({ code: "not_found" });
});
