import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { importSessions } from "../../../../../src/commands/transfer/import-sessions.js";
import { withPools } from "../../../../../src/commands/with-pools.js";
import { backupFrame, backupLines } from "../../../../../src/console/app/state/backup-lines.js";
import { startTestServer } from "../../../../support/server.js";

const folder = mkdtempSync(join(tmpdir(), "session-pool-backup-lines-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("a session that the console saved is imported as it was", async () => {
  const server = await startTestServer();
  // biome-ignore lint/suspicious/noExplicitAny: the answers have the shape that the page's own types say.
  const call = async (method: string, path: string, body?: object): Promise<any> => {
    const headers = { "content-type": "application/json" };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const answer = await fetch(`${server.httpUrl}${path}`, init);
    expect(answer.status).toBe(200);
    return answer.json();
  };
  const id = "odd id/✓ %";
  const path = `/session/${encodeURIComponent(id)}`;
  try {
    const info = { id: "m1", role: "user", timestamp: "1969-12-31T23:59:58.000001Z", metadata: { n: 1e21 } };
    await call("POST", "/session", { sessionId: "source" });
    const parts = [{ id: "p", type: "text", text: "Hi \u2028 \u0000", data: { ["__proto__"]: 1 } }];
    await call("POST", "/session/source/message", { info, parts });
    await call("POST", "/session/source/fork", { newSessionId: id });
    await call("POST", `${path}/message`, { info: { id: "m2", role: "assistant" }, parts: [] });
    const change = {
      title: "Title",
      metadata: { a: null },
      labels: { user: "ada" },
      owner: "ada",
      expireTime: "2100-01-01T00:00:00Z",
    };
    await call("PATCH", path, { ...change, updateMask: "title,metadata,labels,owner,expireTime" });
    await call("POST", `${path}/annotation`, {
      annotationId: "n1",
      messageId: "m1",
      thumb: "up",
      text: "Right",
      author: "ada",
    });
    await call("POST", `${path}/annotation`, { annotationId: "n2", messageId: "m2", text: "Empty" });
    const session = await call("GET", path);
    const { annotations } = await call("GET", `${path}/annotation`);
    const { messages } = await call("GET", `${path}/message`);
    const file = join(folder, "saved.jsonl");
    const [first, last] = backupFrame();
    writeFileSync(file, [first, ...backupLines(session, messages, [], annotations), last].join(""));

    const storage = `sqlite:${join(folder, "to.db")}`;
    for (let i = 0; i < 2; i++) await importSessions({ storage, namespace: "default" }, file);
    await withPools(storage, async (pools) => {
      const { sessions } = pools.for("default");
      expect(await sessions.getSession(id)).toMatchObject({
        title: "Title",
        metadata: { a: null },
        labels: { user: "ada" },
        owner: "ada",
        expireTimeMicros: Date.parse("2100-01-01T00:00:00Z") * 1000,
        parentId: "source",
        forkPointId: "m1",
        inheritedCount: 1,
        revision: Number(session.revision),
      });
      const [first, second] = await sessions.getMessages(id);
      expect(first).toMatchObject({ id: "m1", timestampMicros: -1_999_999, metadata: { n: 1e21 } });
      expect(JSON.stringify(first?.parts)).toBe(JSON.stringify(messages[0].parts));
      expect(second).toMatchObject({ id: "m2", role: "assistant" });
      const notes = await sessions.annotations.list(id, { limit: 10 });
      expect(notes.annotations).toMatchObject([
        { annotationId: "n1", messageId: "m1", thumb: "up", text: "Right", author: "ada" },
        { annotationId: "n2", messageId: "m2", thumb: "", text: "Empty" },
      ]);
    });
  } finally {
    await server.stop();
  }
});
