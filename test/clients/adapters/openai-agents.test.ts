import type { AgentInputItem } from "@openai/agents-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SessionPoolSession } from "../../../clients/typescript/src/adapters/openai-agents.js";
import { createSessionPoolClient, type SessionPoolClient, text } from "../../../clients/typescript/src/index.js";
import { startTestServer, type TestServer } from "../../support/server.js";

let server: TestServer;
let client: SessionPoolClient;

beforeAll(async () => {
  server = await startTestServer();
  client = createSessionPoolClient({ baseUrl: server.httpUrl });
});

afterAll(() => server.stop());

const ITEMS: AgentInputItem[] = [
  { type: "message", role: "user", content: [{ type: "input_text", text: "Wann blühen die Azaleen in 京都?" }] },
  { type: "function_call", callId: "c1", name: "search", status: "completed", arguments: '{"query":"azalea"}' },
  {
    type: "function_call_result",
    callId: "c1",
    name: "search",
    status: "completed",
    output: { type: "text", text: "4" },
  },
  {
    type: "message",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: "Late April. 👩‍🌾", providerData: { annotations: [] } }],
  },
];

describe("a session of the OpenAI Agents SDK", () => {
  it("returns its items as they were added, all of them or the last ones", async () => {
    const session = new SessionPoolSession(client, "items");
    expect(await session.getItems()).toEqual([]);
    await session.addItems(ITEMS.slice(0, 2));
    await session.addItems(ITEMS.slice(2));
    await session.addItems([]);
    expect(await session.getItems()).toEqual(ITEMS);
    expect(await session.getItems(2)).toEqual(ITEMS.slice(2));
    expect(await session.getItems(0)).toEqual([]);
    expect(await new SessionPoolSession(client, "items").getItems()).toEqual(ITEMS);
  });

  it("keeps items with U+FFFD where they were cut inside a character", async () => {
    const session = new SessionPoolSession(client, "cut");
    const item = (content: string): AgentInputItem => ({ type: "message", role: "user", content });
    await session.addItems([item("cut \ud83d")]);
    expect(await session.getItems()).toEqual([item("cut \ufffd")]);
  });

  it("takes more items at once than fit into one request", async () => {
    const session = new SessionPoolSession(client, "large");
    const content = "x".repeat(1024 * 1024);
    const items = Array.from(
      { length: 9 },
      (_, i): AgentInputItem => ({ type: "message", role: "user", content: `${i}${content}` }),
    );
    await session.addItems(items);
    expect(await session.getItems()).toEqual(items);
  });

  it("removes its last item, once for each call", async () => {
    const session = new SessionPoolSession(client, "pop");
    expect(await session.popItem()).toBeUndefined();
    await session.addItems(ITEMS);
    const popped = await Promise.all(ITEMS.map(() => session.popItem()));
    expect(new Set(popped.map((item) => JSON.stringify(item))).size).toBe(ITEMS.length);
    expect(await session.popItem()).toBeUndefined();
  });

  it("is empty after being cleared, and can be used again", async () => {
    const session = new SessionPoolSession(client, "clear");
    await session.clearSession();
    await session.addItems(ITEMS);
    await session.clearSession();
    expect(await session.getItems()).toEqual([]);
    await session.addItems(ITEMS.slice(0, 1));
    expect(await session.getItems()).toEqual(ITEMS.slice(0, 1));
  });

  it("makes an id when none is given", async () => {
    const session = new SessionPoolSession(client);
    expect(await session.getSessionId()).toMatch(/^[0-9A-Z]{26}$/);
    expect(await session.getSessionId()).toBe(await session.getSessionId());
  });

  it("reads the texts of other programs", async () => {
    const session = new SessionPoolSession(client, "other");
    await client.append("other", [text("user", "Hello"), text("assistant", "Hi")], { createSession: true });
    expect(await session.getItems()).toMatchObject([
      { role: "user", content: "Hello" },
      { role: "assistant", content: [{ type: "output_text", text: "Hi" }] },
    ]);
    await client.append("other", { info: { role: "tool" }, parts: [{ type: "tool_result", data: { output: 42 } }] });
    expect((await session.getItems())[2]).toMatchObject({
      role: "user",
      content: '{"type":"tool_result","output":42}',
    });
  });

  it("keeps binary data, and values that JSON lacks as what JSON.stringify makes of them", async () => {
    const session = new SessionPoolSession(client, "json");
    const image = { type: "message", role: "user", content: [{ type: "input_image", image: new Uint8Array([1, 2]) }] };
    const at = { ...image, content: [{ type: "input_text", text: "now", providerData: { at: new Date(0) } }] };
    await session.addItems([ITEMS[0]!, image as never, at as never]);
    expect(await session.getItems()).toEqual([ITEMS[0], image, JSON.parse(JSON.stringify(at))]);
  });
});
