import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { openStorage } from "../../src/storage/open-storage.js";
import { Child, run } from "../support/child.js";
import { freshSchemaUrl, query, startOwnPostgresServer } from "../support/postgres-server.js";

const LEFT = "Old versions of rows stay in the database until a vacuum; --vacuum runs one\n";
const KEPT = "The write-ahead log, its archive and backups keep the message until they are removed\n";

const folder = mkdtempSync(join(tmpdir(), "session-pool-erase-"));
const postgres = await startOwnPostgresServer();
afterAll(async () => {
  await postgres?.stop();
  rmSync(folder, { recursive: true });
});

describe.each([
  ["SQLite", true, () => `sqlite:${folder}/pool.db`, ""],
  ["PostgreSQL", Boolean(postgres), () => freshSchemaUrl(postgres!), LEFT],
] as const)("on %s", (_store, isHere, storageOf, left) => {
  it.skipIf(!isHere)("erases a message while servers use the same store", async () => {
    const storage = storageOf();
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
      stdout: `Erased: 1 copy\n${left}`,
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
});

it("vacuums nothing where nothing is left to vacuum", async () => {
  const storage = `sqlite:${folder}/vacuum.db`;
  await makeSession(storage);
  expect(await run(["erase", "--storage", storage, "s", "m1", "--vacuum"])).toMatchObject({
    code: 0,
    stdout:
      "Erased: 1 copy\nVacuumed: nothing, because this store leaves nothing behind that a vacuum could clear away\n",
    stderr: "",
  });
});

describe.skipIf(!postgres)("on PostgreSQL", () => {
  it.each([
    ["--vacuum", "no old versions of rows are left; their bytes stay in free space until it is used again"],
    ["--vacuum-full", "the messages and their indexes were written anew, without old versions"],
  ])("clears old versions away with %s, also of a message that is gone, and says what stays", async (flag, text) => {
    const storage = freshSchemaUrl(postgres!);
    await makeSession(storage);
    const vacuumed = `Vacuumed: ${text}\n${KEPT}`;
    expect(await run(["erase", "--storage", storage, "s", "m1", flag])).toMatchObject({
      code: 0,
      stdout: `Erased: 1 copy\n${vacuumed}`,
      stderr: "",
    });
    expect(await run(["erase", "--storage", storage, "s", "nothing", flag])).toMatchObject({
      code: 1,
      stdout: vacuumed,
      stderr: 'session-pool: Message "nothing" not found\n',
    });
  });

  it("says who may vacuum when the role may not", async () => {
    const storage = new URL(freshSchemaUrl(postgres!));
    const schema = storage.searchParams.get("schema") as string;
    const { stdout } = await run(["schema", "--schema", schema, "--role", schema]);
    await query(postgres!.url, `CREATE ROLE ${schema} LOGIN PASSWORD 'x'`, stdout);
    onTestFinished(async () => void (await query(postgres!.url, `DROP OWNED BY ${schema}`, `DROP ROLE ${schema}`)));
    storage.username = schema;
    storage.password = "x";
    await makeSession(storage.href);
    const { code, stdout: printed, stderr } = await run(["erase", "--storage", storage.href, "s", "m1", "--vacuum"]);
    expect([code, printed]).toEqual([1, "Erased: 1 copy\n"]);
    const tables = ["messages", "attachments", "attachment_pieces", "attachment_names"].map(
      (one) => `"${schema}".${one}`,
    );
    expect(stderr).toBe(
      `session-pool: Only the owner of ${tables[0]} may vacuum it; let it run VACUUM (FREEZE, ANALYZE) ${tables.join(", ")}\n`,
    );
  });
});

/** Makes a session with one message. */
async function makeSession(url: string): Promise<void> {
  const storage = await openStorage(url);
  const provider = storage.provider("default");
  await provider.createSession({ sessionId: "s" });
  await provider.logMessages("s", [{ id: "m1", role: "user", parts: [{ id: "", type: "text", text: "hunter2" }] }]);
  await storage.close();
}
