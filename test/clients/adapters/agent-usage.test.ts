import {
  Agent,
  type Model,
  type ModelResponse,
  Runner,
  type StreamEvent,
  setTracingDisabled,
  tool,
  Usage,
} from "@openai/agents-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SessionPoolSession } from "../../../clients/typescript/src/adapters/openai-agents.js";
import { createSessionPoolClient, type SessionPoolClient } from "../../../clients/typescript/src/index.js";
import { startTestServer, type TestServer } from "../../support/server.js";

let server: TestServer;
let client: SessionPoolClient;

beforeAll(async () => {
  setTracingDisabled(true);
  server = await startTestServer();
  client = createSessionPoolClient({ baseUrl: server.httpUrl });
});

afterAll(() => server.stop());

const spent = (input: number, cached: number, output: number, reasoning: number) =>
  new Usage({
    ...{ requests: 1, inputTokens: input, outputTokens: output, totalTokens: input + output },
    inputTokensDetails: { cached_tokens: cached },
    outputTokensDetails: { reasoning_tokens: reasoning },
  });
const said = (text: string) => ({
  ...{ type: "message" as const, role: "assistant" as const, status: "completed" as const },
  content: [{ type: "output_text" as const, text }],
});
const call = (callId: string) => ({
  ...{ type: "function_call" as const, callId, name: "search", status: "completed" as const, arguments: "{}" },
});
const search = tool({
  name: "search",
  description: "Searches",
  parameters: { type: "object", properties: {}, required: [], additionalProperties: false } as never,
  strict: false,
  execute: async () => "4",
});

/** A model that calls a tool twice at once, and then answers. It fails when it has no more answers. */
function agentOf(answers: readonly ModelResponse[]) {
  const left = [...answers];
  const next = () => {
    const answer = left.shift();
    if (answer === undefined) throw new Error("The model is gone");
    return answer;
  };
  const model: Model & { readonly model: string } = {
    model: "fake-1",
    getResponse: async () => next(),
    async *getStreamedResponse(): AsyncIterable<StreamEvent> {
      const { output, usage } = next();
      const { inputTokens, outputTokens, totalTokens } = usage;
      const [input = {}, written = {}] = [usage.inputTokensDetails[0], usage.outputTokensDetails[0]];
      const reported = { inputTokens, outputTokens, totalTokens };
      yield {
        type: "response_done",
        response: {
          ...{ id: "r", output: output as never },
          usage: { ...reported, inputTokensDetails: input, outputTokensDetails: written },
        },
      };
    },
  };
  return new Agent({ name: "gardener", model, tools: [search] });
}

const TWO_STEPS: readonly ModelResponse[] = [
  { usage: spent(100, 60, 20, 5), output: [call("c1"), call("c2")] },
  { usage: spent(130, 100, 7, 0), output: [said("April")] },
];
const EXPECTED = [
  ["c2", { model: "fake-1", inputTokens: 100, outputTokens: 20, cachedInputTokens: 60, reasoningTokens: 5 }],
  ["April", { model: "fake-1", inputTokens: 130, outputTokens: 7, cachedInputTokens: 100, reasoningTokens: 0 }],
];

/** The usages of a session's messages, by the ids of calls and the texts of messages. */
async function usagesIn(sessionId: string): Promise<unknown[]> {
  const usages: unknown[] = [];
  for await (const { info, parts } of client.history(sessionId)) {
    if (info?.usage === undefined) continue;
    const known = Object.entries(info.usage).filter(([, value]) => value !== undefined && value !== "");
    usages.push([parts.at(-1)?.data?.callId ?? parts[0]?.text, Object.fromEntries(known)]);
  }
  return usages;
}

describe("the usage of a run of the OpenAI Agents SDK", () => {
  it.each([false, true])(
    "is kept once for each of its responses, with the last item of it (stream: %s)",
    async (stream) => {
      const sessionId = `run ${stream}`;
      const session = new SessionPoolSession(client, sessionId);
      const runner = new Runner();
      const agent = agentOf(TWO_STEPS);
      const result = stream
        ? await runner.run(agent, "When?", { session, stream: true })
        : await runner.run(agent, "When?", { session });
      if ("completed" in result) await result.completed;
      const items = await session.getItems();
      for (const one of [session, session, new SessionPoolSession(client, sessionId)]) await one.storeRunUsage(result);
      expect(await usagesIn(sessionId)).toEqual(EXPECTED);
      expect(await session.getItems()).toEqual(items);
      const again = await runner.run(agentOf([{ usage: spent(9, 0, 1, 0), output: [said("April")] }]), "Sure?", {
        session,
      });
      for (let i = 0; i < 2; i++) await session.storeRunUsage(again);
      expect((await usagesIn(sessionId)).slice(2)).toEqual([
        ["April", { model: "fake-1", inputTokens: 9, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0 }],
      ]);
    },
  );

  it("is that of the responses that are in the session when a run fails", async () => {
    const session = new SessionPoolSession(client, "failed");
    const result = await new Runner().run(agentOf(TWO_STEPS.slice(0, 1)), "When?", { session, stream: true });
    await result.completed.catch(() => {});
    await session.storeRunUsage(result);
    const stored = JSON.stringify(await session.getItems()).includes('"c2"');
    expect(await usagesIn("failed")).toEqual(stored ? EXPECTED.slice(0, 1) : []);
  });

  it("is left out as far as it is not possible, and is none when the model reports nothing", async () => {
    const session = new SessionPoolSession(client, "odd");
    const odd = { usage: spent(-1, 2.5, 7, 1e10), output: [said("odd")] };
    await session.storeRunUsage(await new Runner().run(agentOf([odd]), "1", { session }));
    const silent = { usage: new Usage(), output: [said("silent")] };
    await session.storeRunUsage(await new Runner().run(agentOf([silent]), "2", { session }));
    expect(await usagesIn("odd")).toEqual([["odd", { model: "fake-1", outputTokens: 7 }]]);
    await new SessionPoolSession(client, "missing").storeRunUsage({ rawResponses: TWO_STEPS });
    await expect(client.sessions.getSession({ sessionId: "missing" })).rejects.toThrow(/not_found/);
  });
});
