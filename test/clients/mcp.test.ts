import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { RootPool, SqliteStorageProvider } from "../../src/index.js";
import { Child, MAIN } from "../support/child.js";
import { documentedProgram } from "./documented.js";

const folder = mkdtempSync(join(tmpdir(), "session-pool-mcp-"));
const storage = `sqlite:${join(folder, "pool.db")}`;
const clients: Client[] = [];
const MIB = 1024 * 1024;

beforeAll(async () => {
  const provider = await SqliteStorageProvider.open(join(folder, "pool.db"));
  const rootPool = new RootPool({ storage: provider });
  await rootPool.sessions.createSession({ sessionId: "trip", title: "Kyoto in May" });
  for (const [id, role, text] of [
    ["m1", "user", "When do the azaleas bloom?"],
    ["m2", "assistant", "Late April to the middle of May."],
    ["m3", "user", "And the maples?"],
  ] as const) {
    await rootPool.sessions.appendMessage("trip", { id, role, parts: [{ id: "", type: "text", text }] });
  }
  await rootPool.close();
});

/** Makes a store with one session that has three attachments. */
async function makeAttachments(file: string): Promise<void> {
  const rootPool = new RootPool({ storage: await SqliteStorageProvider.open(file) });
  const { sessions } = rootPool;
  const sessionId = "pictures / logs";
  await sessions.createSession({ sessionId });
  const text = Buffer.from(`x${"ä".repeat(MIB)}`).subarray(0, 2 * MIB);
  await sessions.attachments.upload(sessionId, { attachmentId: "log", mediaType: "text/plain" }, text);
  await sessions.attachments.upload(sessionId, { attachmentId: "large", name: "large.bin" }, Buffer.alloc(2 * MIB));
  const picture = { attachmentId: "p/1", name: "p.png", mediaType: "image/png" };
  await sessions.attachments.upload(sessionId, picture, Buffer.from([0, 1, 2]));
  const parts = ["log", "large", "p/1"].map((attachmentId) => {
    return {
      id: "",
      type: "file",
      text: "",
      attachment: { attachmentId, mediaType: "", name: "", size: 0, sha256: "" },
    };
  });
  await sessions.appendMessage(sessionId, { id: "m", role: "user", parts });
  await rootPool.close();
}

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Starts `session-pool mcp` and connects the client of the MCP SDK to it. */
function connect(...flags: string[]): Promise<Client> {
  return connectTo(storage, ...flags);
}

async function connectTo(store: string, ...flags: string[]): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const args = [MAIN, "mcp", "--storage", store, ...flags];
  await client.connect(new StdioClientTransport({ command: process.execPath, args }));
  clients.push(client);
  return client;
}

/** Calls a tool. Resolves to its answer in JSON, or to the text of its error. */
async function call(client: Client, name: string, args: Record<string, unknown> = {}) {
  const { content, isError } = await client.callTool({ name, arguments: args });
  const { text } = (content as { text: string }[])[0]!;
  return isError ? text : JSON.parse(text);
}

describe("session-pool mcp", () => {
  it("offers only tools that read, unless writes are allowed", async () => {
    const { tools } = await (await connect()).listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "list_sessions",
      "read_session",
      "search_messages",
      "list_attachments",
      "list_todos",
    ]);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true);
    const refused = await (await connect()).callTool({ name: "append_message", arguments: { sessionId: "trip" } });
    expect(refused).toMatchObject({ isError: true });
    const writing = (await (await connect("--allow-writes")).listTools()).tools;
    expect(writing.filter(({ annotations }) => annotations?.destructiveHint).map(({ name }) => name)).toEqual([
      "remove_todo",
    ]);
  });

  it("is started by the configuration that docs/clients.md shows", async () => {
    const shown = JSON.parse(documentedProgram("json", "mcpServers")) as {
      mcpServers: Record<string, { command: string; args: string[] }>;
    };
    const args = shown.mcpServers["session-pool"]?.args ?? [];
    const [, , flag, place] = args.slice(args.indexOf("mcp") - 1);
    expect([flag, place]).toEqual(["--storage", expect.stringMatching(/^sqlite:\/.*\.db$/)]);
    const client = await connectTo(storage, ...args.slice(args.indexOf("mcp") + 3));
    expect((await client.listTools()).tools).toHaveLength(5);
  });

  it("offers the attachments that sessions show as resources, and their content as text or bytes", async () => {
    const file = join(folder, "attachments.db");
    await makeAttachments(file);
    const client = await connectTo(`sqlite:${file}`);
    const uri = (id: string) => `session-pool://session/pictures%20%2F%20logs/attachment/${id}`;
    const { resources } = await client.listResources();
    expect(resources).toMatchObject([
      { uri: uri("large"), name: "large.bin", mimeType: "application/octet-stream", size: 2 * MIB },
      { uri: uri("log"), name: "log", mimeType: "text/plain", size: 2 * MIB },
      { uri: uri("p%2F1"), name: "p.png", mimeType: "image/png", size: 3 },
    ]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      "session-pool://session/{session_id}/attachment/{attachment_id}",
    ]);
    const { attachments } = await call(client, "list_attachments", { sessionId: "pictures / logs" });
    expect(attachments[2]).toMatchObject({ attachmentId: "p/1", uri: uri("p%2F1"), messageIds: ["m"] });
    const picture = { uri: uri("p%2F1"), mimeType: "image/png", blob: "AAEC" };
    expect((await client.readResource({ uri: uri("p%2F1") })).contents).toEqual([picture]);
    const [log] = (await client.readResource({ uri: uri("log") })).contents;
    // A character that the limit cuts is left out.
    expect(log).toMatchObject({ text: `x${"ä".repeat(MIB / 2 - 1)}`, _meta: expect.any(Object) });
    await expect(client.readResource({ uri: uri("large") })).rejects.toThrow(/resource_exhausted.*2097152 bytes/);
    await expect(client.readResource({ uri: uri("none") })).rejects.toThrow(/not_found/);
    const ofOther = await connectTo(`sqlite:${file}`, "--owner", "ada");
    expect((await ofOther.listResources()).resources).toEqual([]);
    await expect(ofOther.readResource({ uri: uri("log") })).rejects.toThrow(/not_found/);
  });

  it("lists sessions, and reads one page by page", async () => {
    const client = await connect();
    expect((await call(client, "list_sessions")).sessions).toMatchObject([
      { sessionId: "trip", title: "Kyoto in May" },
    ]);
    const page = await call(client, "read_session", { sessionId: "trip", limit: 2 });
    expect(page.session.messageCount).toBe("3");
    expect(page.messages.map(({ info }: { info: { id: string } }) => info.id)).toEqual(["m2", "m3"]);
    const older = await call(client, "read_session", { sessionId: "trip", limit: 2, pageToken: page.nextPageToken });
    expect(older).toMatchObject({ messages: [{ info: { id: "m1" } }], nextPageToken: "" });
    expect(await call(client, "list_todos")).toMatchObject({ todos: [] });
  });

  it("reads a session of long outputs in answers of at most 64 KiB, and lists large sessions so, too", async () => {
    const path = join(folder, "long.db");
    const provider = await SqliteStorageProvider.open(path);
    const { sessions } = new RootPool({ storage: provider });
    const data = { out: "line of a log file\n".repeat(20_000) };
    for (let i = 0; i < 40; i++) {
      const metadata = { note: "é".repeat(i * 800) };
      await sessions.createSession({ sessionId: `s${i}`, title: "Long", metadata });
    }
    for (let i = 0; i < 5; i++)
      await sessions.appendMessage("s0", {
        id: `m${i}`,
        role: "tool",
        parts: [{ id: "", type: "tool_result", text: "", data }],
      });
    await provider.close();
    const client = await connectTo(`sqlite:${path}`);
    const outputs = new Map<string, string>();
    for (let pageToken: string | undefined; pageToken !== ""; ) {
      const { content } = await client.callTool({ name: "read_session", arguments: { sessionId: "s0", pageToken } });
      const { text } = (content as { text: string }[])[0]!;
      expect(Buffer.byteLength(JSON.stringify(text))).toBeLessThan(64 * 1024);
      const answer = JSON.parse(text);
      for (const { info, parts } of answer.messages)
        for (const { dataJson = "" } of parts) outputs.set(info.id, (outputs.get(info.id) ?? "") + dataJson);
      pageToken = answer.nextPageToken as string;
    }
    expect([...outputs].map(([id, json]) => [id, JSON.parse(json)])).toEqual(
      [4, 3, 2, 1, 0].map((i) => [`m${i}`, data]),
    );
    const ids: string[] = [];
    for (let pageToken: string | undefined; pageToken !== ""; ) {
      const { content } = await client.callTool({ name: "list_sessions", arguments: { limit: 100, pageToken } });
      const { text } = (content as { text: string }[])[0]!;
      expect(Buffer.byteLength(JSON.stringify(text))).toBeLessThan(64 * 1024);
      const answer = JSON.parse(text);
      for (const { sessionId } of answer.sessions) ids.push(sessionId);
      pageToken = answer.nextPageToken as string;
    }
    expect(new Set(ids).size).toBe(40);
    expect(ids).toHaveLength(40);
  });

  it("searches where the store has an index, and says how to make one where it has none", async () => {
    expect(await call(await connect(), "search_messages", { q: "azaleas" })).toBe(
      "unimplemented: The store has no index of words: a server that was started on this store with --search makes one; then start mcp again",
    );
    const path = join(folder, "indexed.db");
    const provider = await SqliteStorageProvider.open(path, { search: true });
    const { sessions } = new RootPool({ storage: provider });
    await sessions.createSession({ sessionId: "trip", labels: { topic: "travel" } });
    for (const id of ["a", "b"])
      await sessions.appendMessage("trip", {
        id,
        role: "user",
        parts: [{ id: "", type: "text", text: `azaleas ${id}` }],
      });
    await provider.close();
    const client = await connectTo(`sqlite:${path}`, "--allow-writes");
    const found = await call(client, "search_messages", { q: "azal*", label: ["topic=travel"], limit: 1 });
    expect(found).toMatchObject({ hits: [{ sessionId: "trip", messageId: "b" }] });
    const next = { q: "azal*", label: ["topic=travel"], limit: 1, pageToken: found.nextPageToken };
    expect(await call(client, "search_messages", next)).toMatchObject({ hits: [{ messageId: "a" }] });
    expect(await call(client, "read_session", { sessionId: "trip", messageId: "a" })).toMatchObject({
      session: { sessionId: "trip" },
      messages: [{ info: { id: "a" }, parts: [{ text: "azaleas a" }] }],
      nextPageToken: "",
    });
    await call(client, "append_message", { sessionId: "trip", role: "user", text: "maples" });
    expect((await call(client, "search_messages", { q: "maples" })).hits).toHaveLength(1);
    const { hits } = await call(client, "search_messages", {
      q: "azaleas",
      role: "user",
      until: "2100-01-01T00:00:00Z",
    });
    expect(hits).toMatchObject([{ partIndex: 0, partType: "text", field: "SEARCHED_FIELD_TEXT" }, { messageId: "a" }]);
    expect(await call(client, "search_messages", { q: "azaleas", role: "assistant" })).toMatchObject({ hits: [] });
    const since = "2100-01-01T00:00:00Z";
    expect(await call(client, "search_messages", { q: "azaleas", since })).toMatchObject({ hits: [] });
    expect(await call(client, "search_messages", { q: "!" })).toContain("invalid_argument");
  });

  it("appends, forks, reverts and unreverts", async () => {
    const client = await connect("--allow-writes");
    const said = { sessionId: "new", role: "user", text: "Is it far?", messageId: "q", createSession: true };
    expect(await call(client, "append_message", said)).toEqual({ messageId: "q", position: "0" });
    expect(await call(client, "append_message", said)).toEqual({ messageId: "q", position: "0" });
    const fork = await call(client, "fork_session", { sessionId: "trip", upToMessageId: "m1", newSessionId: "other" });
    expect(fork).toMatchObject({ copiedCount: "1", session: { sessionId: "other" } });
    const reverted = await call(client, "revert_session", { sessionId: "trip", upToMessageId: "m1" });
    expect(reverted).toMatchObject({ removedCount: "2" });
    expect(await call(client, "unrevert_session", { sessionId: "trip" })).toMatchObject({ restoredCount: "2" });
  });

  it("changes todos", async () => {
    const client = await connect("--allow-writes");
    const { id } = await call(client, "add_todo", { content: "Book the ryokan" });
    expect(await call(client, "update_todo", { id, status: "completed" })).toMatchObject({
      content: "Book the ryokan",
      status: "completed",
    });
    expect((await call(client, "list_todos")).todos).toHaveLength(1);
    await call(client, "remove_todo", { id });
    expect(await call(client, "list_todos")).toMatchObject({ todos: [] });
  });

  it("shows and changes nothing but the sessions of the owner that it is given", async () => {
    const path = join(folder, "owners.db");
    const provider = await SqliteStorageProvider.open(path, { search: true });
    const { sessions, todos } = new RootPool({ storage: provider });
    const long = "word ".repeat(20_000);
    for (const owner of ["ada", "bob"]) {
      await sessions.createSession({ sessionId: `of-${owner}`, owner });
      const parts = [{ id: "", type: "text", text: `${owner} ${long}` }];
      for (const id of ["m1", "m2"]) await sessions.appendMessage(`of-${owner}`, { id, role: "user", parts });
    }
    await sessions.createSession({ sessionId: "of-nobody" });
    await todos.add({ id: "t", content: "Shared", status: "pending", priority: "low" });
    await provider.close();
    const store = `sqlite:${path}`;
    const client = await connectTo(store, "--allow-writes", "--owner", "ada");
    const other = await connectTo(store, "--owner", "bob");
    const all = await connectTo(store);

    expect((await call(client, "list_sessions")).sessions).toMatchObject([{ sessionId: "of-ada", owner: "ada" }]);
    expect((await call(client, "search_messages", { q: "word" })).hits).toMatchObject([
      { sessionId: "of-ada" },
      { sessionId: "of-ada" },
    ]);
    expect(await call(client, "search_messages", { q: "bob" })).toMatchObject({ hits: [] });

    const missing = (sessionId: string) => `not_found: Session "${sessionId}" not found`;
    for (const sessionId of ["of-bob", "of-nobody", "nowhere"]) {
      const said = { sessionId, role: "user", text: "Hello" };
      expect(await call(client, "read_session", { sessionId })).toBe(missing(sessionId));
      expect(await call(client, "read_session", { sessionId, messageId: "m1" })).toBe(missing(sessionId));
      expect(await call(client, "search_messages", { q: "word", sessionId })).toBe(missing(sessionId));
      expect(await call(client, "append_message", said)).toBe(missing(sessionId));
      expect(await call(client, "fork_session", { sessionId })).toBe(missing(sessionId));
      expect(await call(client, "revert_session", { sessionId, toStart: true })).toBe(missing(sessionId));
      expect(await call(client, "unrevert_session", { sessionId })).toBe(missing(sessionId));
    }
    // An id that another session has is the one thing that shows.
    const taken = { sessionId: "of-ada", newSessionId: "of-bob" };
    expect(await call(client, "fork_session", taken)).toMatch(/^already_exists: /);
    expect(await call(client, "fork_session", taken)).not.toMatch(/owner|bob[^"]/);

    // Tokens of another owner's answers, within a message and between messages, lead nowhere.
    const within = (await call(other, "read_session", { sessionId: "of-bob" })).nextPageToken;
    expect(within).toMatch(/^~/);
    const between = (await call(all, "list_sessions", { limit: 1 })).nextPageToken;
    const found = (await call(other, "search_messages", { q: "word", limit: 1 })).nextPageToken;
    expect([between, found]).not.toContain("");
    expect(await call(client, "read_session", { sessionId: "of-bob", pageToken: within })).toBe(missing("of-bob"));
    const ofHers = await call(client, "read_session", { sessionId: "of-ada", pageToken: within });
    expect(JSON.stringify(ofHers)).not.toContain("bob");
    expect(await call(client, "list_sessions", { limit: 1, pageToken: between })).toMatch(/^invalid_argument: /);
    expect(await call(client, "search_messages", { q: "word", pageToken: found })).toMatch(/^invalid_argument: /);

    const made = { sessionId: "made", role: "user", text: "Mine", createSession: true };
    await call(client, "append_message", made);
    expect((await call(all, "read_session", { sessionId: "made" })).session).toMatchObject({ owner: "ada" });
    expect((await call(client, "list_todos")).todos).toMatchObject([{ content: "Shared" }]);
  });

  it("hides the todo list from an owner if told to, and from nobody else", async () => {
    const flags = ["--allow-writes", "--hide-todos-from-owners"];
    const todo = { content: "Book the ryokan" };
    const bound = await connect("--owner", "ada", ...flags);
    const denied = (rpc: string) =>
      `permission_denied: ${rpc} needs a caller without an owner: --hide-todos-from-owners hides the todo list`;
    expect(await call(bound, "list_todos")).toBe(denied("ListTodos"));
    expect(await call(bound, "add_todo", todo)).toBe(denied("AddTodo"));
    expect(await call(bound, "update_todo", { id: "t", status: "completed" })).toBe(denied("UpdateTodo"));
    expect(await call(bound, "remove_todo", { id: "t" })).toBe(denied("RemoveTodo"));
    const { id } = await call(await connect(...flags), "add_todo", todo);
    expect(await call(await connect("--allow-writes"), "remove_todo", { id })).toEqual({});
  });

  it.each([
    ["", /must not be empty/],
    ["o".repeat(129), /--owner is 129 bytes; at most 128 are allowed/],
    ["a\nb", /--owner must not contain control characters/],
  ])("refuses the owner %j at start", async (owner, message) => {
    const { code, stderr } = await new Child(["mcp", "--storage", storage, "--owner", owner]).ended();
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  });

  it("returns the errors of the service, and refuses arguments that it does not know", async () => {
    const client = await connect("--allow-writes");
    expect(await call(client, "read_session", { sessionId: "nobody" })).toBe('not_found: Session "nobody" not found');
    expect(await call(client, "revert_session", { sessionId: "trip" })).toBe(
      "invalid_argument: up_to_message_id or to_start is required",
    );
    expect(await call(client, "list_sessions", { limit: 101 })).toContain("limit");
    expect(await call(client, "list_sessions", { order: "title" })).toContain("order");
  });

  it("answers all requests but canceled ones when the input ends right after them, and exits with 0", async () => {
    const child = new Child(["mcp", "--storage", storage, "--allow-writes"]);
    const request = (id: number, method: string, params: object) => ({ jsonrpc: "2.0", id, method, params });
    const append = (id: number) =>
      request(id, "tools/call", {
        name: "append_message",
        arguments: { sessionId: "piped", role: "user", text: "Now", messageId: `p${id}`, createSession: true },
      });
    const client = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    const lines = [
      request(1, "initialize", client),
      { jsonrpc: "2.0", method: "notifications/initialized" },
      append(2),
      append(3),
      append(4),
      { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 4 } },
      request(5, "no/such", {}),
    ];
    child.process.stdin?.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const { code, stdout, stderr } = await child.ended();
    const answers = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    answers.sort((a, b) => a.id - b.id);
    expect(answers).toMatchObject([
      { id: 1, result: {} },
      { id: 2, result: { content: [{ type: "text" }] } },
      { id: 3, result: { content: [{ type: "text" }] } },
      { id: 5, error: { code: -32601 } },
    ]);
    expect(answers.filter(({ result }) => result?.isError)).toEqual([]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  it("ends without an error when its client has gone before an answer", async () => {
    const child = new Child(["mcp", "--storage", storage, "--allow-writes"]);
    const { stdin, stdout } = child.process;
    const send = (message: object) => stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const client = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
    send({ id: 1, method: "initialize", params: client });
    await expect.poll(() => child.stdout).toContain("\n");
    stdout?.destroy();
    send({ method: "notifications/initialized" });
    const said = { sessionId: "gone", role: "user", text: "Now", messageId: "g", createSession: true };
    send({ id: 2, method: "tools/call", params: { name: "append_message", arguments: said } });
    stdin?.end();
    expect(await child.ended()).toMatchObject({ code: 0, stderr: "" });
    expect(await call(await connect(), "read_session", { sessionId: "gone" })).toMatchObject({
      messages: [{ info: { id: "g" } }],
    });
  });

  it("keeps to the limits that it is given", async () => {
    const sessionId = "x".repeat(150);
    expect(await call(await connect(), "read_session", { sessionId })).toContain("at most 128");
    const client = await connect("--limit-id-bytes", "200");
    expect(await call(client, "read_session", { sessionId })).toBe(`not_found: Session "${sessionId}" not found`);
  });

  it("opens the namespace that it is given, and makes no database", async () => {
    expect((await call(await connect("--namespace", "empty"), "list_sessions")).sessions).toEqual([]);
    const args = [MAIN, "mcp", "--storage", `sqlite:${join(folder, "absent.db")}`];
    const transport = new StdioClientTransport({ command: process.execPath, args, stderr: "pipe" });
    const errors: string[] = [];
    transport.stderr?.on("data", (text) => errors.push(`${text}`));
    await expect(new Client({ name: "test", version: "1" }).connect(transport)).rejects.toThrow();
    await expect.poll(() => errors.join("")).toContain("absent.db");
  });
});
