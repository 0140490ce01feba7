import type * as sdk from "ai";
import {
  convertToModelMessages,
  generateText,
  jsonSchema,
  type LanguageModel,
  stepCountIs,
  streamText,
  tool,
} from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  keepUIMessageStream,
  loadUIMessages,
  saveUIMessages,
} from "../../../clients/typescript/src/adapters/ai-sdk.js";
import {
  Code,
  ConnectError,
  createSessionPoolClient,
  type SessionPoolClient,
} from "../../../clients/typescript/src/index.js";
import { startTestServer, type TestServer } from "../../support/server.js";

type UIMessage = sdk.UIMessage;

/** What a model reports of a step. */
interface Spent {
  readonly input: number;
  readonly cached?: number;
  readonly output: number;
  readonly reasoning?: number;
}

const usageOf = ({ input, cached, output, reasoning }: Spent) => ({
  inputTokens: { total: input, noCache: undefined, cacheRead: cached, cacheWrite: undefined },
  outputTokens: { total: output, text: undefined, reasoning },
});
const CALL = { type: "tool-call", toolCallId: "c", toolName: "search", input: "{}" };
const FIRST: Spent = { input: 100, cached: 60, output: 20, reasoning: 5 };
const SECOND: Spent = { input: 130, cached: 100, output: 7 };
/** What both steps took together. */
const BOTH = {
  ...{ model: "mock-model-id", provider: "mock-provider", inputTokens: 230, outputTokens: 27 },
  ...{ cachedInputTokens: 160, reasoningTokens: 5 },
};
const ASK: UIMessage = { id: "q", role: "user", parts: [{ type: "text", text: "When?" }] };
const search = tool({ inputSchema: jsonSchema({ type: "object", properties: {} }), execute: async () => "4" });

/** The tests of usages, which run with each major version of the AI SDK that the adapter is for. */
export function describeUIUsage(name: string): void {
  describe(`usages of ${name}`, () => {
    let server: TestServer;
    let client: SessionPoolClient;

    beforeAll(async () => {
      server = await startTestServer();
      client = createSessionPoolClient({ baseUrl: server.httpUrl });
    });

    afterAll(() => server.stop());

    /** A model that calls a tool in its first step and answers in the second, before which `between` is called. */
    async function modelOf(steps: readonly Spent[], between = () => {}): Promise<LanguageModel> {
      const mocks = (await import("ai/test")) as unknown as Record<string, new (options: object) => LanguageModel>;
      const Mock = mocks.MockLanguageModelV4 ?? mocks.MockLanguageModelV3;
      let step = 0;
      const next = async () => {
        if (step > 0) between();
        const usage = usageOf(steps[step] ?? { input: 0, output: 0 });
        step += 1;
        const isLast = step === steps.length;
        const finishReason = { unified: isLast ? "stop" : "tool-calls", raw: undefined };
        return { content: isLast ? { type: "text", text: "April" } : CALL, usage, finishReason };
      };
      return new Mock!({
        doGenerate: async () => {
          const { content, ...others } = await next();
          return { content: [content], ...others, warnings: [] };
        },
        doStream: async () => {
          const { content, ...others } = await next();
          const said =
            content === CALL
              ? [CALL]
              : [
                  { type: "text-start", id: "t" },
                  { type: "text-delta", id: "t", delta: "April" },
                  { type: "text-end", id: "t" },
                ];
          return { stream: ReadableStream.from([...said, { type: "finish", ...others }]) };
        },
      });
    }

    async function run(
      steps: readonly Spent[],
      more: { between?: () => void; signal?: AbortSignal; steps?: object[] } = {},
    ) {
      const model = await modelOf(steps, more.between);
      const messages = await convertToModelMessages([ASK]);
      const signal = more.signal === undefined ? {} : { abortSignal: more.signal };
      const onStepFinish = (step: object) => void more.steps?.push(step);
      const options = { model, messages, tools: { search }, stopWhen: stepCountIs(5), onStepFinish, ...signal };
      return streamText({ ...options, onError: () => {} });
    }

    /** Streams an answer as a route does, and reads it to its end. */
    async function respond(result: Awaited<ReturnType<typeof run>>, options: object): Promise<void> {
      const response = result.toUIMessageStreamResponse({
        originalMessages: [ASK],
        generateMessageId: () => "answer",
        ...options,
      });
      await response.text();
    }

    const usageIn = async (sessionId: string, messageId = "answer") => {
      const { info } = await client.messages.getMessage({ sessionId, messageId });
      return info?.usage;
    };
    /** The fields that are not times, without those that are absent. */
    const numbersIn = async (sessionId: string, messageId?: string) => {
      const {
        startTime: _start,
        firstTokenTime: _first,
        duration: _took,
        ...numbers
      } = (await usageIn(sessionId, messageId)) ?? {};
      return Object.fromEntries(Object.entries(numbers).filter(([, value]) => value !== "" && value !== undefined));
    };

    it("sum up the steps of an answer that is kept while it is streamed, and say when it came", async () => {
      const before = Date.now();
      const result = await run([FIRST, SECOND]);
      let kept: Promise<boolean> | undefined;
      await respond(result, {
        consumeSseStream: ({ stream }: { stream: ReadableStream<string> }) => {
          kept = keepUIMessageStream(client, "streamed", stream, { run: result });
        },
      });
      expect(await kept).toBe(true);
      expect(await numbersIn("streamed")).toEqual(BOTH);
      const { startTime, firstTokenTime, duration } = (await usageIn("streamed"))!;
      const micros = (time: { seconds: bigint | number; nanos: number } | undefined) =>
        Number(time?.seconds) * 1e6 + time!.nanos / 1000;
      expect(micros(startTime)).toBeGreaterThanOrEqual(before * 1000);
      expect(micros(firstTokenTime)).toBeGreaterThanOrEqual(micros(startTime));
      expect(micros(duration)).toBeGreaterThanOrEqual(micros(firstTokenTime) - micros(startTime));
      expect(micros(startTime) + micros(duration)).toBeLessThanOrEqual((Date.now() + 5) * 1000);
    });

    it("sum up the steps of an answer that is saved at its end, once, however often it is saved", async () => {
      const result = await run([FIRST, SECOND]);
      let saved: UIMessage[] = [];
      await respond(result, {
        onFinish: async ({ messages }: { messages: UIMessage[] }) => {
          saved = messages;
          await saveUIMessages(client, "saved", messages, { run: result });
        },
      });
      expect(await numbersIn("saved")).toMatchObject(BOTH);
      const { revision } = await client.sessions.getSession({ sessionId: "saved" });
      for (const messages of [saved, structuredClone(saved), await loadUIMessages(client, "saved")])
        for (const options of [{ run: result }, {}]) await saveUIMessages(client, "saved", messages, options);
      expect(await client.sessions.getSession({ sessionId: "saved" })).toMatchObject({ revision });
      const asStored = (key: string, value: unknown) => (key === "state" && value === "done" ? undefined : value);
      expect(await loadUIMessages(client, "saved")).toEqual(JSON.parse(JSON.stringify(saved, asStored)));
      expect(await numbersIn("saved", "q")).toEqual({});
    });

    it("sum up the steps of an answer that was not streamed", async () => {
      const model = await modelOf([FIRST, SECOND]);
      const messages = await convertToModelMessages([ASK]);
      const result = await generateText({ model, messages, tools: { search }, stopWhen: stepCountIs(5) });
      const answer: UIMessage = { id: "answer", role: "assistant", parts: [{ type: "text", text: result.text }] };
      await saveUIMessages(client, "generated", [ASK, answer], { run: result });
      expect(await numbersIn("generated")).toEqual(BOTH);
    });

    it("are those of the complete steps when the run is aborted", async () => {
      const abort = new AbortController();
      const steps: object[] = [];
      const result = await run([FIRST, SECOND], { between: () => abort.abort(), signal: abort.signal, steps });
      let kept: Promise<boolean> | undefined;
      await respond(result, {
        consumeSseStream: ({ stream }: { stream: ReadableStream<string> }) => {
          kept = keepUIMessageStream(client, "aborted", stream, { run: { steps } });
        },
      });
      expect(await kept).toBe(true);
      expect((await loadUIMessages(client, "aborted"))[0]?.metadata).toEqual({ interrupted: true });
      const { input, cached, output, reasoning } = FIRST;
      expect(await numbersIn("aborted")).toEqual({
        ...{ model: "mock-model-id", provider: "mock-provider", inputTokens: input, outputTokens: output },
        ...{ cachedInputTokens: cached, reasoningTokens: reasoning },
      });
    });

    it("say only when it came of a run that fails before it has said anything", async () => {
      const model = await modelOf([]);
      Object.assign(model, {
        doStream: async () => ({ stream: ReadableStream.from([{ type: "text-start", id: "t" }]) }),
      });
      const result = streamText({ model, prompt: "When?", onError: () => {} });
      let kept: Promise<boolean> | undefined;
      await respond(result as never, {
        consumeSseStream: ({ stream }: { stream: ReadableStream<string> }) => {
          kept = keepUIMessageStream(client, "failed", stream, { run: result });
        },
      });
      expect(await kept).toBe(true);
      expect(await numbersIn("failed")).toEqual({});
      expect((await usageIn("failed"))?.startTime).toBeDefined();
    });

    it("are what the metadata says, where no run is given", async () => {
      const result = await run([FIRST, SECOND]);
      const messageMetadata = ({ part }: { part: sdk.TextStreamPart<sdk.ToolSet> }) =>
        part.type === "finish" ? { usage: part.totalUsage, model: "gpt-5" } : undefined;
      let kept: Promise<boolean> | undefined;
      await respond(result, {
        messageMetadata,
        consumeSseStream: ({ stream }: { stream: ReadableStream<string> }) => {
          kept = keepUIMessageStream(client, "metadata", stream);
        },
        onFinish: ({ messages }: { messages: UIMessage[] }) => saveUIMessages(client, "metadata saved", messages),
      });
      await kept;
      const { provider: _provider, ...expected } = { ...BOTH, model: "gpt-5" };
      expect(await numbersIn("metadata")).toEqual(expected);
      expect(await numbersIn("metadata saved")).toEqual(expected);
    });

    it("add up over the runs that write one message, and go with an answer that is regenerated", async () => {
      const answer = (text: string, id = "answer"): UIMessage => ({
        ...{ id, role: "assistant", parts: [{ type: "text", text }] },
      });
      const runOf = (...steps: Spent[]) => ({ steps: steps.map((one) => ({ usage: usageOf(one) })) });
      await saveUIMessages(client, "continued", [ASK, answer("Wait")], { run: runOf(FIRST) });
      const [asked, begun] = (await loadUIMessages(client, "continued")) as [UIMessage, UIMessage];
      begun.parts = answer("Wait. April").parts;
      for (let i = 0; i < 2; i++) await saveUIMessages(client, "continued", [asked, begun], { run: runOf(SECOND) });
      const { model: _model, provider: _provider, ...numbers } = BOTH;
      expect(await numbersIn("continued")).toEqual(numbers);
      await saveUIMessages(client, "continued", [asked, answer("May", "other")], {
        run: runOf({ input: 3, output: 1 }),
      });
      expect(await numbersIn("continued", "other")).toEqual({ inputTokens: 3, outputTokens: 1 });
      await expect(usageIn("continued")).rejects.toThrow(/not_found/);
    });

    it("have each step once, when an answer is saved while its run goes on, and again after it was changed", async () => {
      const all: object[] = [];
      const result = await run([FIRST, SECOND], { steps: all });
      await respond(result, {});
      const answer = (text: string): UIMessage => ({
        id: "answer",
        role: "assistant",
        parts: [{ type: "text", text }],
      });
      const steps: object[] = [];
      for (const [i, step] of all.entries()) {
        steps.push(step);
        await saveUIMessages(client, "growing", [ASK, answer(`step ${i}`)], { run: { steps } });
      }
      expect(await numbersIn("growing")).toMatchObject(BOTH);
      await saveUIMessages(client, "growing", [ASK, answer("step 1, with sources")], { run: result });
      expect(await numbersIn("growing")).toMatchObject(BOTH);
    });

    it("have each step once, when a kept answer is changed and saved with its run", async () => {
      const result = await run([FIRST, SECOND]);
      let kept: Promise<boolean> | undefined;
      await respond(result, {
        consumeSseStream: ({ stream }: { stream: ReadableStream<string> }) => {
          kept = keepUIMessageStream(client, "kept", stream, { run: result });
        },
      });
      await kept;
      const [answer] = (await loadUIMessages(client, "kept")) as [UIMessage];
      await saveUIMessages(client, "kept", [{ ...answer, metadata: { rated: true } }], { run: result });
      expect(await numbersIn("kept")).toMatchObject(BOTH);
    });

    it("have a step that has changed nothing in the message", async () => {
      const answer: UIMessage = { id: "answer", role: "assistant", parts: [{ type: "text", text: "April" }] };
      const steps = [FIRST, SECOND].map((one) => ({ usage: usageOf(one) }));
      for (const some of [steps.slice(0, 1), steps, steps]) {
        await saveUIMessages(client, "silent", [ASK, answer], { run: { steps: some } });
      }
      expect(await numbersIn("silent")).toMatchObject({ inputTokens: 230, outputTokens: 27 });
    });

    it("never cost the content, where the server is of an earlier version", async () => {
      const { updateMessage } = client.messages;
      const earlier: SessionPoolClient = {
        ...client,
        messages: {
          ...client.messages,
          updateMessage: async (request, options) => {
            if (request.updateMask?.paths?.includes("info.usage")) throw new ConnectError("No", Code.InvalidArgument);
            return await updateMessage(request, options);
          },
        },
      };
      const answer = (text: string): UIMessage => ({
        id: "answer",
        role: "assistant",
        parts: [{ type: "text", text }],
      });
      await saveUIMessages(earlier, "earlier", [answer("Wait")]);
      for (const text of ["Wait", "Wait. April"])
        await saveUIMessages(earlier, "earlier", [answer(text)], { run: { steps: [{ usage: usageOf(FIRST) }] } });
      expect(await loadUIMessages(client, "earlier")).toEqual([answer("Wait. April")]);
    });

    it("never cost the message, whatever a model reports", async () => {
      const odd = { input: -1, cached: 2.5, output: 1e10, reasoning: Number.NaN };
      const result = await run([odd]);
      await respond(result, {
        onFinish: ({ messages }: { messages: UIMessage[] }) => saveUIMessages(client, "odd", messages, { run: result }),
      });
      const { duration: _duration, ...usage } = await numbersIn("odd");
      expect(usage).toEqual({ model: "mock-model-id", provider: "mock-provider" });
    });
  });
}
