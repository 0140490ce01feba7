import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SessionPoolStore } from "../../../src/adapters/claude-agent.js";
import { createSessionPoolClient, text } from "../../../src/client/index.js";
import { startTestServer, type TestServer } from "../../support/server.js";
import { describeWith } from "../../support/toolchain.js";
import {
  type ClaudeSdk,
  installClaudeSdk,
  loadClaudeSdk,
  SESSION,
  transcript,
  uuid,
  writeTranscripts,
} from "./claude-sdk.js";

let server: TestServer;
let store: SessionPoolStore;

beforeAll(async () => {
  server = await startTestServer();
  store = new SessionPoolStore(createSessionPoolClient({ baseUrl: server.httpUrl }));
});

afterAll(() => server.stop());

describe("a store of the Claude Agent SDK", () => {
  const entries = transcript("/work");

  it("returns what was appended, and null if nothing ever was", async () => {
    const key = { projectKey: "-work", sessionId: "a" };
    expect(await store.load(key)).toBeNull();
    await store.append(key, entries.slice(0, 2));
    await store.append(key, [{ type: "mode", mode: "plan" }, ...entries.slice(2)]);
    expect(await store.load(key)).toEqual([
      ...entries.slice(0, 2),
      { type: "mode", mode: "plan" },
      ...entries.slice(2),
    ]);
  });

  it("stores an entry with a uuid once, even if it is repeated in one call or in several, or has changed", async () => {
    const key = { projectKey: "-work", sessionId: "b" };
    await store.append(key, [entries[0]!, entries[0]!, entries[1]!]);
    await store.append(key, entries);
    await store.append(key, [
      { ...entries[0]!, extra: true },
      { type: "tag", tag: "x" },
    ]);
    expect(await store.load(key)).toEqual([...entries, { type: "tag", tag: "x" }]);
  });

  it("keeps entries exactly, even if a text in them was cut inside a character", async () => {
    const key = { projectKey: "-work", sessionId: "cut" };
    const cut = [{ type: "user", uuid: uuid(3000), output: "cut \ud83d" }];
    await store.append(key, cut);
    expect(await store.load(key)).toEqual(cut);
  });

  it("accepts more entries in one call than the service accepts messages", async () => {
    const key = { projectKey: "-work", sessionId: "large" };
    const many = Array.from({ length: 1001 }, (_none, n) => ({ type: "user", uuid: uuid(n), n }));
    const large = Array.from({ length: 3 }, (_none, n) => ({
      type: "user",
      uuid: uuid(2000 + n),
      text: "é".repeat(1_400_000),
    }));
    await store.append(key, [...many, ...large]);
    expect(await store.load(key)).toEqual([...many, ...large]);
  });

  it("keeps projects and subagents apart, also under long names, and deletes a session with its subagents", async () => {
    const projectKey = `-home-${"ü".repeat(200)}`;
    const main = { projectKey, sessionId: "s" };
    const subagent = { ...main, subpath: `subagents/agent-${"x".repeat(100)}` };
    await store.append(subagent, entries.slice(0, 1));
    expect(await store.load(main)).toBeNull();
    await store.append(main, entries);
    await store.append({ projectKey: "-other", sessionId: "s" }, entries.slice(0, 2));
    expect(await store.listSessions(projectKey)).toEqual([{ sessionId: "s", mtime: expect.any(Number) }]);
    expect(await store.listSubkeys(main)).toEqual([subagent.subpath]);
    expect(await store.listSessions("-nothing")).toEqual([]);
    await store.delete(subagent);
    expect(await store.load(main)).toEqual(entries);
    await store.append(subagent, entries);
    await store.delete(main);
    await store.delete(main);
    expect([await store.load(main), await store.load(subagent)]).toEqual([null, null]);
    expect(await store.load({ projectKey: "-other", sessionId: "s" })).toHaveLength(2);
  });

  it("refuses messages of other programs", async () => {
    const client = createSessionPoolClient({ baseUrl: server.httpUrl });
    await store.append({ projectKey: "-work", sessionId: "mixed" }, entries.slice(0, 1));
    const session = (await client.sessions.listSessions({})).sessions.find(({ metadata }) =>
      JSON.stringify(metadata).includes("mixed"),
    );
    // The adapter for Python gives the session the same id.
    expect(session?.sessionId).toBe("claude-7c7f8d520cea64ed5c397851-3f8fee624f43b2a9d6853532");
    await client.append(session?.sessionId ?? "", text("user", "Hello", { id: "m" }));
    await expect(store.load({ projectKey: "-work", sessionId: "mixed" })).rejects.toThrow('Message "m" is no entry');
  });
});

await describeWith("the Claude Agent SDK", installClaudeSdk, (installed) => {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), "session-pool-claude-")));
  const config = join(cwd, "config");
  const before = process.env.CLAUDE_CONFIG_DIR;
  let sdk: ClaudeSdk;

  beforeAll(async () => {
    process.env.CLAUDE_CONFIG_DIR = config;
    writeTranscripts(config, cwd);
    sdk = await loadClaudeSdk(installed);
  });

  afterAll(() => {
    if (before === undefined) delete process.env.CLAUDE_CONFIG_DIR;
    else process.env.CLAUDE_CONFIG_DIR = before;
    rmSync(cwd, { recursive: true });
  });

  it("moves a transcript to the store, and reads, renames and deletes it there", async () => {
    const options = { dir: cwd, sessionStore: store };
    await sdk.importSessionToStore(SESSION, store, { dir: cwd });
    await sdk.importSessionToStore(SESSION, store, { dir: cwd });
    const messages = await sdk.getSessionMessages(SESSION, options);
    expect(messages.map(({ uuid: id }) => id)).toEqual([1, 2, 3, 4].map(uuid));
    expect(await sdk.listSubagents(SESSION, options)).toEqual(["a1"]);
    await sdk.renameSession(SESSION, "Kyoto in May", options);
    expect(await sdk.listSessions(options)).toMatchObject([{ sessionId: SESSION, customTitle: "Kyoto in May" }]);
    await sdk.deleteSession(SESSION, options);
    expect(await sdk.listSessions(options)).toEqual([]);
  });
});
