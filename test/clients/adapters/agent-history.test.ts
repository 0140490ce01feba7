import {
  Agent,
  type AgentInputItem,
  MemorySession,
  type Model,
  type OutputGuardrail,
  protocol,
  run,
  type SessionHistoryTransactionArgs,
  setTracingDisabled,
  tool,
  Usage,
} from "@openai/agents-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasCode } from "../../../clients/typescript/src/adapters/missing.js";
import { SessionPoolSession } from "../../../clients/typescript/src/adapters/openai-agents.js";
import {
  Code,
  ConnectError,
  createSessionPoolClient,
  type SessionPoolClient,
  text,
} from "../../../clients/typescript/src/index.js";
import { startTestServer, type TestServer } from "../../support/server.js";

let server: TestServer;
let client: SessionPoolClient;

beforeAll(async () => {
  setTracingDisabled(true);
  server = await startTestServer();
  client = createSessionPoolClient({ baseUrl: server.httpUrl });
});

afterAll(() => server.stop());

const user = (content: string): AgentInputItem => ({ type: "message", role: "user", content });
const call = (callId: string, args = "{}"): AgentInputItem => ({
  type: "function_call",
  callId,
  name: "pay",
  status: "completed",
  arguments: args,
});
const result = (callId: string): AgentInputItem => ({
  type: "function_call_result",
  callId,
  name: "pay",
  status: "completed",
  output: { type: "text", text: "paid" },
});
const append = (operationId: string, ...items: AgentInputItem[]): SessionHistoryTransactionArgs => ({
  operationId,
  transaction: { type: "append_items", items },
});
const replace = (
  operationId: string,
  expectedSuffix: AgentInputItem[],
  replacement: AgentInputItem[],
): SessionHistoryTransactionArgs => ({
  operationId,
  transaction: { type: "replace_suffix", expectedSuffix, replacement },
});

describe("the history of a session of the OpenAI Agents SDK", () => {
  it("keeps the calls of a run whose answer a guardrail refused, as the SDK's own session does", async () => {
    const session = new SessionPoolSession(client, "guardrail");
    const own = new MemorySession();
    for (const one of [own, session]) await expect(runWithGuardrail(one)).rejects.toThrow("guardrail");
    const types = (await session.getItems()).map(({ type }) => type);
    expect(types).toEqual((await own.getItems()).map(({ type }) => type));
    expect(types).toContain("function_call_result");
  });

  it("takes transactions once for each operation, and refuses another transaction with its id", async () => {
    const session = new SessionPoolSession(client, "operations");
    const own = new MemorySession();
    for (const one of [own, session]) {
      await one.applyHistoryTransaction(append("a", user("1"), call("c")));
      await one.applyHistoryTransaction(append("a", user("1"), call("c")));
      await expect(one.applyHistoryTransaction(append("a", user("2")))).rejects.toThrow();
      await one.applyHistoryTransaction(replace("b", [call("c")], [call("c"), result("c")]));
      await one.applyHistoryTransaction(replace("b", [call("c")], [call("c"), result("c")]));
      await expect(one.applyHistoryTransaction(replace("c", [user("1")], []))).rejects.toThrow();
      await one.applyHistoryTransaction(append("none"));
      await expect(one.applyHistoryTransaction(append("none", user("3")))).rejects.toThrow();
      await one.popItem();
      await one.applyHistoryTransaction(append("a", user("1"), call("c")));
      await one.applyHistoryTransaction(replace("d", [call("c")], []));
      await expect(one.applyHistoryTransaction(append(" "))).rejects.toThrow();
    }
    expect(await own.getItems()).toEqual([user("1")]);
    expect(await session.getItems()).toEqual(await own.getItems());
    expect(await session.getItems(1)).toEqual([user("1")]);
    expect(await session.popItem()).toEqual(user("1"));
    expect(await session.popItem()).toBeUndefined();
    await session.clearSession();
    await session.applyHistoryTransaction(append("a", user("again")));
    expect(await session.getItems()).toEqual([user("again")]);
  });

  it("applies an operation once, however many ask for it at the same time", async () => {
    const session = new SessionPoolSession(client, "simultaneous");
    await session.addItems([user("1"), user("2")]);
    const sessions = Array.from({ length: 5 }, () => new SessionPoolSession(client, "simultaneous"));
    const args = replace("op", [user("2")], [user("3"), user("4")]);
    await Promise.all(sessions.map((one) => one.applyHistoryTransaction(args)));
    expect(await session.getItems()).toEqual([user("1"), user("3"), user("4")]);
    const rivals = sessions.map((one, i) =>
      one.applyHistoryTransaction(replace(`${i}`, [user("4")], [user(`new ${i}`)])),
    );
    const outcomes = await Promise.allSettled(rivals);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await session.getItems()).toHaveLength(3);
  });

  it("shows a transaction from the moment that it is stored, even if what it replaces is still there", async () => {
    const session = new SessionPoolSession(client, "half");
    await session.addItems([user("1"), user("2")]);
    const { messages } = client;
    const dying = { ...client, messages: { ...messages, deleteMessage: () => Promise.reject(new Error("died")) } };
    const args = replace("op", [user("2")], [user("3")]);
    const attempt = new SessionPoolSession(dying, "half").applyHistoryTransaction(args);
    await expect(attempt).rejects.toThrow("died");
    expect(await session.getItems()).toEqual([user("1"), user("3")]);
    await session.applyHistoryTransaction(args);
    expect(await session.getItems()).toEqual([user("1"), user("3")]);
    expect(await client.messages.countMessages({ sessionId: "half" })).toMatchObject({ count: 3 });
  });

  it("gives calls new content, and removes those that repeat their id", async () => {
    const session = new SessionPoolSession(client, "mutations");
    const own = new MemorySession();
    const replacement = call("c", '{"a":1}') as Extract<AgentInputItem, { type: "function_call" }>;
    for (const one of [own, session]) {
      await one.addItems([user("q"), call("c"), result("c"), call("c"), call("d")]);
      await one.applyHistoryMutations({ mutations: [{ type: "replace_function_call", callId: "c", replacement }] });
      await one.applyHistoryMutations({ mutations: [] });
    }
    expect(await session.getItems()).toEqual(await own.getItems());
  });

  it("does not come back after the session was deleted", async () => {
    const session = new SessionPoolSession(client, "deleted");
    await session.addItems([user("q"), call("c")]);
    const reader = new SessionPoolSession(client, "deleted");
    await reader.getItems();
    await client.sessions.deleteSession({ sessionId: "deleted" });
    for (const one of [session, reader]) {
      const added = one.addItems([result("c")]);
      await expect(added).rejects.toSatisfy((error) => hasCode(error, Code.NotFound));
      const applied = one.applyHistoryTransaction(append("op", result("c")));
      await expect(applied).rejects.toSatisfy((error) => hasCode(error, Code.NotFound));
    }
    expect(await reader.getItems()).toEqual([]);
    await new SessionPoolSession(client, "deleted").addItems([user("new")]);
    expect(await reader.getItems()).toEqual([user("new")]);
  });
});

describe("an erased message of a session of the OpenAI Agents SDK", () => {
  const items: AgentInputItem[] = [
    { type: "message", role: "system", content: "secret" },
    user("secret"),
    call("c1"),
    call("c2"),
    result("c1"),
    result("c2"),
    { type: "shell_call", callId: "s", status: "completed", action: { commands: ["ls"] } },
    {
      type: "shell_call_output",
      callId: "s",
      output: [{ stdout: "x", stderr: "", outcome: { type: "exit", exitCode: 0 } }],
    },
    { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "secret" }] },
  ];

  it.each(items.map((_, i) => [i]))(
    "at place %i is an item that the SDK takes, and has the other half of its pair",
    async (at) => {
      const session = new SessionPoolSession(client, `erased-${at}`);
      await session.addItems(items);
      await erase(`erased-${at}`, [at]);
      const loaded = await session.getItems();
      expect(loaded).toHaveLength(items.length);
      expect(loaded.filter((_, i) => i !== at)).toEqual(items.filter((_, i) => i !== at));
      expect(loaded[at]).toMatchObject({ type: items[at]!.type });
      expect(pairsOf(loaded)).toEqual(pairsOf(items));
      for (const item of loaded) expect(protocol.ModelItem.safeParse(item).success).toBe(true);
      // What is saved again, as after a compaction, does not bring the content back.
      await session.clearSession();
      await session.addItems(loaded);
      expect(await session.getItems()).toEqual(loaded);
    },
  );

  it("is a message where its other half is erased, too", async () => {
    const session = new SessionPoolSession(client, "erased-pair");
    await session.addItems(items);
    await erase("erased-pair", [2, 4]);
    const loaded = await session.getItems();
    expect([loaded[2], loaded[4]]).toMatchObject([{ role: "assistant" }, { role: "assistant" }]);
    expect(pairsOf(loaded)).toEqual(pairsOf(items).filter((id) => id !== "c1"));
  });

  async function erase(sessionId: string, places: number[]): Promise<void> {
    const { messages } = await client.messages.listMessages({ sessionId });
    for (const at of places) await client.messages.eraseMessage({ sessionId, messageId: messages[at]!.info!.id });
  }
});

describe("what an item of the OpenAI Agents SDK says", () => {
  it("is read and found by all, and of tools only what they are", async () => {
    const session = new SessionPoolSession(client, "readable");
    await session.addItems([call("c"), result("c"), user("find the quokka")]);
    const view = 2;
    const { sessions } = await client.sessions.listSessions({ view });
    const listed = sessions.find(({ sessionId }) => sessionId === "readable");
    expect(listed?.lastMessage).toMatchObject({ role: "user", text: "find the quokka" });
    const { messages } = await client.messages.listMessages({ sessionId: "readable" });
    expect(messages.map(({ info, parts }) => [info?.role, ...parts.map(({ type }) => type)])).toEqual([
      ["assistant", "function_call"],
      ["tool", "function_call_result"],
      ["user", "text", "message"],
    ]);
  });

  it("may be anything, and is kept", async () => {
    const session = new SessionPoolSession(client, "opaque");
    const opaque = [
      { __enc__: 1, v: 1, payload: "gAAAA" },
      { type: null, role: null, content: null },
      { type: "text", text: "x" },
      { type: "x".repeat(500), role: "y".repeat(500), content: [null, 3, "z"] },
      { id: "msg_1" },
      { role: "user", content: "no type" },
      {},
      { type: "erased" },
    ];
    await session.addItems(opaque as never);
    expect(await session.getItems()).toEqual(opaque);
  });

  it("is still read from the form of earlier versions", async () => {
    const data = { type: "message", role: "user", content: "Hello" };
    const old = { info: { role: "user" }, parts: [{ type: "message", text: "Hello", data }] };
    await client.append("old", old, { createSession: true });
    await client.append("old", text("planner", "Go on"));
    expect(await new SessionPoolSession(client, "old").getItems()).toEqual([data, user("Go on")]);
  });

  it("comes back whole however large it is, and leaves a page of messages small", async () => {
    const session = new SessionPoolSession(client, "whole");
    const image = { type: "input_image", image: `data:image/png;base64,${"A".repeat(4 * 1024 * 1024)}` };
    const file = { type: "input_file", file: `data:application/pdf;base64,${"A".repeat(8000)}`, filename: "plan.pdf" };
    const items = [
      {
        type: "message",
        role: "user",
        content: [{ type: "input_text", text: "x".repeat(4 * 1024 * 1024) }, image, file],
      },
      { ...result("c"), output: "é".repeat(2 * 1024 * 1024) },
      { ...result("d"), output: [{ type: "image", image: { data: new Uint8Array(10_000), mediaType: "image/png" } }] },
    ] as AgentInputItem[];
    await session.addItems(items);
    expect(await session.getItems()).toEqual(items);
    const page = await client.messages.listMessages({ sessionId: "whole" });
    expect(JSON.stringify(page).length).toBeLessThan(100_000);
    expect(page.messages[0]?.parts[0]?.text).toBe("x".repeat(16 * 1024));
    expect(page.messages[0]?.parts.map(({ attachment }) => attachment?.name)).toEqual(["", "", "", "plan.pdf"]);
    const transaction = {
      type: "replace_suffix",
      expectedSuffix: items.slice(1),
      replacement: items.slice(2),
    } as const;
    await session.applyHistoryTransaction({ operationId: "replace", transaction } as SessionHistoryTransactionArgs);
    await session.applyHistoryTransaction({ operationId: "replace", transaction } as SessionHistoryTransactionArgs);
    expect(await session.getItems()).toEqual([items[0], items[2]]);
    expect(await session.popItem()).toEqual(items[2]);
    expect(await session.popItem()).toEqual(items[0]);
    await client.sessions.deleteSession({ sessionId: "whole" });
    await expect(session.addItems(items)).rejects.toMatchObject({ code: Code.NotFound });
  });

  it("is cut where it is over 3 MiB and the service has no attachments, but a file is left out as a whole", async () => {
    const uploadAttachment = () => Promise.reject(new ConnectError("None", Code.Unimplemented));
    const session = new SessionPoolSession({ ...client, uploadAttachment }, "large");
    const output = "é".repeat(2 * 1024 * 1024);
    const image = { type: "input_image", image: `data:image/png;base64,${"A".repeat(4 * 1024 * 1024)}` };
    const items = [
      user("q"),
      { ...result("c"), output },
      { ...result("d"), output: [{ type: "input_text", text: "here" }, image] },
      user("x".repeat(2 * 1024 * 1024)),
    ] as AgentInputItem[];
    await session.addItems(items);
    const loaded = (await session.getItems()) as { output: string }[];
    expect([loaded[0], loaded[3]]).toEqual([items[0], items[3]]);
    expect(loaded[1]!.output).toMatch(/^é{1500000}.*… \[truncated: \d+ of 2097152 characters\]$/);
    expect(loaded[2]!.output).toEqual([
      { type: "input_text", text: "here" },
      { type: "input_text", text: expect.stringMatching(/^\[truncated: \d+ of 4194326 characters\]$/) },
    ]);
  });
});

/** The ids of calls that have a result after them. */
function pairsOf(items: readonly AgentInputItem[]): unknown[] {
  const ids = items.map((item) => ("callId" in item ? item.callId : undefined));
  return ids.filter((id, i) => id !== undefined && ids.indexOf(id, i + 1) !== -1);
}

async function runWithGuardrail(session: MemorySession | SessionPoolSession): Promise<unknown> {
  const outputs = [
    [call("c1")],
    [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "secret" }] }],
  ] as never[];
  const model: Model = {
    getResponse: async () => ({ usage: new Usage(), output: outputs.shift()! }),
    getStreamedResponse() {
      throw new Error("The test uses no streams");
    },
  };
  const pay = tool({
    name: "pay",
    description: "pays",
    strict: false,
    parameters: { type: "object", properties: {}, required: [], additionalProperties: true },
    execute: async () => "paid",
  });
  const refuse: OutputGuardrail = {
    name: "guardrail",
    execute: async () => ({ outputInfo: {}, tripwireTriggered: true }),
  };
  return run(new Agent({ name: "Guide", model, tools: [pay], outputGuardrails: [refuse] }), "pay please", { session });
}
