import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { UIMessage } from "ai";
import { build, type Plugin } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadUIMessages } from "../../src/adapters/ai-sdk.js";
import { createSessionPoolClient } from "../../src/client/index.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith, ROOT, run } from "../support/toolchain.js";
import { CLAUDE_SDK_MAIN, installClaudeSdk, SESSION, writeTranscripts } from "./adapters/claude-sdk.js";

const examples = [...readFileSync(join(ROOT, "docs/clients.md"), "utf8").matchAll(/^```ts\n(.*?)^```$/gms)].map(
  ([, text]) => text as string,
);

/** The example that contains this text; there is one. */
function exampleWith(text: string): string {
  const found = examples.filter((example) => example.includes(text));
  expect(found).toHaveLength(1);
  return found[0] as string;
}

const promisedLines = (text: string) => [...text.matchAll(/\/\/ → (.*)$/gm)].map(([, line]) => line);

// Below node_modules, so that the bundles find the packages.
const cache = join(ROOT, "node_modules/.cache");
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, "client-examples-"));
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** Bundles an example for this test's server; resolves to its path. */
async function bundle(name: string, text: string, alias: Readonly<Record<string, string>> = {}): Promise<string> {
  const outfile = join(folder, `${name}.mjs`);
  const files: Plugin = {
    name: "files",
    setup({ onResolve }) {
      onResolve({ filter: /^session-pool\/client$/ }, () => ({ path: join(ROOT, "src/client/index.ts") }));
      onResolve({ filter: /^session-pool\/adapters\// }, ({ path }) => ({
        path: `${join(ROOT, "src", path.slice("session-pool/".length))}.ts`,
      }));
      onResolve({ filter: /^@/ }, ({ path: name }) => {
        const path = alias[name];
        return path === undefined ? null : { path, external: !path.endsWith(".ts") };
      });
    },
  };
  await build({
    stdin: { contents: text.replaceAll("http://127.0.0.1:8080", server.httpUrl), resolveDir: ROOT, loader: "ts" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    packages: "external",
    plugins: [files],
    outfile,
    logLevel: "silent",
  });
  return outfile;
}

const fake = (name: string) => join(ROOT, `test/clients/adapters/${name}.ts`);

describe("the examples of docs/clients.md in TypeScript", () => {
  it("are exactly these", () => {
    expect(examples).toHaveLength(5);
  });

  it("keep, list and follow a conversation", async () => {
    const example = exampleWith("textOf(event.value)");
    const printed = await run(process.execPath, [await bundle("client", example)]);
    expect(printed.trimEnd().split("\n")).toEqual(promisedLines(example));
  });

  it("keep the conversation of an agent of the OpenAI Agents SDK", async () => {
    const example = exampleWith('from "@openai/agents"');
    const program = await bundle("openai-agents", example, { "@openai/agents": fake("fake-agents") });
    const printed = await run(process.execPath, [program]);
    expect(printed.trimEnd().split("\n")).toEqual(promisedLines(example));
  });

  it("answer a chat of the AI SDK, and keep it", async () => {
    const example = exampleWith("convertToModelMessages");
    const program = await bundle("ai-sdk", example, { "@ai-sdk/openai": fake("fake-openai") });
    const { POST } = (await import(pathToFileURL(program).href)) as { POST(request: Request): Promise<Response> };
    const ask = async (id: string, text: string) => {
      const message: UIMessage = { id, role: "user", parts: [{ type: "text", text }] };
      const body = JSON.stringify({ id: "chat", message });
      return (await POST(new Request("http://localhost/", { method: "POST", body }))).text();
    };
    expect(await ask("q1", "When do the azaleas bloom?")).toContain('"delta":" April"');
    await ask("q2", "And the maples?");
    const kept = await loadUIMessages(createSessionPoolClient({ baseUrl: server.httpUrl }), "chat");
    expect(kept.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(kept[1]?.parts).toMatchObject([{ type: "step-start" }, { text: "Late April to the middle of May." }]);
  });
});

await describeWith("the example of docs/clients.md for the Claude Agent SDK", installClaudeSdk, (installed) => {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), "session-pool-claude-")));
  const config = join(cwd, "config");

  beforeAll(() => writeTranscripts(config, cwd));

  afterAll(() => rmSync(cwd, { recursive: true }));

  it("moves transcripts to the store, and reads them there", async () => {
    const example = exampleWith("importSessionToStore");
    const sdk = { "@anthropic-ai/claude-agent-sdk": join(installed, CLAUDE_SDK_MAIN) };
    const printed = await run(process.execPath, [await bundle("claude-agent", example, sdk)], {
      cwd,
      env: { CLAUDE_CONFIG_DIR: config },
    });
    expect(printed.trimEnd().split("\n")).toEqual(promisedLines(example));
    expect(printed).toContain(SESSION);
  });
});
