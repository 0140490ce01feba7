import type { AgentInputItem, Session } from "@openai/agents-core";

export type Sdk = typeof import("@openai/agents-core");
export type Testing = typeof import("@openai/agents-core/testing");

type Steps = ConstructorParameters<Testing["ScriptedModel"]>[0];

/** A conversation of agents with a scripted model. `told` gets what the program that runs them sees. */
export type Scenario = (stage: Stage) => Promise<void>;

/** What a scenario runs on: the SDK, a session, and what was told so far. */
export class Stage {
  readonly told: unknown[] = [];
  readonly #sdk: Sdk;
  readonly #testing: Testing;
  readonly session: Session;

  constructor(sdk: Sdk, testing: Testing, session: Session) {
    this.#sdk = sdk;
    this.#testing = testing;
    this.session = session;
  }

  text(text: string) {
    return this.#testing.assistantMessage(text);
  }

  call(name: string, args: Record<string, unknown>, callId: string) {
    return this.#testing.functionCall(name, args, { callId });
  }

  model(steps: Steps) {
    return new this.#testing.ScriptedModel(steps);
  }

  agent(model: ReturnType<Stage["model"]>, options: object = {}) {
    return new this.#sdk.Agent({ name: "Guide", model, ...options });
  }

  tool(name: string, answer: () => unknown, options: object = {}) {
    const parameters = { type: "object" as const, properties: {}, required: [], additionalProperties: true as const };
    const execute = async () => answer();
    return this.#sdk.tool({ name, description: name, parameters, strict: false, execute, ...options });
  }

  /** Runs a turn, streamed or not. Tells its output, or the name of its error. */
  async run(agent: unknown, input: unknown, options: object = {}) {
    try {
      const all = { session: this.session, ...options };
      const result = await this.#sdk.run(agent as never, input as never, all);
      const streamed = result as { completed?: Promise<void>; toTextStream?: () => AsyncIterable<string> };
      if (streamed.toTextStream !== undefined) for await (const _ of streamed.toTextStream());
      await streamed.completed;
      this.told.push(result.interruptions.length > 0 ? "interrupted" : result.finalOutput);
      return result;
    } catch (error) {
      this.told.push((error as Error).name);
      return undefined;
    }
  }

  /** Tells what the model was asked, and what the session holds. */
  async tell(model?: ReturnType<Stage["model"]>): Promise<void> {
    if (model !== undefined) this.told.push(model.calls.map(({ request }) => request.input));
    this.told.push(await this.session.getItems());
  }
}

const question = (content: string): AgentInputItem => ({ type: "message", role: "user", content });

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  async "two turns"(stage) {
    const model = stage.model([[stage.text("In May.")], [stage.text("In November.")]]);
    const agent = stage.agent(model);
    await stage.run(agent, "When do the azaleas bloom?");
    await stage.run(agent, "And the maples? 🍁");
    await stage.tell(model);
  },
  async "streamed turns"(stage) {
    const model = stage.model([[stage.text("In May.")], [stage.text("In November.")]]);
    const agent = stage.agent(model);
    await stage.run(agent, "When do the azaleas bloom?", { stream: true });
    await stage.run(agent, "And the maples?", { stream: true });
    await stage.tell(model);
  },
  async "two tools at a time"(stage) {
    const calls = [stage.call("bloom", { place: "京都" }, "c1"), stage.call("bloom", { id: "7" }, "c2")];
    const model = stage.model([calls, [stage.text("Late April.")], [stage.text("Yes.")]]);
    const tools = [stage.tool("bloom", () => ({ months: [4, 5], at: new Date(0), none: null }))];
    const agent = stage.agent(model, { tools });
    await stage.run(agent, "When?");
    await stage.run(agent, "Sure?");
    await stage.tell(model);
  },
  async "tool that fails"(stage) {
    const model = stage.model([[stage.call("bloom", {}, "c1")], [stage.text("I do not know.")]]);
    const tool = stage.tool("bloom", () => {
      throw new Error("No such garden");
    });
    await stage.run(stage.agent(model, { tools: [tool] }), "When?");
    await stage.tell(model);
  },
  async "handoff to another agent"(stage) {
    const model = stage.model([[stage.call("transfer_to_Gardener", {}, "h1")], [stage.text("In May.")]]);
    const gardener = stage.agent(model, { name: "Gardener" });
    await stage.run(stage.agent(model, { handoffs: [gardener] }), "When?");
    await stage.tell(model);
  },
  async "tool that is approved"(stage) {
    const model = stage.model([[stage.call("pay", { yen: 700 }, "c1")], [stage.text("Paid.")], [stage.text("Bye.")]]);
    const agent = stage.agent(model, { tools: [stage.tool("pay", () => "done", { needsApproval: true })] });
    const asked = await stage.run(agent, "Pay the entry");
    const [interruption] = asked?.interruptions ?? [];
    await stage.tell();
    if (asked === undefined || interruption === undefined) return;
    asked.state.approve(interruption);
    await stage.run(agent, asked.state);
    await stage.run(agent, "Thanks");
    await stage.tell(model);
  },
  async "tool that is refused"(stage) {
    const model = stage.model([[stage.call("pay", { yen: 700 }, "c1")], [stage.text("Not paid.")]]);
    const agent = stage.agent(model, { tools: [stage.tool("pay", () => "done", { needsApproval: true })] });
    const asked = await stage.run(agent, "Pay the entry");
    const [interruption] = asked?.interruptions ?? [];
    if (asked === undefined || interruption === undefined) return;
    asked.state.reject(interruption);
    await stage.run(agent, asked.state);
    await stage.tell(model);
  },
  async "guardrail that stops an answer after a tool"(stage) {
    const model = stage.model([[stage.call("pay", {}, "c1")], [stage.text("A secret")], [stage.text("Again")]]);
    const tools = [stage.tool("pay", () => "done")];
    const stopped = { name: "no secrets", execute: async () => ({ tripwireTriggered: true, outputInfo: {} }) };
    await stage.run(stage.agent(model, { tools, outputGuardrails: [stopped] }), "Pay the entry");
    await stage.tell();
    await stage.run(stage.agent(model, { tools }), "And now?");
    await stage.tell(model);
  },
  async "guardrail that stops a question"(stage) {
    const model = stage.model([[stage.text("No")]]);
    const stopped = { name: "no", execute: async () => ({ tripwireTriggered: true, outputInfo: {} }) };
    await stage.run(stage.agent(model, { inputGuardrails: [stopped] }), "Tell me a secret");
    await stage.tell();
  },
  async "turns that are used up"(stage) {
    const model = stage.model([[stage.call("bloom", {}, "c1")], [stage.text("In May.")]]);
    const agent = stage.agent(model, { tools: [stage.tool("bloom", () => "May")] });
    await stage.run(agent, "When?", { maxTurns: 1 });
    await stage.tell();
    await stage.run(agent, "Go on");
    await stage.tell(model);
  },
  async "items given as a list"(stage) {
    await stage.session.addItems([question("Before"), stage.text("So far")]);
    const model = stage.model([[stage.text("In May.")]]);
    const options = {
      sessionInputCallback: (history: AgentInputItem[], added: AgentInputItem[]) => [...history.slice(-1), ...added],
    };
    await stage.run(stage.agent(model), [question("One"), question("Two")], options);
    await stage.tell(model);
  },
  async "limits, pop and clear"(stage) {
    await stage.session.addItems(["1", "2", "3"].map(question));
    stage.told.push(await stage.session.getItems(2), await stage.session.getItems(0), await stage.session.getItems(9));
    stage.told.push(await stage.session.popItem());
    await stage.tell();
    await stage.session.clearSession();
    await stage.tell();
    stage.told.push(await stage.session.popItem());
    await stage.session.addItems([question("4")]);
    await stage.tell();
  },
  async "sessions that are empty"(stage) {
    await stage.session.addItems([]);
    stage.told.push(await stage.session.popItem());
    await stage.session.clearSession();
    await stage.tell();
  },
};

/** Items that models answer, which only a store that keeps any item gives back. */
export const ITEMS: Readonly<Record<string, AgentInputItem>> = {
  reasoning: { type: "reasoning", id: "rs_1", content: [{ type: "input_text", text: "Think" }], rawContent: [] },
  "hosted tool": { type: "hosted_tool_call", id: "ws_1", name: "web_search_call", status: "completed" },
  "tool with an image": {
    type: "function_call_result",
    name: "draw",
    callId: "c1",
    status: "completed",
    output: [{ type: "input_image", image: "data:image/png;base64,AA==" }],
  },
  "bytes of an image": {
    type: "function_call_result",
    name: "draw",
    callId: "c1",
    status: "completed",
    output: { type: "image", image: { data: new Uint8Array([0, 127, 255]), mediaType: "image/png" } },
  } as AgentInputItem,
  compaction: { type: "compaction", encrypted_content: "c2VjcmV0", created_by: "server" } as AgentInputItem,
  "of a newer SDK": { type: "unknown", providerData: { type: "novel", list: [1, null, { deep: true }] } },
};
