import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { SessionPoolStore } from "../../../clients/typescript/src/adapters/claude-agent.js";
import { hasCode } from "../../../clients/typescript/src/adapters/missing.js";
import {
  Code,
  ConnectError,
  createSessionPoolClient,
  type SessionPoolClient,
  text,
} from "../../../clients/typescript/src/index.js";
import { startTestServer, type TestServer } from "../../support/server.js";
import { describeWith } from "../../support/toolchain.js";
import {
  type ClaudeSdk,
  installClaudeSdk,
  loadClaudeSdk,
  SESSION,
  SPENT,
  transcript,
  transcriptWithUsage,
  uuid,
  writeTranscripts,
} from "./claude-sdk.js";

let server: TestServer;
let client: SessionPoolClient;
let store: SessionPoolStore;

beforeAll(async () => {
  server = await startTestServer();
  client = createSessionPoolClient({ baseUrl: server.httpUrl });
  store = new SessionPoolStore(client);
});

afterAll(() => server.stop());

/** What `transcriptWithUsage` took: by the ids of messages, without fields that are absent. */
const SPENT_USAGES = [
  [uuid(102), { model: "claude-opus-4", inputTokens: 100, outputTokens: 25, cachedInputTokens: 90 }],
  [uuid(105), { model: "claude-opus-4", inputTokens: 100, outputTokens: 8, cachedInputTokens: 90 }],
];

async function usagesIn(from: SessionPoolClient, sessionId: string): Promise<unknown[]> {
  const usages: unknown[] = [];
  for await (const { info } of from.history(sessionId)) {
    const known = Object.entries(info?.usage ?? {}).filter(([, value]) => value !== undefined && value !== "");
    if (info?.usage !== undefined) usages.push([info.id, Object.fromEntries(known)]);
  }
  return usages;
}

/** A store as if the service had no attachments. */
function withoutAttachments(): SessionPoolStore {
  const uploadAttachment = () => Promise.reject(new ConnectError("None", Code.Unimplemented));
  return new SessionPoolStore({ ...client, uploadAttachment });
}

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

  it("leaves a fork of a transcript alone", async () => {
    const key = { projectKey: "-forked", sessionId: "s" };
    await store.append(key, entries);
    const { sessions } = await client.sessions.listSessions({ limit: 1 });
    const fork = await client.sessions.forkSession({ sessionId: sessions[0]!.sessionId });
    expect(await store.listSubkeys(key)).toEqual([]);
    await store.delete(key);
    expect(await store.load(key)).toBeNull();
    const kept = await client.sessions.getSession({ sessionId: fork.session!.sessionId });
    expect(kept.parentId).toBe(sessions[0]!.sessionId);
  });

  it("keeps projects and subagents apart, also under long names, and deletes a session with its subagents", async () => {
    const projectKey = `-home-${"ü".repeat(200)}`;
    const main = { projectKey, sessionId: "s" };
    const subagent = { ...main, subpath: `subagents/agent-${"x".repeat(100)}` };
    await store.append(subagent, entries.slice(0, 1));
    expect(await store.load(main)).toBeNull();
    expect(await store.listSessions(projectKey)).toEqual([]);
    expect(await store.listSubkeys(main)).toEqual([subagent.subpath]);
    await store.append(main, entries);
    await store.append({ projectKey: "-other", sessionId: "s" }, entries.slice(0, 2));
    expect(await store.listSessions(projectKey)).toEqual([{ sessionId: "s", mtime: expect.any(Number) }]);
    expect(await store.listSubkeys(main)).toEqual([subagent.subpath]);
    expect(await store.listSessions("-nothing")).toEqual([]);
    await store.delete(subagent);
    expect(await store.load(main)).toEqual(entries);
    await new SessionPoolStore(client).append(subagent, entries);
    await store.delete(main);
    await store.delete(main);
    expect([await store.load(main), await store.load(subagent)]).toEqual([null, null]);
    expect(await store.load({ projectKey: "-other", sessionId: "s" })).toHaveLength(2);
  });

  it("has the words of user and assistant for those who read and search, and no payload of a tool", async () => {
    const key = { projectKey: "-work", sessionId: "words" };
    const entry = (type: string, n: number, content: unknown) => ({ type, uuid: uuid(4000 + n), message: { content } });
    await store.append(key, [
      entry("user", 1, "find the quokka"),
      entry("assistant", 2, [
        { type: "text", text: "I look" },
        { type: "tool_use", id: "t", name: "find", input: {} },
      ]),
      entry("user", 3, [{ type: "tool_result", tool_use_id: "t", content: "payload" }]),
      { type: "summary", uuid: uuid(4004), summary: "Animals" },
    ]);
    const { messages } = await client.messages.listMessages({ sessionId: await idOf("words") });
    expect(messages.map(({ parts }) => parts.map(({ type, text: words }) => [type, words]))).toEqual([
      [
        ["text", "find the quokka"],
        ["claude_agent", expect.stringContaining("quokka")],
      ],
      [
        ["text", "I look"],
        ["claude_agent", expect.stringContaining("tool_use")],
      ],
      [["claude_agent", expect.stringContaining("payload")]],
      [["claude_agent", expect.stringContaining("Animals")]],
    ]);
  });

  it("stores entries with values that JSON lacks, and with ids that no message may have", async () => {
    const key = { projectKey: "-work", sessionId: "odd" };
    const odd = [
      { type: "user", uuid: "x".repeat(300), n: 1 },
      { type: "user", uuid: "x".repeat(300), n: 2 },
      { type: "user", uuid: "a\nb", at: new Date(0) },
      { type: "", uuid: "." },
      { type: "user", uuid: uuid(5000), big: 2n ** 64n },
    ];
    await store.append(key, odd);
    expect(await store.load(key)).toEqual([
      odd[0],
      { ...odd[2], at: "1970-01-01T00:00:00.000Z" },
      odd[3],
      { ...odd[4], big: "18446744073709551616" },
    ]);
  });

  it("reads what the adapter for Python writes", async () => {
    const key = { projectKey: "-work", sessionId: "python" };
    await store.append(key, entries.slice(0, 1));
    const written = '{"type":"user","uuid":"p","n":[NaN,-Infinity,Infinity,9223372036854775807],"s":"NaN \\" \\ud83d"}';
    const info = { id: "p", role: "user" };
    await client.append(await idOf("python"), { info, parts: [{ type: "claude_agent", text: written }] });
    const n = [null, null, null, 2 ** 63];
    expect((await store.load(key))?.[1]).toEqual({ type: "user", uuid: "p", n, s: 'NaN " \ud83d' });
  });

  it("keeps large texts, images and documents of entries beside them, and leaves a page small", async () => {
    const key = { projectKey: "-work", sessionId: "attached" };
    const subagent = { ...key, subpath: "subagents/a" };
    const data = "A".repeat(4 * 1024 * 1024);
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data } };
    const pdf = {
      type: "document",
      title: "Plan",
      source: { type: "base64", media_type: "application/pdf", data: "A".repeat(8000) },
    };
    const lines = '"line"\n'.repeat(1024 * 1024);
    const large = [
      {
        type: "user",
        uuid: uuid(6201),
        message: { role: "user", content: [{ type: "text", text: lines }, image, pdf] },
      },
      { type: "user", uuid: uuid(6202), toolUseResult: { stdout: lines, stderr: `${"x".repeat(300_000)}\ud83d` } },
      { type: "user", uuid: uuid(6203), numbers: Array.from({ length: 1_000_000 }, (_none, n) => n) },
    ];
    await store.append(key, large);
    await store.append(key, large);
    await store.append(subagent, large.slice(0, 1));
    expect(await store.load(key)).toEqual(large);
    expect(await store.load(subagent)).toEqual(large.slice(0, 1));
    const sessionId = await idOf("attached");
    const page = await client.messages.listMessages({ sessionId });
    expect(JSON.stringify(page).length).toBeLessThan(200_000);
    const [words, entry] = page.messages[0]?.parts ?? [];
    expect(words).toMatchObject({ type: "text", text: lines.slice(0, 16 * 1024) });
    expect(JSON.parse(entry?.text ?? "")).toMatchObject({
      message: { content: [{ text: lines.slice(0, 16 * 1024) }, {}, {}] },
    });
    vi.spyOn(client, "downloadAttachment").mockRejectedValue(new ConnectError("Gone", Code.NotFound));
    expect((await store.load(key))?.map(({ uuid }) => uuid)).toEqual(large.map(({ uuid }) => uuid));
    vi.restoreAllMocks();
  });

  it("cuts the largest texts of an entry over 3 MiB without attachments, and leaves out its files as a whole", async () => {
    const key = { projectKey: "-work", sessionId: "cuts" };
    const data = "A".repeat(4 * 1024 * 1024);
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data } };
    const lines = '"line"\n'.repeat(1024 * 1024);
    const large = [
      { type: "user", uuid: uuid(6001), message: { role: "user", content: [{ type: "text", text: "See" }, image] } },
      { type: "user", uuid: uuid(6002), toolUseResult: { stdout: lines, stderr: "short" } },
      { type: "user", uuid: uuid(6003), numbers: Array.from({ length: 1_000_000 }, (_none, n) => n) },
    ];
    const cutting = withoutAttachments();
    await cutting.append(key, large);
    await cutting.append(key, large);
    const loaded = await store.load(key);
    expect(loaded).toMatchObject([
      { uuid: uuid(6001), message: { content: [{ text: "See" }, { type: "text" }] } },
      { uuid: uuid(6002), toolUseResult: { stderr: "short" } },
      { uuid: uuid(6003), numbers: expect.stringMatching(/^\[0,1,2.*… \[truncated: \d+ of 6888891 characters\]$/s) },
    ]);
    const [first, second] = loaded as [(typeof large)[0], { toolUseResult: { stdout: string } }];
    expect(first?.message?.content[1]).toEqual({
      type: "text",
      text: `[truncated: image of ${data.length} characters]`,
    });
    const { stdout } = second.toolUseResult;
    expect(stdout.length).toBeGreaterThan(2_000_000);
    expect(lines.startsWith(stdout.slice(0, 2_000_000))).toBe(true);
    const { messages } = await client.messages.listMessages({ sessionId: await idOf("cuts"), limit: 1 });
    expect(messages[0]?.info?.metadata).toEqual({
      truncated: [{ path: "message.content[1]", length: data.length }],
    });
  });

  it("keeps the form of an entry over 3 MiB whatever it consists of", async () => {
    const key = { projectKey: "-work", sessionId: "forms" };
    const texts = Array.from({ length: 1500 }, (_none, n) => ({ type: "text", text: `${n}`.padEnd(5000, "x") }));
    const fields = Array.from({ length: 20_000 }, (_none, n) => [
      `field${n}`,
      n % 9 ? "v".repeat(200) : "\0".repeat(500),
    ]);
    await withoutAttachments().append(key, [
      { type: "user", uuid: uuid(6101), message: { role: "user", content: texts } },
      {
        type: "user",
        uuid: uuid(6102),
        message: { role: "user", content: `${"\n".repeat(2 ** 21)}${"x".repeat(2 ** 21)}` },
      },
      { type: "user", uuid: uuid(6103), parentUuid: uuid(6102), ...Object.fromEntries(fields) },
      { type: "user", uuid: uuid(6104), ["k".repeat(2 ** 22)]: 1 },
    ]);
    const loaded = (await store.load(key)) as unknown as { message: { content: readonly unknown[] } }[];
    expect(loaded[0]?.message.content.slice(-1)).toEqual(texts.slice(-1));
    expect(loaded).toMatchObject([
      { uuid: uuid(6101), message: { role: "user", content: texts.map(() => ({ type: "text" })) } },
      { uuid: uuid(6102), message: { role: "user", content: expect.stringMatching(/^\n+… \[truncated: /) } },
      { uuid: uuid(6103), parentUuid: uuid(6102), others: expect.stringMatching(/^{"field0":.*… \[truncated: /) },
      { type: "user", uuid: uuid(6104), others: expect.stringMatching(/^{"kkk.*… \[truncated: /) },
    ]);
  });

  it("is not made again after it was deleted, by whoever has seen it", async () => {
    const key = { projectKey: "-work", sessionId: "deleted" };
    const subagent = { ...key, subpath: "subagents/a" };
    const reader = new SessionPoolStore(client);
    await store.append(key, entries.slice(0, 1));
    await store.append(subagent, entries.slice(0, 1));
    await reader.load(key);
    await store.delete(key);
    const late = { ...subagent, subpath: "subagents/late" };
    for (const attempt of [
      () => store.append(key, entries.slice(1)),
      () => store.append(subagent, entries.slice(1)),
      () => store.append(late, entries.slice(1)),
      () => reader.append(key, entries.slice(1)),
    ])
      await expect(attempt()).rejects.toSatisfy((error) => hasCode(error, Code.NotFound));
    expect([await store.load(key), await store.load(subagent), await store.load(late)]).toEqual([null, null, null]);
    await new SessionPoolStore(client).append(key, entries);
    expect(await store.load(key)).toEqual(entries);
  });

  it.each([0, 1, 2, 3])("keeps its chain, calls and results when entry %i is erased", async (at) => {
    const key = { projectKey: "-work", sessionId: `erased-${at}` };
    const common = { sessionId: "s", cwd: "/work", isSidechain: false };
    const chain = [
      ["user", "secret"],
      [
        "assistant",
        [
          { type: "tool_use", id: "t1", name: "find", input: {} },
          { type: "tool_use", id: "t2", name: "find", input: {} },
        ],
      ],
      [
        "user",
        [
          { type: "tool_result", tool_use_id: "t1", content: "x" },
          { type: "tool_result", tool_use_id: "t2", content: "y" },
        ],
      ],
      ["assistant", [{ type: "text", text: "secret" }]],
    ].map(([type, content], n) => ({
      ...common,
      type: `${type}`,
      uuid: uuid(7000 + n),
      parentUuid: n === 0 ? null : uuid(6999 + n),
      message: { role: type, content },
    }));
    await store.append(key, chain);
    await client.messages.eraseMessage({ sessionId: await idOf(key.sessionId), messageId: chain[at]!.uuid });
    const loaded = (await store.load(key)) as typeof chain;
    expect(loaded.filter((_, i) => i !== at)).toEqual(chain.filter((_, i) => i !== at));
    expect(loaded[at]).toMatchObject({ ...chain[at], timestamp: expect.any(String), message: expect.anything() });
    const blocks = JSON.stringify(loaded[at]?.message.content);
    expect(blocks).toContain("[erased]");
    for (const id of ["t1", "t2"]) expect(blocks.includes(`"${id}"`)).toBe(at === 1 || at === 2);
    // Appending the transcript again does not bring the content back.
    await store.append(key, chain);
    expect(await store.load(key)).toEqual(loaded);
  });

  it("gives the texts of other programs a place in the chain", async () => {
    await store.append({ projectKey: "-work", sessionId: "mixed" }, entries.slice(0, 1));
    // The adapter for Python gives the session the same id.
    expect(await idOf("mixed")).toBe("claude-7c7f8d520cea64ed5c397851-3f8fee624f43b2a9d6853532");
    await client.append(await idOf("mixed"), [
      text("user", "Hello", { id: "m" }),
      text("planner", "Plan", { id: "n" }),
    ]);
    const loaded = await store.load({ projectKey: "-work", sessionId: "mixed" });
    expect(loaded?.slice(1)).toMatchObject([
      { type: "user", uuid: "m", parentUuid: entries[0]?.uuid, message: { role: "user", content: "Hello" } },
      { type: "system", uuid: "n", parentUuid: "m", content: "Plan" },
    ]);
  });

  it("counts each response once, with its last numbers, however its entries come", async () => {
    const spent = transcriptWithUsage("/work");
    const orders = {
      whole: [spent, spent],
      split: [spent.slice(0, 3), spent.slice(2, 4), spent.slice(3), spent],
      single: spent.map((one) => [one]),
    };
    for (const [sessionId, calls] of Object.entries(orders)) {
      const key = { projectKey: "-work", sessionId };
      for (const call of calls) await store.append(key, call);
      expect(await store.load(key)).toEqual(spent);
      expect(await usagesIn(client, await idOf(sessionId))).toEqual(SPENT_USAGES);
    }
  });

  it("keeps entries whose usage is not possible, without it", async () => {
    const key = { projectKey: "-work", sessionId: "odd usage" };
    const usage = { input_tokens: -3, cache_read_input_tokens: 1e12, output_tokens: 2.5 };
    const odd = { type: "assistant", uuid: uuid(301), message: { id: "m", model: "x\u0000", content: [], usage } };
    await store.append(key, [odd]);
    expect(await store.load(key)).toEqual([odd]);
    expect(await usagesIn(client, await idOf("odd usage"))).toEqual([]);
    await new SessionPoolStore(client).append(key, [odd]);
    expect(await store.load(key)).toEqual([odd]);
  });

  /** The id of the session of a main transcript of the project. */
  async function idOf(sessionId: string): Promise<string> {
    const { sessions } = await client.sessions.listSessions({ limit: 1000 });
    const kept = (metadata: unknown) =>
      (metadata as { claude_agent?: { session_id?: string } } | undefined)?.claude_agent;
    return sessions.find(({ metadata }) => kept(metadata)?.session_id === sessionId)?.sessionId ?? "";
  }
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

  it("counts what a transcript says that it moves, and nothing of the copies in a fork", async () => {
    for (const batchSize of [2, 100]) await sdk.importSessionToStore(SPENT, store, { dir: cwd, batchSize });
    const { sessionId } = await sdk.forkSession(SPENT, { dir: cwd, sessionStore: store });
    const { sessions } = await client.sessions.listSessions({ limit: 1000 });
    const idsOf = (id: string) =>
      sessions.filter(({ metadata }) => JSON.stringify(metadata ?? {}).includes(`"${id}"`)).map((one) => one.sessionId);
    const [forked = ""] = idsOf(sessionId);
    const [imported = ""] = idsOf(SPENT);
    expect(await usagesIn(client, imported)).toEqual(SPENT_USAGES);
    expect(await usagesIn(client, forked)).toEqual([]);
    expect((await client.messages.countMessages({ sessionId: forked })).count).toBeGreaterThan(3);
    for (const id of [SPENT, sessionId]) await sdk.deleteSession(id, { dir: cwd, sessionStore: store });
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
