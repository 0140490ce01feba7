import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";
import type { AgentInputItem, Session } from "@openai/agents-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SessionPoolSession } from "../../clients/typescript/src/adapters/openai-agents.js";
import { createSessionPoolClient } from "../../clients/typescript/src/index.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { ITEMS, SCENARIOS, type Scenario, type Sdk, Stage, type Testing } from "./agents/scenarios.js";
import { differenceOf, outcomeOf } from "./differences.js";
import { installNewest, versionOf } from "./npm.js";
import { judge, type Outcome } from "./suite.js";

interface AgentsSdk {
  readonly version: string;
  readonly agents: Sdk & { OpenAIConversationsSession: new (options: object) => Session };
  readonly testing: Testing;
  readonly OpenAI: new (options: object) => object;
}

const STORED: Readonly<Record<string, Scenario>> = Object.fromEntries(
  Object.entries(ITEMS).map(([name, item]) => [
    `item: ${name}`,
    async (stage) => {
      await stage.session.addItems([item]);
      await stage.tell();
    },
  ]),
);

await describeWith("@openai/agents of npm", prepare, (sdk) => {
  let server: TestServer;

  beforeAll(async () => {
    sdk.agents.setTracingDisabled(true);
    server = await startTestServer({ openAi: true });
  });

  afterAll(() => server?.stop());

  it("runs agents with our session as with the SDK's own", async ({ task }) => {
    const client = createSessionPoolClient({ baseUrl: server.httpUrl });
    const make = () => new SessionPoolSession(client);
    const outcomes = await compare(sdk, { ...SCENARIOS, ...STORED }, make, withoutAbsent);
    const { problems, ...totals } = judge(outcomes, {});
    task.meta.suite = { sdk: `@openai/agents ${sdk.version}`, suite: "scenarios, as with MemorySession", ...totals };
    expect(problems).toEqual([]);
  });

  it("runs agents with the SDK's OpenAIConversationsSession and /v1 as without", async ({ task }) => {
    const client = new sdk.OpenAI({ baseURL: `${server.httpUrl}/v1`, apiKey: "none" });
    const make = () => new sdk.agents.OpenAIConversationsSession({ client });
    const outcomes = await compare(sdk, SCENARIOS, make, inShort);
    const { problems, ...totals } = judge(outcomes, CONVERSATIONS);
    task.meta.suite = { sdk: `@openai/agents ${sdk.version}`, suite: "OpenAIConversationsSession with /v1", ...totals };
    expect(problems).toEqual([]);
  });
});

const CONVERSATIONS = {
  "needs applyHistoryTransaction, which OpenAI's conversations do not have": [
    "guardrail that stops an answer after a tool",
  ],
};

async function prepare(): Promise<AgentsSdk> {
  const folder = await installNewest("openai-agents-js", ["@openai/agents@latest", "openai@latest", "zod@4"]);
  const load = (path: string) => import(pathToFileURL(join(folder, "node_modules", path)).href);
  return {
    version: await versionOf(folder, "@openai/agents"),
    agents: await load("@openai/agents/dist/index.mjs"),
    testing: await load("@openai/agents-core/dist/testing/index.mjs"),
    OpenAI: (await load("openai/index.mjs")).default,
  };
}

/** Runs each scenario with the SDK's MemorySession and with another session, and compares what they tell. */
async function compare(
  { agents, testing }: AgentsSdk,
  scenarios: Readonly<Record<string, Scenario>>,
  make: () => Session,
  view: (told: unknown) => unknown,
): Promise<Map<string, Outcome>> {
  const outcomes = new Map<string, Outcome>();
  for (const [name, scenario] of Object.entries(scenarios)) {
    const tell = async (session: Session) => {
      const stage = new Stage(agents, testing, session);
      await scenario(stage);
      return view(stage.told);
    };
    const run = async () => {
      const [expected, told] = [await tell(new agents.MemorySession()), await tell(make())];
      if (!isDeepStrictEqual(told, expected)) throw new Error(differenceOf(told, expected));
    };
    outcomes.set(name, await outcomeOf(run));
  }
  return outcomes;
}

/** Without fields that are undefined, which JSON does not have. */
function withoutAbsent(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutAbsent);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  const present = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(present.map(([name, field]) => [name, withoutAbsent(field)]));
}

/** What OpenAI's API keeps of items: it gives ids and states of its own, and texts as lists. */
function inShort(told: unknown): unknown {
  if (!Array.isArray(told)) return told;
  return told.map((one) => (isItem(one) ? shortItem(one) : inShort(one)));
}

function isItem(value: unknown): value is AgentInputItem {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function shortItem(item: AgentInputItem): unknown {
  const { role, content, callId, name, output, arguments: input } = item as Record<string, unknown>;
  const texts = Array.isArray(content) ? content.map(({ text }: { text?: string }) => text).join("") : content;
  const answer = typeof output === "object" ? (output as { text?: string }).text : output;
  return { role, texts, callId, arguments: input, answer, ...(item.type === "function_call" && { name }) };
}
