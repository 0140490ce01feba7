import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { UIMessage } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadUIMessages } from "../../clients/typescript/src/adapters/ai-sdk.js";
import { createSessionPoolClient } from "../../clients/typescript/src/index.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith, ROOT, run } from "../support/toolchain.js";
import { CLAUDE_SDK_MAIN, installClaudeSdk, SESSION, SPENT, writeTranscripts } from "./adapters/claude-sdk.js";
import { Bundler, documentedProgram, promisedLines } from "./documented.js";

const bundler = new Bundler("client-examples-");
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(async () => {
  await server.stop();
  bundler.remove();
});

/** Bundles an example so that it calls this test's server. Resolves to the path of the bundle. */
function bundle(name: string, text: string, alias: Readonly<Record<string, string>> = {}): Promise<string> {
  return bundler.bundle(name, text.replaceAll("http://127.0.0.1:8080", server.httpUrl), alias);
}

const fake = (name: string) => join(ROOT, `test/clients/adapters/${name}.ts`);

describe("the examples of docs/clients.md in TypeScript", () => {
  it("keep, list and follow a conversation", async () => {
    const example = documentedProgram("ts", "textOf(event.value)");
    const printed = await run(process.execPath, [await bundle("client", example)]);
    expect(printed.trimEnd().split("\n")).toEqual(promisedLines(example));
  });

  it("move attachments", async () => {
    const example = documentedProgram("ts", "uploadAttachment");
    const printed = await run(process.execPath, [await bundle("attachments", example)]);
    expect(printed.trimEnd().split("\n")).toEqual(promisedLines(example));
  });

  it("write a draft, word by word", async () => {
    const program = `
      import { createSessionPoolClient, textOf } from "session-pool-client";
      const client = createSessionPoolClient({ baseUrl: "http://127.0.0.1:8080" });
      await client.sessions.createSession({ sessionId: "kyoto" }).catch(() => {});
      const words = ["Late ", "April"];
      ${documentedProgram("js", "startDraft")}
      for await (const message of client.history("kyoto", { newestFirst: true })) {
        console.log(textOf(message));
        break;
      }`;
    expect(await run(process.execPath, [await bundle("draft", program)])).toBe("Late April\n");
  });

  it("say what there is to a call that expects another position", async () => {
    const program = `
      import { ConflictError, createSessionPoolClient, text } from "session-pool-client";
      const client = createSessionPoolClient({ baseUrl: "http://127.0.0.1:8080" });
      await client.append("kyoto", text("user", "When do the azaleas bloom?"), { createSession: true });
      ${documentedProgram("js", "ConflictError")}`;
    expect(await run(process.execPath, [await bundle("conflict", program)])).toMatch(/^The next position is \d+\n$/);
  });

  it("keep the conversation of an agent of the OpenAI Agents SDK", async () => {
    const example = documentedProgram("ts", 'from "@openai/agents"');
    const program = await bundle("openai-agents", example, { "@openai/agents": fake("fake-agents") });
    const printed = await run(process.execPath, [program]);
    expect(printed.trimEnd().split("\n")).toEqual(promisedLines(example));
  });

  it("answer a chat of the AI SDK, and keep it", async () => {
    const example = documentedProgram("ts", "onFinish:");
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

  it("compiles where it starts an agent, which needs a key to run", async () => {
    const modules = join(cwd, "node_modules");
    mkdirSync(modules);
    for (const name of ["@types", "undici-types", "@bufbuild", "@connectrpc"])
      symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
    symlinkSync(join(installed, "node_modules/@anthropic-ai"), join(modules, "@anthropic-ai"));
    writeFileSync(join(cwd, "package.json"), '{"type": "module"}');
    writeFileSync(join(cwd, "agent.ts"), documentedProgram("ts", "of query("));
    const client = join(ROOT, "clients/typescript/src");
    const paths = { "session-pool-client": [`${client}/index.ts`], "session-pool-client/*": [`${client}/*.ts`] };
    const compilerOptions = {
      module: "nodenext",
      target: "es2024",
      strict: true,
      skipLibCheck: true,
      noEmit: true,
      paths,
    };
    writeFileSync(join(cwd, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["agent.ts"] }));
    await run(join(ROOT, "node_modules/.bin/tsc"), ["--project", cwd]);
  });

  it("moves transcripts to the store, and reads them there", async () => {
    const example = documentedProgram("ts", "importSessionToStore");
    const sdk = { "@anthropic-ai/claude-agent-sdk": join(installed, CLAUDE_SDK_MAIN) };
    const printed = await run(process.execPath, [await bundle("claude-agent", example, sdk)], {
      cwd,
      env: { CLAUDE_CONFIG_DIR: config },
    });
    // The page has one transcript of the two.
    const [spent, ...others] = printed.trimEnd().split("\n");
    expect(spent).toBe(`${SPENT} 6`);
    expect(others).toEqual(promisedLines(example));
    expect(printed).toContain(SESSION);
  });
});
