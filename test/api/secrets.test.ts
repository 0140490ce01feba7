import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Child, run } from "../support/child.js";
import { poll } from "../support/poll.js";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-secrets-"));
});

afterAll(() => rmSync(folder, { recursive: true }));

it("traces do not contain the command line", async () => {
  let exported = "";
  const collector = createServer((request, response) => {
    request.setEncoding("utf8").on("data", (chunk) => {
      exported += chunk;
    });
    request.on("end", () => response.setHeader("content-type", "application/json").end("{}"));
  });
  await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_METRICS_EXPORTER: "none",
    OTEL_LOGS_EXPORTER: "none",
  };
  const path = join(folder, "hunter2.db");
  const { child, httpUrl } = await Child.serveWith(env, "--storage", `sqlite:${path}`);
  expect((await fetch(`${httpUrl}/session`)).status).toBe(200);
  child.kill("SIGTERM");
  expect(await child.ended()).toMatchObject({ code: 0 });
  await poll(() => exported.includes("ListSessions"), "the span is exported");
  expect(exported).toContain("service.name");
  expect(exported).not.toMatch(/hunter2|process\.command/);
  await new Promise((resolve) => collector.close(resolve));
});

it("a storage URL can be in a file, which overrides the environment but not the command line", async () => {
  const file = join(folder, "storage");
  writeFileSync(file, `sqlite:${join(folder, "of-file.db")}\n`);
  const env = { SESSION_POOL_STORAGE: `sqlite:${join(folder, "of-environment.db")}`, SESSION_POOL_STORAGE_FILE: file };
  const add = (...args: string[]) => run(["todo", "list", ...args], env);
  expect((await add()).stderr).toContain("of-file.db");
  expect((await add("--storage", `sqlite:${join(folder, "of-flag.db")}`)).stderr).toContain("of-flag.db");
  const both = await add("--storage", "memory:", "--storage-file", file);
  expect(both).toMatchObject({
    code: 1,
    stderr: "session-pool: --storage and --storage-file must not be given together\n",
  });
});

it("a storage file that cannot be used is refused with a one-line message", async () => {
  const missing = await run(["serve", "--storage-file", join(folder, "nothing")]);
  expect(missing).toMatchObject({ code: 1 });
  expect(missing.stderr).toMatch(/^session-pool: --storage-file cannot be read: ENOENT.*\n$/);
  const empty = join(folder, "empty");
  writeFileSync(empty, "\n");
  expect((await run(["serve", "--storage-file", empty])).stderr).toMatch(
    /^session-pool: --storage-file: .*empty must hold one line\n$/,
  );
});

it("the server warns at start when no audience of tokens is configured", async () => {
  const jwks = join(folder, "jwks.json");
  writeFileSync(jwks, '{"keys":[]}');
  const { child } = await Child.serve("--storage", "memory:", "--jwks", jwks);
  expect(child.stderr).toContain("Without --jwt-audience");
  child.kill("SIGTERM");
  await child.ended();
});
