import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  convertToModelMessages,
  createUIMessageStream,
  DefaultChatTransport,
  generateText,
  JsonToSseTransformStream,
  type LanguageModel,
  pipeUIMessageStreamToResponse,
  readUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
  type UIMessageStreamWriter,
} from "ai";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  keepUIMessageStream,
  loadUIMessages,
  resumeUIMessageStream,
  saveUIMessages,
} from "../../../clients/typescript/src/adapters/ai-sdk.js";
import {
  Code,
  ConnectError,
  createSessionPoolClient,
  type SessionPoolClient,
} from "../../../clients/typescript/src/index.js";
import { poll } from "../../support/poll.js";
import { startTestServer, type TestServer } from "../../support/server.js";
import { SCENARIOS } from "./ui-scenarios.js";

/** The tests of streams, which run with each major version of the AI SDK that the adapter is for. */
export function describeUIStreams(name: string): void {
  describe(name, () => {
    let server: TestServer;
    let client: SessionPoolClient;

    beforeAll(async () => {
      server = await startTestServer();
      client = createSessionPoolClient({ baseUrl: server.httpUrl });
    });

    afterAll(() => server.stop());

    /** Starts to keep a stream to which the test writes its chunks. */
    function streaming(sessionId: string, onStop?: (error: unknown) => void) {
      let writer: UIMessageStreamWriter | undefined;
      let finish = () => {};
      const stream = createUIMessageStream({
        execute: async (options) => {
          writer = options.writer;
          writer.write({ type: "start", messageId: "answer" });
          await new Promise<void>((resolve) => {
            finish = resolve;
          });
        },
      });
      const sse = stream.pipeThrough(new JsonToSseTransformStream());
      const kept = keepUIMessageStream(client, sessionId, sse, onStop === undefined ? {} : { onStop });
      return { write: (chunk: UIMessageChunk) => writer?.write(chunk), finish: () => finish(), kept };
    }

    const OF_CALL = { providerMetadata: { maker: { call: "c" } } };
    const OF_RESULT = { providerMetadata: { maker: { result: "r" } } };

    const CHUNKS: UIMessageChunk[] = [
      { type: "start-step" },
      { type: "reasoning-start", id: "r", providerMetadata: { maker: { item: "begun" } } },
      { type: "reasoning-delta", id: "r", delta: "Look it " },
      { type: "reasoning-delta", id: "r", delta: "up." },
      { type: "reasoning-end", id: "r", providerMetadata: { maker: { signature: "signed" } } },
      { type: "tool-input-start", toolCallId: "c", toolName: "search" },
      { type: "tool-input-delta", toolCallId: "c", inputTextDelta: '{"query":"aza' },
      { type: "tool-input-available", toolCallId: "c", toolName: "search", input: { query: "azalea" }, ...OF_CALL },
      { type: "tool-output-available", toolCallId: "c", output: { month: 4 }, ...OF_RESULT },
      { type: "source-url", sourceId: "s", url: "https://example.com/" },
      { type: "data-chart", id: "d", data: { points: [1] } },
      { type: "data-chart", id: "d", data: { points: [1, 2] } },
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: "Late 4月" },
      { type: "text-delta", id: "t", delta: " 👩‍🌾." },
      { type: "text-end", id: "t", providerMetadata: { maker: { citations: 2 } } },
      { type: "message-metadata", messageMetadata: { tokens: 7 } },
    ];

    const PARTS = [
      { type: "step-start" },
      { type: "reasoning", text: "Look it up." },
      {
        type: "tool-search",
        toolCallId: "c",
        state: "output-available",
        input: { query: "azalea" },
        output: { month: 4 },
      },
      { type: "source-url", sourceId: "s", url: "https://example.com/" },
      { type: "data-chart", id: "d", data: { points: [1, 2] } },
      { type: "text", text: "Late 4月 👩‍🌾." },
    ];

    async function lastState(stream: ReadableStream<UIMessageChunk>): Promise<UIMessage | undefined> {
      let last: UIMessage | undefined;
      for await (const state of readUIMessageStream({ stream })) last = state;
      return last;
    }

    /** The content of a message, without what is not kept: whether its texts are still streaming. */
    function contentOf(message: UIMessage | undefined): unknown {
      const parts = message?.parts.map((part) =>
        part.type === "text" || part.type === "reasoning" ? { ...part, state: undefined } : part,
      );
      return JSON.parse(JSON.stringify({ ...message, parts }));
    }

    /** Asks a model for an answer, as docs/clients.md does. */
    async function answerTo(messages: UIMessage[]): Promise<string> {
      const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
      const content = [{ type: "text", text: "fine" }];
      const answer = { content, finishReason: { unified: "stop", raw: "stop" }, usage, warnings: [] };
      const mocks = (await import("ai/test")) as unknown as Record<string, new (options: object) => LanguageModel>;
      const Mock = mocks.MockLanguageModelV4 ?? mocks.MockLanguageModelV3;
      const model = new Mock!({ doGenerate: async () => answer });
      return (await generateText({ model, messages: await convertToModelMessages(messages) })).text;
    }

    const draftText = async (sessionId: string) =>
      JSON.stringify((await client.messages.listDrafts({ sessionId })).drafts, (_key, value) =>
        typeof value === "bigint" ? `${value}` : value,
      );

    /** Reads until a delta has this text, which shows that the reader follows the draft. */
    async function readUntil(
      reader: ReadableStreamDefaultReader<UIMessageChunk>,
      text: string,
      type: "reasoning" | "text" = "text",
    ): Promise<void> {
      let read = "";
      while (!read.includes(text)) {
        const { value, done } = await reader.read();
        if (done) throw new Error(`The stream ended before ${text}`);
        if (value.type === `${type}-delta`) read += (value as { delta: string }).delta;
      }
    }

    /** Resolves to the types of all chunks up to the end of the stream. */
    async function typesOf(reader: ReadableStreamDefaultReader<UIMessageChunk>): Promise<readonly string[]> {
      const types: string[] = [];
      for (let next = await reader.read(); !next.done; next = await reader.read()) types.push(next.value.type);
      return types;
    }

    describe("an answer of the AI SDK that is kept while it is streamed", () => {
      it("is a message at the end, as it was streamed", async () => {
        const { write, finish, kept } = streaming("whole");
        for (const chunk of CHUNKS) write(chunk);
        finish();
        expect(await kept).toBe(true);
        const [message] = await loadUIMessages(client, "whole");
        expect(message).toMatchObject({ id: "answer", role: "assistant", parts: PARTS });
      });

      it("keeps characters that two chunks share, and has U+FFFD where it was cut inside one", async () => {
        const { write, finish, kept } = streaming("halves");
        write({ type: "text-start", id: "t" });
        for (const delta of ["one \ud83d", "\ude00 two \ud83d", " three"])
          write({ type: "text-delta", id: "t", delta });
        write({ type: "text-end", id: "t" });
        write({ type: "tool-input-available", toolCallId: "c", toolName: "search", input: {} });
        write({ type: "tool-output-available", toolCallId: "c", output: "cut \ud83d" });
        finish();
        expect(await kept).toBe(true);
        const [message] = await loadUIMessages(client, "halves");
        expect(message?.parts).toMatchObject([{ text: "one 😀 two \ufffd three" }, { output: "cut \ufffd" }]);
      });

      it("says why nothing is stored when the stream fails or ends before a message", async () => {
        const failing: UIMessageChunk[] = [{ type: "error", errorText: "The model is overloaded" }];
        for (const [chunks, reason] of [
          [failing, "The model is overloaded"],
          [[], "The stream ended before it began a message"],
        ] as const) {
          const stopped: unknown[] = [];
          const sse = ReadableStream.from(chunks as UIMessageChunk[]).pipeThrough(new JsonToSseTransformStream());
          const onStop = (error: unknown) => stopped.push(error);
          expect(await keepUIMessageStream(client, "nothing", sse, { onStop })).toBe(false);
          expect(stopped).toEqual([expect.objectContaining({ message: reason })]);
        }
        await expect(client.sessions.getSession({ sessionId: "nothing" })).rejects.toThrow(/not_found/);
      });

      it("keeps metadata of any kind", async () => {
        const chunks: UIMessageChunk[] = [
          { type: "start", messageId: "answer" },
          { type: "text-start", id: "t" },
          { type: "text-delta", id: "t", delta: "Late" },
          { type: "message-metadata", messageMetadata: 5 },
          { type: "text-delta", id: "t", delta: " April" },
        ];
        const sse = ReadableStream.from(chunks).pipeThrough(new JsonToSseTransformStream());
        expect(await keepUIMessageStream(client, "any metadata", sse)).toBe(true);
        const [message] = await loadUIMessages(client, "any metadata");
        expect(message).toMatchObject({ metadata: 5, parts: [{ text: "Late April" }] });
      });

      it.each(SCENARIOS.filter(({ since }) => name >= `ai ${since}`))(
        "is stored, and resumed after any chunk, as the SDK reads it: $what",
        async ({ what, chunks }) => {
          const sessionId = `resumed ${what}`;
          const expected = contentOf(await lastState(ReadableStream.from(chunks) as ReadableStream<UIMessageChunk>));
          let feed: ReadableStreamDefaultController<string> | undefined;
          const sse = new ReadableStream<string>({
            start: (controller) => {
              feed = controller;
            },
          });
          const kept = keepUIMessageStream(client, sessionId, sse);
          const resumed: Promise<UIMessage | undefined>[] = [];
          for (const chunk of chunks) {
            feed?.enqueue(`data: ${JSON.stringify(chunk)}\n\n`);
            let stream = await resumeUIMessageStream(client, sessionId);
            // The first chunk begins the draft.
            while (stream === null) stream = await resumeUIMessageStream(client, sessionId);
            resumed.push(lastState(stream));
          }
          feed?.close();
          expect(await kept).toBe(true);
          const [stored] = await loadUIMessages(client, sessionId);
          expect(contentOf(stored)).toEqual(expected);
          for (const state of await Promise.all(resumed)) expect(contentOf(state)).toEqual(expected);
        },
      );

      it("grows for a resumed reader as it is streamed, also texts with metadata of the provider", async () => {
        await client.sessions.createSession({ sessionId: "growing" });
        const { write, finish, kept } = streaming("growing");
        const providerMetadata = { maker: { item: "i" } };
        for (const type of ["reasoning", "text"] as const) {
          write({ type: `${type}-start`, id: type, providerMetadata });
          write({ type: `${type}-delta`, id: type, delta: "It begins" });
        }
        await poll(async () => (await draftText("growing")).split("It begins").length === 3, "the texts are stored");
        const reader = (await resumeUIMessageStream(client, "growing"))!.getReader();
        for (const delta of [", goes on", ", still goes on", " and ends"])
          for (const type of ["reasoning", "text"] as const) {
            write({ type: `${type}-delta`, id: type, delta });
            await readUntil(reader, delta, type);
          }
        finish();
        expect(await kept).toBe(true);
        expect((await typesOf(reader)).at(-1)).toBe("finish");
      });

      it("is marked as interrupted, and can be sent to a model again, however it ended early", async () => {
        const open: UIMessageChunk[] = [
          { type: "start-step" },
          { type: "tool-input-available", toolCallId: "a", toolName: "t", input: {} },
          { type: "tool-input-available", toolCallId: "b", toolName: "t", input: {}, providerExecuted: true },
          { type: "tool-input-available", toolCallId: "c", toolName: "t", input: {}, dynamic: true },
          { type: "tool-input-available", toolCallId: "d", toolName: "t", input: {} },
          { type: "tool-output-available", toolCallId: "d", output: "half", preliminary: true },
          { type: "tool-input-start", toolCallId: "e", toolName: "t" },
          { type: "tool-input-delta", toolCallId: "e", inputTextDelta: '{"q' },
        ];
        const ends: Record<string, (sessionId: string, stream: ReturnType<typeof streaming>) => Promise<unknown>> = {
          finished: async (sessionId) => {
            const [draft] = (await client.messages.listDrafts({ sessionId })).drafts;
            await client.messages.finishDraft({ sessionId, messageId: "answer", version: draft?.version ?? 0 });
          },
          aborted: async (_, { write }) => write({ type: "abort" }),
          failed: async (_, { write }) => write({ type: "error", errorText: "The model is gone" }),
        };
        for (const [how, end] of Object.entries(ends)) {
          const sessionId = `interrupted ${how}`;
          const question: UIMessage = { id: "q", role: "user", parts: [{ type: "text", text: "find" }] };
          await saveUIMessages(client, sessionId, [question]);
          const stream = streaming(sessionId);
          for (const chunk of open) stream.write(chunk);
          await poll(async () => (await draftText(sessionId)).includes('"e"'), "the calls are stored");
          const resumed = lastState((await resumeUIMessageStream(client, sessionId))!);
          await end(sessionId, stream);
          stream.finish();
          expect(await stream.kept).toBe(true);
          const messages = await loadUIMessages(client, sessionId);
          expect(messages[1]).toMatchObject({ metadata: { interrupted: true } });
          if (how !== "finished") expect(contentOf(await resumed)).toEqual(contentOf(messages[1]));
          expect(await answerTo([...messages, { ...question, id: "q2" }])).toBe("fine");
        }
      });

      it("can be sent to a model again after a question has overtaken its calls", async () => {
        const states = [
          { state: "input-streaming", input: undefined },
          { state: "input-available" },
          { state: "approval-requested", approval: { id: "x" } },
          { state: "approval-responded", approval: { id: "x", approved: true } },
          { state: "approval-responded", approval: { id: "x", approved: false, reason: "no" } },
          { state: "output-denied", approval: { id: "x", approved: false } },
          { state: "output-available", output: 1, preliminary: true },
          { state: "output-error", errorText: "No", input: undefined, rawInput: "{" },
        ];
        const question: UIMessage = { id: "q", role: "user", parts: [{ type: "text", text: "find" }] };
        for (const [i, fields] of states.entries()) {
          for (const more of [{}, { providerExecuted: true }]) {
            const sessionId = `overtaken ${i} ${JSON.stringify(more)}`;
            const part = { type: "tool-t", toolCallId: "c", input: {}, ...fields, ...more };
            const answer = { id: "a", role: "assistant", parts: [part] } as UIMessage;
            await saveUIMessages(client, sessionId, [question, answer]);
            expect((await loadUIMessages(client, sessionId))[1]).toEqual(answer);
            const messages = await loadUIMessages(client, sessionId, { next: { ...question, id: "q2" } });
            expect([fields.state, await answerTo(messages)]).toEqual([fields.state, "fine"]);
            await saveUIMessages(client, sessionId, messages);
            expect([fields.state, await answerTo(await loadUIMessages(client, sessionId))]).toEqual([
              fields.state,
              "fine",
            ]);
          }
        }
      });

      it("is stopped within seconds while nothing is streamed, and is not made again with its session", async () => {
        const sessionId = "silent";
        await client.sessions.createSession({ sessionId });
        const stops: unknown[] = [];
        const { write, finish, kept } = streaming(sessionId, (error) => stops.push(error));
        write({ type: "tool-input-available", toolCallId: "c", toolName: "slow", input: {} });
        await poll(async () => (await draftText(sessionId)).includes("slow"), "the call is stored");
        const reader = (await resumeUIMessageStream(client, sessionId))!.getReader();
        await client.sessions.deleteSession({ sessionId });
        await poll(() => stops.length === 1, "the writer is stopped");
        expect((await typesOf(reader)).at(-1)).toBe("abort");
        write({ type: "tool-output-available", toolCallId: "c", output: 1 });
        finish();
        expect(await kept).toBe(false);
        const again = streaming(sessionId);
        again.finish();
        expect(await again.kept).toBe(false);
        await expect(client.sessions.getSession({ sessionId })).rejects.toMatchObject({ code: Code.NotFound });
      });

      it("is kept and resumed whole when tools return much, and its draft is small", async () => {
        await client.sessions.createSession({ sessionId: "much" });
        const { write, finish, kept } = streaming("much");
        const file = "x".repeat(4 * 1024 * 1024);
        const url = `data:image/png;base64,${"A".repeat(8000)}`;
        write({ type: "tool-input-available", toolCallId: "c", toolName: "read", input: {} });
        write({ type: "tool-output-available", toolCallId: "c", output: { file, again: [file] } });
        write({ type: "file", mediaType: "image/png", url });
        write({ type: "text-start", id: "t" });
        const text = "é".repeat(150_000);
        write({ type: "text-delta", id: "t", delta: "It is long" });
        await poll(async () => (await draftText("much")).includes("It is long"), "the text is stored");
        const { drafts } = await client.messages.listDrafts({ sessionId: "much" });
        expect(JSON.stringify(drafts).length).toBeLessThan(100_000);
        const resumed = await resumeUIMessageStream(client, "much");
        write({ type: "text-delta", id: "t", delta: text });
        finish();
        expect(await kept).toBe(true);
        const parts = [{ output: { file, again: [file] } }, { url }, { text: `It is long${text}` }];
        const [message] = await loadUIMessages(client, "much");
        expect(message).toMatchObject({ parts });
        let last: UIMessage | undefined;
        for await (const state of readUIMessageStream({ stream: resumed! })) last = state;
        expect(last).toMatchObject({ parts });
        const page = await client.messages.listMessages({ sessionId: "much" });
        expect(JSON.stringify(page).length).toBeLessThan(150_000);
        const { revision } = await client.sessions.getSession({ sessionId: "much" });
        await saveUIMessages(client, "much", structuredClone([message!]), { loaded: [message!] });
        expect(await client.sessions.getSession({ sessionId: "much" })).toMatchObject({ revision });
      });

      it("is kept when a tool returns too much for a service without attachments, with that output cut", async () => {
        const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
        vi.spyOn(client, "uploadAttachment").mockRejectedValue(new ConnectError("None", Code.Unimplemented));
        const { write, finish, kept } = streaming("too much");
        write({ type: "tool-input-available", toolCallId: "c", toolName: "read", input: {} });
        write({ type: "tool-output-available", toolCallId: "c", output: { file: "x".repeat(4 * 1024 * 1024) } });
        write({ type: "text-start", id: "t" });
        for (const delta of ["It", " is", " long"]) write({ type: "text-delta", id: "t", delta });
        finish();
        expect(await kept).toBe(true);
        const [message] = await loadUIMessages(client, "too much");
        expect(message).toMatchObject({
          metadata: { truncated: [{ path: "parts[0].data.output.file", length: 4 * 1024 * 1024 }] },
          parts: [{ output: { file: expect.stringMatching(/^x+… \[truncated: /) } }, { text: "It is long" }],
        });
        expect(warn).toHaveBeenCalledOnce();
        vi.restoreAllMocks();
      });

      it("cannot be resumed when there is no draft", async () => {
        expect(await resumeUIMessageStream(client, "nobody")).toBeNull();
        expect(await resumeUIMessageStream(client, "whole")).toBeNull();
      });

      it("is not read to its end for a reader whose request is canceled already", async () => {
        const draft = await client.startDraft("canceled", { info: { role: "assistant" } }, { createSession: true });
        draft.write("Late");
        await draft.flush();
        const resumed = await resumeUIMessageStream(client, "canceled", { signal: AbortSignal.abort() });
        const types: string[] = [];
        for await (const { type } of resumed as unknown as AsyncIterable<UIMessageChunk>) types.push(type);
        expect(types).toEqual(["start", "text-start", "text-delta"]);
      });

      it("waits for a slow reader", async () => {
        const draft = { message: { info: { id: "answer", role: "assistant" }, parts: [] } };
        const delta = { delta: { case: "appendText", value: { partId: "text", text: "x" } } };
        let events = 0;
        let hasEnded = false;
        const fast = {
          messages: { countMessages: async () => ({ count: 0 }), listDrafts: async () => ({ drafts: [draft] }) },
          async *watch() {
            try {
              while (events++ < 1000)
                yield { event: { case: "draftExtended", value: { messageId: "answer", deltas: [delta] } } };
            } finally {
              hasEnded = true;
            }
          },
        };
        const reader = (await resumeUIMessageStream(fast as unknown as SessionPoolClient, "s"))!.getReader();
        for (let chunks = 0; chunks < 5; chunks++) await reader.read();
        await new Promise(setImmediate);
        expect(events).toBeLessThan(10);
        await reader.cancel();
        expect(hasEnded).toBe(true);
      });

      it("ends for a reader whose draft was discarded just before it began to watch", async () => {
        await client.startDraft("gone", { info: { id: "answer", role: "assistant" } }, { createSession: true });
        const late = Object.create(client, {
          watch: {
            value: async function* () {
              await client.messages.discardDraft({ sessionId: "gone", messageId: "answer" });
              yield { event: { case: "heartbeat", value: {} } };
            },
          },
        });
        const reader = (await resumeUIMessageStream(late, "gone"))!.getReader();
        expect(await typesOf(reader)).toEqual(["start", "abort"]);
      });

      it("is stopped when its draft is discarded, and ends for its readers", async () => {
        await client.sessions.createSession({ sessionId: "stopped" });
        const stops: unknown[] = [];
        const { write, finish, kept } = streaming("stopped", (error) => stops.push(error));
        write({ type: "text-start", id: "t" });
        write({ type: "text-delta", id: "t", delta: "Late" });
        await poll(async () => (await draftText("stopped")).includes("Late"), "the draft holds the first text");
        const reader = (await resumeUIMessageStream(client, "stopped"))!.getReader();
        expect((await reader.read()).value).toEqual({ type: "start", messageId: "answer" });
        write({ type: "text-delta", id: "t", delta: " April" });
        await readUntil(reader, " April");
        await client.messages.discardDraft({ sessionId: "stopped", messageId: "answer" });
        write({ type: "text-delta", id: "t", delta: " to May" });
        await poll(() => stops.length === 1, "the writer is stopped");
        expect((await typesOf(reader)).slice(-2)).toEqual(["text-end", "abort"]);
        finish();
        expect([await kept, stops]).toEqual([false, [expect.objectContaining({ code: Code.FailedPrecondition })]]);
        expect(await loadUIMessages(client, "stopped")).toEqual([]);
      });

      it("is stopped and not kept when the session already has its id", async () => {
        await saveUIMessages(client, "has", [
          { id: "answer", role: "assistant", parts: [{ type: "text", text: "Late" }] },
        ]);
        const stops: unknown[] = [];
        const { finish, kept } = streaming("has", (error) => stops.push(error));
        finish();
        expect([await kept, stops]).toEqual([false, [expect.objectContaining({ code: Code.AlreadyExists })]]);
      });

      it("is kept up to the point at which it fails", async () => {
        const { write, finish, kept } = streaming("failed");
        write({ type: "text-start", id: "t" });
        write({ type: "text-delta", id: "t", delta: "Late" });
        write({ type: "error", errorText: "The model is gone" });
        finish();
        await kept;
        expect(await loadUIMessages(client, "failed")).toMatchObject([
          { metadata: { interrupted: true }, parts: [{ type: "text", text: "Late" }] },
        ]);
      });
    });

    describe("a page that is loaded again in the middle of an answer", () => {
      let routes: Server;

      beforeAll(async () => {
        // The route that `useChat({ resume: true })` requests.
        routes = createServer(async (request, response) => {
          const sessionId = decodeURIComponent(request.url?.split("/")[3] ?? "");
          const stream = await resumeUIMessageStream(client, sessionId);
          if (stream === null) response.writeHead(204).end();
          else pipeUIMessageStreamToResponse({ response, stream });
        });
        await new Promise<void>((resolve) => routes.listen(0, "127.0.0.1", resolve));
      });

      afterAll(() => {
        routes.closeAllConnections();
        routes.close();
      });

      it("resumes the answer with the SDK's own transport", async () => {
        const { port } = routes.address() as AddressInfo;
        const transport = new DefaultChatTransport({ api: `http://127.0.0.1:${port}/api/chat` });
        expect(await transport.reconnectToStream({ chatId: "page" })).toBeNull();
        const { write, finish, kept } = streaming("page");
        write({ type: "text-start", id: "t" });
        write({ type: "text-delta", id: "t", delta: "Late" });
        await poll(async () => {
          const { drafts } = await client.messages.listDrafts({ sessionId: "page" }).catch(() => ({ drafts: [] }));
          return drafts.length > 0;
        }, "the draft exists");
        const stream = await transport.reconnectToStream({ chatId: "page" });
        const read = lastState(stream!);
        write({ type: "text-delta", id: "t", delta: " April" });
        finish();
        await kept;
        expect((await read)?.parts).toMatchObject([{ type: "text", text: "Late April" }]);
      });
    });
  });
}
