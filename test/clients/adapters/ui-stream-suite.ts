import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  createUIMessageStream,
  DefaultChatTransport,
  JsonToSseTransformStream,
  pipeUIMessageStreamToResponse,
  readUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
  type UIMessageStreamWriter,
} from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  keepUIMessageStream,
  loadUIMessages,
  resumeUIMessageStream,
  saveUIMessages,
} from "../../../src/adapters/ai-sdk.js";
import { Code, createSessionPoolClient, type SessionPoolClient } from "../../../src/client/index.js";
import { poll } from "../../support/poll.js";
import { startTestServer, type TestServer } from "../../support/server.js";

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

    /**
     * Returns the message without the fields in which a resumed stream differs: the states of texts and reasoning, and the
     * ids of reasoning.
     */
    function withoutStreamState(message: UIMessage | undefined) {
      const parts = message?.parts.map((part) => {
        if (part.type !== "text" && part.type !== "reasoning") return part;
        const { type, text, providerMetadata } = part;
        return { type, text, providerMetadata };
      });
      return { id: message?.id, role: message?.role, metadata: message?.metadata, parts };
    }

    const draftText = async (sessionId: string) =>
      JSON.stringify((await client.messages.listDrafts({ sessionId })).drafts, (_key, value) =>
        typeof value === "bigint" ? `${value}` : value,
      );

    /** Reads until a delta has this text, which shows that the reader follows the draft. */
    async function readUntil(reader: ReadableStreamDefaultReader<UIMessageChunk>, text: string): Promise<void> {
      let read = "";
      while (!read.includes(text)) {
        const { value, done } = await reader.read();
        if (done) throw new Error(`The stream ended before ${text}`);
        if (value.type === "text-delta") read += value.delta;
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

      it.each([0, 3, 6, 8, 12, 14])("is the same when resumed in the middle, after %i chunks", async (seen) => {
        const sessionId = `resumed-${seen}`;
        await client.sessions.createSession({ sessionId });
        const { write, finish, kept } = streaming(sessionId);
        write({ type: "data-begun", data: {} });
        for (const chunk of CHUNKS.slice(0, seen)) write(chunk);
        write({ type: "data-mark", data: {} });
        await poll(async () => (await draftText(sessionId)).includes("data-mark"), "the first chunks are stored");
        const resumed = await resumeUIMessageStream(client, sessionId);
        const read = lastState(resumed!);
        for (const chunk of CHUNKS.slice(seen)) write(chunk);
        finish();
        await kept;
        const [message] = await loadUIMessages(client, sessionId);
        const state = await read;
        expect(withoutStreamState(state)).toMatchObject(withoutStreamState(message));
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
