import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SessionPoolStore } from "../../clients/typescript/src/adapters/claude-agent.js";
import { createSessionPoolClient } from "../../clients/typescript/src/index.js";
import { type KeyedServer, startKeyedServer } from "../support/keyed-server.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith, run } from "../support/toolchain.js";
import { allDocumented } from "./documented.js";
import { type FakeModel, startFakeModel } from "./fake-model.js";
import { PYTHON_CLIENT, preparePythonClient } from "./python.js";

const JSON_BODY = { "content-type": "application/json" };

/** The Python programs of all pages but one, whose program serves; each with its page and its first line. */
const programs = allDocumented("python")
  .filter(({ page }) => page !== "docs/operations/webhook.md")
  .map(({ page, text }) => [page, text.split("\n", 1)[0] as string, text] as const);

await describeWith(
  "the client for Python",
  () => preparePythonClient(),
  ({ program, env }) => {
    let open: TestServer;
    let keyed: KeyedServer;
    let model: FakeModel;

    beforeAll(async () => {
      open = await startTestServer({ search: true });
      keyed = await startKeyedServer("write");
      model = await startFakeModel();
    });

    afterAll(async () => {
      await open?.stop();
      await keyed?.stop();
      model?.stop();
    });

    it("passes its own tests against a started server", async () => {
      const servers = {
        SESSION_POOL_ADDRESS: open.grpcAddress,
        SESSION_POOL_KEYED_ADDRESS: keyed.grpcAddress,
        SESSION_POOL_KEY: keyed.key,
      };
      const args = ["-m", "pytest", "-q", "--tb=short", "tests"];
      const printed = await run(program, args, { cwd: PYTHON_CLIENT, env: { ...env, ...servers } });
      expect(printed).toMatch(/\d+ passed/);
      expect(printed).not.toMatch(/skipped|failed/);
    });

    it.each(programs)("runs what %s shows: %s", async (_page, _title, source) => {
      const { port } = new URL(`http://${open.grpcAddress}`);
      const made = await fetch(`${open.httpUrl}/session`, {
        method: "POST",
        body: '{"sessionId": "trip"}',
        headers: JSON_BODY,
      });
      expect(made.status).toBe(200);
      const at = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "none", OPENAI_AGENTS_DISABLE_TRACING: "1" };
      await run(program, ["-c", source.replaceAll("localhost:50051", `localhost:${port}`)], { env: { ...env, ...at } });
    });

    it("reads what the adapter in TypeScript has put into attachments, and the other way round", async () => {
      const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "A".repeat(40_000) } };
      const content = [{ type: "text", text: "京都".repeat(100_000) }, image];
      const entries = [
        { type: "user", uuid: "both-1", message: { role: "user", content } },
        {
          type: "user",
          uuid: "both-2",
          toolUseResult: `${"x".repeat(300_000)}\ud83d`,
          rows: Array(50_000).fill([0.5]),
        },
      ];
      const store = new SessionPoolStore(createSessionPoolClient({ baseUrl: open.httpUrl }));
      await store.append({ projectKey: "both", sessionId: "typescript" }, entries);
      const source = join(PYTHON_CLIENT, "tests/copy_transcript.py");
      const printed = await run(program, [source, open.grpcAddress, "both", "typescript", "python"], { env });
      expect(JSON.parse(printed)).toEqual(entries);
      expect(await store.load({ projectKey: "both", sessionId: "python" })).toEqual(entries);
    });

    it("is fully typed, and its adapters are what their frameworks take", async () => {
      // The cache is kept for later runs, because the frameworks are large.
      const cache = join(dirname(program), "../.mypy-cache");
      const args = ["-m", "mypy", "--strict", "--cache-dir", cache];
      const uses = ["typed_adapters.py", "typed_client.py"].map((name) => join(PYTHON_CLIENT, "tests", name));
      for (const checked of [["-p", "session_pool"], uses])
        expect(await run(program, [...args, ...checked], { env })).toMatch(/Success/);
    });
  },
);
