import { expect, it, vi } from "vitest";
import { MOST_ANNOTATIONS, MOST_ANNOTATIONS_OF_MESSAGE } from "../../../../../src/domain/annotation.js";
import { LogHistoryProvider } from "../../../../../src/storage/history/log-history-provider.js";
import { MemoryLogDatabase } from "../../../../../src/storage/memory/memory-log-database.js";

vi.mock("../../../../../src/domain/annotation.js", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  MOST_ANNOTATIONS: 60,
}));

it("a fork that takes few of a session's messages has room although the session is full of annotations", async () => {
  const provider = new LogHistoryProvider(new MemoryLogDatabase().namespace("default"));
  await provider.createSession({ sessionId: "s" });
  const ids = Array.from({ length: Math.ceil(MOST_ANNOTATIONS / MOST_ANNOTATIONS_OF_MESSAGE) }, (_, i) => `m${i}`);
  await provider.logMessages(
    "s",
    ids.map((id) => ({ id, role: "user" as const, parts: [] })),
  );
  const annotate = (sessionId: string, i: number, messageId = ids[Math.floor(i / MOST_ANNOTATIONS_OF_MESSAGE)]) =>
    provider.createAnnotation(sessionId, { annotationId: `n${i}`, messageId: messageId as string, thumb: "up" });
  for (let i = 0; i < MOST_ANNOTATIONS; i++) await annotate("s", i);
  await expect(annotate("s", MOST_ANNOTATIONS)).rejects.toThrow("at most 60 are allowed");

  await provider.forkConversation("s", "fork", { as: "fork", upToMessageId: "m1" });
  await annotate("fork", MOST_ANNOTATIONS - 1, "m0").then(
    () => expect.unreachable(),
    (error: Error) => expect(error.message).toContain('Message "m0" of session "fork" has 16 annotations'),
  );
  await provider.deleteAnnotation("fork", "n0");
  await annotate("fork", MOST_ANNOTATIONS - 1, "m0");
  const { annotations } = await provider.listAnnotations("fork", { messageId: "", limit: MOST_ANNOTATIONS });
  expect(annotations).toHaveLength(2 * MOST_ANNOTATIONS_OF_MESSAGE);
  await provider.close();
});
