import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { Child, run } from "../support/child.js";

const folder = mkdtempSync(join(tmpdir(), "session-pool-erase-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("erases a message while servers use the same file", async () => {
  const storage = `sqlite:${folder}/pool.db`;
  const { child, httpUrl } = await Child.serve("--storage", storage);
  const post = (path: string, body: object) =>
    fetch(httpUrl + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }).then((response) => response.json());
  const textOf = async (sessionId: string) => (await fetch(`${httpUrl}/session/${sessionId}/message`)).text();
  await post("/session", { sessionId: "s" });
  await post("/session/s/message", { info: { id: "m1", role: "user" }, parts: [{ type: "text", text: "hunter2" }] });
  await post("/session/s/message", { info: { id: "m2", role: "user" }, parts: [{ type: "text", text: "harmless" }] });
  await post("/session/s/fork", { newSessionId: "fork" });
  expect(await textOf("fork")).toContain("hunter2");

  expect(await run(["erase", "--storage", storage, "s", "m1"])).toMatchObject({
    code: 0,
    stdout: "Erased: 1 copy\n",
    stderr: "",
  });
  for (const sessionId of ["s", "fork"]) {
    expect(await textOf(sessionId)).not.toContain("hunter2");
    expect(await textOf(sessionId)).toContain("harmless");
  }
  const exported = await run(["export", "--storage", storage]);
  expect(exported.stdout).toContain("erased");
  expect(exported.stdout).not.toContain("hunter2");
  for (const name of readdirSync(folder)) {
    expect(readFileSync(join(folder, name)).includes("hunter2"), name).toBe(false);
  }
  expect(await run(["erase", "--storage", storage, "s", "nothing"])).toMatchObject({
    code: 1,
    stderr: 'session-pool: Message "nothing" not found\n',
  });
  child.kill("SIGTERM");
  expect(await child.ended()).toMatchObject({ code: 0 });
});
