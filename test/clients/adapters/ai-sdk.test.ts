import type { UIMessage } from "ai";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { loadUIMessages, saveUIMessages } from "../../../src/adapters/ai-sdk.js";
import { Code, createSessionPoolClient, type SessionPoolClient, text } from "../../../src/client/index.js";
import { startTestServer, type TestServer } from "../../support/server.js";

let server: TestServer;
let client: SessionPoolClient;

beforeAll(async () => {
  server = await startTestServer();
  client = createSessionPoolClient({ baseUrl: server.httpUrl });
});

afterAll(() => server.stop());

const question: UIMessage = {
  id: "q",
  role: "user",
  metadata: { sentAt: 1_780_000_000_123 },
  parts: [
    { type: "text", text: "Wann blühen die Azaleen in 京都?" },
    { type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" },
  ],
};

/** An answer as streamText leaves it, with a tool call that has its result and a finished text. */
const answer: UIMessage = {
  id: "a",
  role: "assistant",
  parts: [
    { type: "step-start" },
    { type: "reasoning", text: "Look it up.", providerMetadata: { openai: { itemId: "rs_1" } } },
    {
      type: "tool-search",
      toolCallId: "c1",
      state: "output-available",
      input: { query: "azalea", limits: [1, 2.5, null] },
      output: { found: true },
    },
    { type: "text", text: "" },
    { type: "text", text: "Late April.\u0000 👩‍🌾" },
    { type: "source-url", sourceId: "s", url: "https://example.com/azaleas" },
    { type: "data-chart", id: "d", data: { points: [[1, 2]] } },
  ],
};

describe("messages of the AI SDK", () => {
  it("are those of one caller when two save the same question with different answers at once", async () => {
    for (let round = 0; round < 20; round++) {
      const sessionId = `two-${round}`;
      const answers = ["a1", "a2"].map((id) => ({ ...answer, id }));
      const saves = answers.map((one) => saveUIMessages(client, sessionId, [question, one]));
      const outcomes = await Promise.allSettled(saves);
      const saved = answers.filter((_, i) => outcomes[i]?.status === "fulfilled");
      expect(await loadUIMessages(client, sessionId)).toMatchObject([question, ...saved]);
      expect(saved).toHaveLength(1);
      expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: Code.Aborted } });
    }
  });

  it("come back as they were saved", async () => {
    await saveUIMessages(client, "whole", [question, answer]);
    expect(await loadUIMessages(client, "whole")).toEqual([question, answer]);
  });

  it("are saved together even if they do not fit into one request", async () => {
    const url = `data:image/png;base64,${"A".repeat(1024 * 1024)}`;
    const messages = Array.from({ length: 9 }, (_, i): UIMessage => {
      return { id: `m${i}`, role: "user", parts: [{ type: "file", mediaType: "image/png", url }] };
    });
    await saveUIMessages(client, "large", messages);
    expect(await loadUIMessages(client, "large")).toEqual(messages);
  });

  it("are an empty list for a missing session", async () => {
    expect(await loadUIMessages(client, "nobody")).toEqual([]);
  });

  it("are stored once, no matter how often they are saved", async () => {
    await saveUIMessages(client, "twice", [question]);
    await saveUIMessages(client, "twice", [question, answer]);
    const { revision } = await client.sessions.getSession({ sessionId: "twice" });
    await saveUIMessages(client, "twice", [question, answer]);
    expect(await client.sessions.getSession({ sessionId: "twice" })).toMatchObject({ messageCount: 2, revision });
  });

  it("are stored with U+FFFD where they were cut inside a character, and only once", async () => {
    const cut = (half: string): UIMessage => ({
      id: "a",
      role: "assistant",
      metadata: { model: half },
      parts: [
        { type: "text", text: half },
        { type: "dynamic-tool", toolName: "t", toolCallId: "c", state: "output-available", input: {}, output: [half] },
      ],
    });
    await saveUIMessages(client, "cut", [cut("cut \ud83d")]);
    expect(await loadUIMessages(client, "cut")).toEqual([cut("cut \ufffd")]);
    const { revision } = await client.sessions.getSession({ sessionId: "cut" });
    await saveUIMessages(client, "cut", [cut("cut \ud83d")]);
    expect(await client.sessions.getSession({ sessionId: "cut" })).toMatchObject({ revision });
  });

  it.each([5, true, [], null, "abc", { $number: "1" }, [{ a: 1 }]])(
    "come back with their metadata, whatever JSON it is: %o",
    async (metadata) => {
      const sessionId = `metadata-${JSON.stringify(metadata)}`;
      await saveUIMessages(client, sessionId, [{ ...question, metadata }]);
      expect(await loadUIMessages(client, sessionId)).toEqual([{ ...question, metadata }]);
    },
  );

  it("get new content and keep their place when they have grown", async () => {
    const half = { ...answer, parts: answer.parts.slice(0, 2) };
    await saveUIMessages(client, "grown", [question, half]);
    await saveUIMessages(client, "grown", [question, answer]);
    expect(await loadUIMessages(client, "grown")).toEqual([question, answer]);
  });

  it("get a new role when nothing else has changed", async () => {
    await saveUIMessages(client, "role", [question]);
    const changed: UIMessage = { ...question, role: "system" };
    await saveUIMessages(client, "role", [changed]);
    expect(await loadUIMessages(client, "role")).toEqual([changed]);
    const { revision } = await client.sessions.getSession({ sessionId: "role" });
    await saveUIMessages(client, "role", [changed]);
    expect(await client.sessions.getSession({ sessionId: "role" })).toMatchObject({ revision });
  });

  it("that a regeneration has dropped are reverted", async () => {
    await saveUIMessages(client, "again", [question, answer]);
    await saveUIMessages(client, "again", [question]);
    expect(await client.sessions.getSession({ sessionId: "again" })).toMatchObject({ messageCount: 1, reverted: true });
    await saveUIMessages(client, "again", [question, { ...answer, id: "b" }]);
    expect((await loadUIMessages(client, "again")).map(({ id }) => id)).toEqual(["q", "b"]);
    await saveUIMessages(client, "again", []);
    expect(await loadUIMessages(client, "again")).toEqual([]);
  });

  it("that another program appends during a regeneration stay, and the call fails with aborted", async () => {
    await saveUIMessages(client, "race", [question, answer]);
    const { sessions } = client;
    const racing: SessionPoolClient = Object.create(client, {
      sessions: {
        value: Object.create(sessions, {
          revertSession: {
            value: async (request: Parameters<typeof sessions.revertSession>[0]) => {
              await client.append("race", text("user", "Me, too", { id: "x" }));
              return sessions.revertSession(request);
            },
          },
        }),
      },
    });
    const saved = saveUIMessages(racing, "race", [question, { ...answer, id: "b" }]);
    await expect(saved).rejects.toMatchObject({ code: Code.Aborted });
    expect((await loadUIMessages(client, "race")).map(({ id }) => id)).toEqual(["q", "a", "x"]);
  });

  it("are stored without the state that says whether a text is still streaming", async () => {
    const streaming: UIMessage = { ...answer, parts: [{ type: "text", text: "Late", state: "streaming" }] };
    await saveUIMessages(client, "state", [streaming]);
    expect((await loadUIMessages(client, "state"))[0]?.parts).toEqual([{ type: "text", text: "Late" }]);
  });

  it("can be read from the texts of other programs, and are refused if the SDK cannot represent them", async () => {
    await client.append("other", text("user", "Plain", { id: "p" }), { createSession: true });
    expect(await loadUIMessages(client, "other")).toEqual([
      { id: "p", role: "user", parts: [{ type: "text", text: "Plain" }] },
    ]);
    await client.append("other", text("tool", "42", { id: "t" }));
    await expect(loadUIMessages(client, "other")).rejects.toThrow(
      'Message "t" has the role "tool", which the AI SDK lacks',
    );
  });

  it("are stored as JSON.stringify gives them, whatever a tool has returned", async () => {
    const outputs = [new Date(0), Number.NaN, new Map([["a", 1]]), { toJSON: () => 1 }, [1, undefined], 10n];
    const expected = ["1970-01-01T00:00:00.000Z", null, {}, 1, [1, null], "10"];
    const withOutputs = (values: readonly unknown[]): UIMessage => {
      const call = { type: "tool-db", state: "output-available", input: {} } as const;
      return { ...answer, parts: values.map((output, i) => ({ ...call, toolCallId: `c${i}`, output })) };
    };
    await saveUIMessages(client, "values", [question, withOutputs(outputs)]);
    expect(await loadUIMessages(client, "values")).toEqual([question, withOutputs(expected)]);
    const { revision } = await client.sessions.getSession({ sessionId: "values" });
    await saveUIMessages(client, "values", [question, withOutputs(outputs)]);
    expect(await client.sessions.getSession({ sessionId: "values" })).toMatchObject({ revision });
  });

  it("are stored with their largest output cut when they are too large, and the others whole", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const output = "x".repeat(4 * 1024 * 1024);
    const call = { type: "tool-read", toolCallId: "c", state: "output-available", input: {}, output } as const;
    await saveUIMessages(client, "cut output", [question, { id: "a", role: "assistant", parts: [call] }]);
    const [first, second] = await loadUIMessages(client, "cut output");
    expect(first).toEqual(question);
    expect(second?.metadata).toEqual({ truncated: [{ path: "parts[0].data.output", length: output.length }] });
    expect(second?.parts).toMatchObject([{ ...call, output: expect.stringMatching(/^x+… \[truncated: /) }]);
    expect(warn).toHaveBeenCalledOnce();
    warn.mockRestore();
  });
});
