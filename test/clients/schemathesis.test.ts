import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { newTicketSecret } from "../../src/server/auth/ticket-secrets.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { cached, describeWith, install, needPrograms, run } from "../support/toolchain.js";
import { PIP } from "./python.js";

const PACKAGE = "schemathesis==4.32.5";
const FOLDER = join(import.meta.dirname, "schemathesis");

/** How many examples of each operation are tried. More examples find more problems and take longer. */
const EXAMPLES = process.env.SCHEMATHESIS_EXAMPLES ?? "3";

async function installSchemathesis(): Promise<string> {
  needPrograms("python3");
  const folder = await cached("schemathesis", [PACKAGE], async (made) => {
    await install("python3", ["-m", "venv", made]);
    await install(join(made, "bin/python"), [...PIP, PACKAGE]);
  });
  return join(folder, "bin/schemathesis");
}

await describeWith("the OpenAPI document, tried out by Schemathesis", installSchemathesis, (program) => {
  let folder: string;
  let server: TestServer;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "session-pool-schemathesis-"));
    const ticketSecretFile = join(folder, "ticket-secret");
    await writeFile(ticketSecretFile, newTicketSecret());
    server = await startTestServer({ storage: `sqlite:${join(folder, "pool.db")}`, ticketSecretFile });
  });

  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  it("describes correctly which requests are accepted and refused, and every answer", async () => {
    const args = ["--seed", "1", "--max-examples", EXAMPLES, "--generation-database", "none", "--no-color"];
    const printed = await run(
      program,
      ["--config-file", join(FOLDER, "schemathesis.toml"), "run", `${server.httpUrl}/openapi.json`, ...args],
      { cwd: folder, env: { PYTHONPATH: FOLDER, SCHEMATHESIS_HOOKS: "hooks", PYTHONDONTWRITEBYTECODE: "1" } },
    );
    expect(printed).toMatch(/✅ Coverage/);
    expect(printed).toMatch(/✅ Fuzzing/);
    expect(printed).toMatch(/✅ Stateful/);
  });
});
