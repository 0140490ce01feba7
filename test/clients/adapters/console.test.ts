import type { AgentInputItem } from "@openai/agents-core";
import type { UIMessage } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { saveUIMessages } from "../../../clients/typescript/src/adapters/ai-sdk.js";
import { SessionPoolStore } from "../../../clients/typescript/src/adapters/claude-agent.js";
import { SessionPoolSession } from "../../../clients/typescript/src/adapters/openai-agents.js";
import { createSessionPoolClient, type SessionPoolClient } from "../../../clients/typescript/src/index.js";
import type { Message } from "../../../src/console/app/api/types.js";
import { CallIndex } from "../../../src/console/app/parts/call-index.js";
import { outcomeOf } from "../../../src/console/app/parts/outcome.js";
import { viewsOf } from "../../../src/parts/recognise.js";
import { startTestServer, type TestServer } from "../../support/server.js";

/**
 * The parts that the console shows for the messages that each adapter stores: a question, a tool call that fails, and
 * an answer.
 */
describe("the console recognises the parts of messages stored by", () => {
  let server: TestServer;
  let client: SessionPoolClient;

  beforeAll(async () => {
    server = await startTestServer({ openAi: true });
    client = createSessionPoolClient({ baseUrl: server.httpUrl });
  });

  afterAll(() => server.stop());

  async function post(path: string, body: unknown): Promise<{ id: string }> {
    const headers = { "content-type": "application/json" };
    const response = await fetch(server.httpUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
    expect(response.status).toBe(200);
    return (await response.json()) as { id: string };
  }

  async function stored(sessionId: string): Promise<readonly Message[]> {
    const response = await fetch(`${server.httpUrl}/session/${encodeURIComponent(sessionId)}/message`);
    return ((await response.json()) as { messages: Message[] }).messages;
  }

  async function expectConversation(sessionId: string): Promise<void> {
    const messages = await stored(sessionId);
    const calls = new CallIndex();
    calls.add(messages, 0);
    const views = messages.flatMap((message) => viewsOf(message).map((view) => ({ view, message })));
    const texts = views.filter(({ view }) => view.kind === "text");
    expect(texts.map(({ view, message }) => [message.info.role, view])).toEqual([
      ["user", { kind: "text", text: "When do the azaleas bloom?" }],
      ["assistant", { kind: "text", text: "I cannot look it up." }],
    ]);
    const outcomes = views.flatMap(({ view, message }) =>
      view.kind === "call" ? [{ ...view, ...outcomeOf(view, message.info.timestamp, calls.result(view.callId)) }] : [],
    );
    expect(outcomes).toMatchObject([
      { callId: "c1", name: "search", args: { query: "azalea" }, output: { text: "ConnectionError: no route" } },
    ]);
    expect(views.filter(({ view }) => view.kind === "data")).toEqual([]);
  }

  it("the AI SDK's adapter", async () => {
    const messages: UIMessage[] = [
      { id: "q", role: "user", parts: [{ type: "text", text: "When do the azaleas bloom?" }] },
      {
        id: "a",
        role: "assistant",
        parts: [
          { type: "step-start" },
          {
            type: "tool-search",
            toolCallId: "c1",
            state: "output-error",
            input: { query: "azalea" },
            errorText: "ConnectionError: no route",
          },
          { type: "text", text: "I cannot look it up." },
        ],
      },
    ];
    await saveUIMessages(client, "ai-sdk", messages);
    await expectConversation("ai-sdk");
  });

  it("the OpenAI Agents SDK's adapter", async () => {
    const items: AgentInputItem[] = [
      { type: "message", role: "user", content: "When do the azaleas bloom?" },
      { type: "function_call", callId: "c1", name: "search", status: "completed", arguments: '{"query":"azalea"}' },
      {
        type: "function_call_result",
        callId: "c1",
        name: "search",
        status: "completed",
        output: { type: "text", text: "ConnectionError: no route" },
      },
      {
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "I cannot look it up." }],
      },
    ];
    await new SessionPoolSession(client, "agents").addItems(items);
    await expectConversation("agents");
  });

  it("the Claude Agent SDK's adapter", async () => {
    const key = { projectKey: "-work", sessionId: "claude" };
    const entry = (type: string, uuid: string, content: unknown) => ({ type, uuid, message: { role: type, content } });
    await new SessionPoolStore(client).append(key, [
      entry("user", "u1", "When do the azaleas bloom?"),
      entry("assistant", "u2", [{ type: "tool_use", id: "c1", name: "search", input: { query: "azalea" } }]),
      entry("user", "u3", [
        { type: "tool_result", tool_use_id: "c1", is_error: true, content: "ConnectionError: no route" },
      ]),
      entry("assistant", "u4", [{ type: "text", text: "I cannot look it up." }]),
      { type: "summary", uuid: "u5", summary: "About azaleas" },
    ]);
    const { sessions } = await client.sessions.listSessions({ limit: 1 });
    await expectConversation(sessions[0]!.sessionId);
    const last = (await stored(sessions[0]!.sessionId)).at(-1)!;
    expect(viewsOf(last)).toMatchObject([{ kind: "note", label: "summary", text: "About azaleas" }]);
  });

  it("OpenAI's conversations", async () => {
    const { id } = await post("/v1/conversations", {
      items: [
        { type: "message", role: "user", content: "When do the azaleas bloom?" },
        { type: "function_call", call_id: "c1", name: "search", arguments: '{"query":"azalea"}' },
        { type: "function_call_output", call_id: "c1", output: "ConnectionError: no route" },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "I cannot look it up." }] },
      ],
    });
    await expectConversation(id);
  });

  /** The messages are as `message_to_dict` of langchain-core 1.7.0 and the adapter for Python write them. */
  it("LangChain's adapter", async () => {
    const rest = { additional_kwargs: {}, response_metadata: {}, id: null };
    const kept = (type: string, data: object) => ({
      type: "langchain",
      data: { type, data: { ...rest, type, ...data } },
    });
    const call = { name: "search", args: { query: "azalea" }, id: "c1", type: "tool_call" };
    const result = { name: "search", tool_call_id: "c1", artifact: null, status: "error" };
    const message = (role: string, text: string, part: object) => ({
      info: { role },
      parts: [{ type: "text", text }, part],
    });
    await post("/session", { sessionId: "langchain" });
    await post("/session/langchain/message:batch", {
      messages: [
        message("user", "When do the azaleas bloom?", kept("human", { name: null })),
        message("assistant", "", kept("ai", { tool_calls: [call], invalid_tool_calls: [], usage_metadata: null })),
        message("tool", "ConnectionError: no route", kept("tool", result)),
        message("assistant", "I cannot look it up.", kept("ai", { tool_calls: [], invalid_tool_calls: [] })),
      ],
    });
    await expectConversation("langchain");
  });
});
