import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDraft } from "../../clients/typescript/src/draft.js";
import {
  Code,
  ConnectError,
  createSessionPoolClient,
  type SessionPoolClient,
  textOf,
} from "../../clients/typescript/src/index.js";
import { startTestServer, type TestServer } from "../support/server.js";

let server: TestServer;
let client: SessionPoolClient;

beforeAll(async () => {
  server = await startTestServer();
  client = createSessionPoolClient({ baseUrl: server.httpUrl });
});

afterAll(() => server.stop());

const assistant = (id: string) => ({ info: { id, role: "assistant" } });

describe("a draft", () => {
  it("is visible while it is written, and a message once it is finished", async () => {
    const draft = await client.startDraft("s", assistant("a"), { createSession: true });
    for (const word of ["Late", " April", " to May"]) draft.write(word);
    draft.put({ id: "tool", type: "tool_call", data: { name: "search" } });
    await draft.flush();
    const { drafts } = await client.messages.listDrafts({ sessionId: "s" });
    expect(drafts.map(({ message }) => message?.parts.map(({ type, text }) => [type, text]))).toEqual([
      [
        ["text", "Late April to May"],
        ["tool_call", ""],
      ],
    ]);
    draft.write(".");
    expect(await draft.finish({ metadata: { tokens: 5 } })).toEqual({ messageId: "a", position: 0 });
    const message = await client.messages.getMessage({ sessionId: "s", messageId: "a" });
    expect([textOf(message), message.info?.metadata]).toEqual(["Late April to May.", { tokens: 5 }]);
  });

  it("gets its usage at the end, with numbers for 64-bit integers in both directions", async () => {
    const draft = await client.startDraft("usage", assistant("a"), { createSession: true });
    draft.write("Late April");
    const startTime = new Date("2026-11-28T10:00:00.500Z");
    const usage = { model: "gpt-5", inputTokens: 5, outputTokens: 0, startTime, duration: { seconds: 1, nanos: 5000 } };
    await draft.finish({ usage });
    const { info } = await client.messages.getMessage({ sessionId: "usage", messageId: "a" });
    expect(info?.usage).toMatchObject({ model: "gpt-5", inputTokens: 5, outputTokens: 0, duration: usage.duration });
    expect(info?.usage?.reasoningTokens).toBeUndefined();
    expect(JSON.parse(JSON.stringify(info?.usage))).toMatchObject({
      ...{ inputTokens: "5", startTime: "2026-11-28T10:00:00.500Z", duration: "1.000005s" },
    });
  });

  it("is written with few calls, no matter how many words come at once", async () => {
    let calls = 0;
    const counting: typeof globalThis.fetch = (input, init) => {
      if (`${input}`.endsWith("ExtendDraft")) calls++;
      return fetch(input, init);
    };
    const counted = createSessionPoolClient({ baseUrl: server.httpUrl, fetch: counting });
    const draft = await counted.startDraft("many", assistant("a"), { createSession: true });
    for (let i = 0; i < 1000; i++) draft.write("x");
    await draft.finish();
    expect(calls).toBe(1);
  });

  it("keeps characters whose halves are written one after the other", async () => {
    const draft = await client.startDraft("halves", assistant("a"), { createSession: true });
    for (const [text, part] of [
      ["one \ud83d", "text"],
      ["two \ud83d", "other"],
      ["\ude00", "text"],
      ["\ude01!", "other"],
    ]) {
      draft.write(text as string, part);
      await draft.flush();
    }
    await draft.finish();
    const { parts } = await client.messages.getMessage({ sessionId: "halves", messageId: "a" });
    expect(parts.map(({ text }) => text)).toEqual(["one 😀", "two 😁!"]);
  });

  it("has U+FFFD for a half whose other half never comes, and keeps the rest", async () => {
    const draft = await client.startDraft("cut", assistant("a"), { createSession: true });
    for (const text of ["one \ud83d", "two \ude00", " three \ud83d"]) draft.write(text);
    await draft.finish();
    const message = await client.messages.getMessage({ sessionId: "cut", messageId: "a" });
    expect(textOf(message)).toBe("one \ufffdtwo \ufffd three \ufffd");
  });

  it.each([
    [{ text: "cut \ud83d" }, "text is not well-formed Unicode: it holds a lone surrogate"],
    [{ data: { output: "cut \ud83d" } }, "data.output is not well-formed Unicode: it holds a lone surrogate"],
    [{ data: { output: 1n } }, "data.output is a bigint, which JSON cannot hold"],
    [{ data: { output: Number.NaN } }, "data.output is NaN, which JSON cannot hold"],
  ])("refuses at once a part that cannot be stored, and goes on: %o", async (cut, problem) => {
    const sessionId = `refuses ${problem}`;
    const draft = await client.startDraft(sessionId, assistant("a"), { createSession: true });
    draft.write("Before");
    expect(() => draft.put({ id: "tool", type: "tool_result", ...cut } as never)).toThrow(new TypeError(problem));
    draft.write(" and after");
    await draft.finish();
    expect(draft.signal.aborted).toBe(false);
    expect(textOf(await client.messages.getMessage({ sessionId, messageId: "a" }))).toBe("Before and after");
  });

  it("tells its writer when somebody else discards it", async () => {
    const draft = await client.startDraft("stopped", assistant("a"), { createSession: true });
    draft.write("Late");
    await draft.flush();
    await client.messages.discardDraft({ sessionId: "stopped", messageId: "a" });
    draft.write(" April");
    await expect.poll(() => draft.signal.aborted).toBe(true);
    expect(() => draft.write(" to May")).toThrow();
    await expect(draft.finish()).rejects.toMatchObject({ code: Code.FailedPrecondition });
    expect((await client.messages.countMessages({ sessionId: "stopped" })).count).toBe(0);
  });

  it.each([
    ["discarded", (sessionId: string) => client.messages.discardDraft({ sessionId, messageId: "a" })],
    ["finished", (sessionId: string) => client.messages.finishDraft({ sessionId, messageId: "a", version: 2 })],
    ["deleted with its session", (sessionId: string) => client.sessions.deleteSession({ sessionId })],
  ])("tells its writer that it was %s while nothing is written", async (how, end) => {
    const sessionId = `silent ${how}`;
    const draft = await client.startDraft(sessionId, assistant("a"), { createSession: true });
    draft.write("Late");
    await draft.flush();
    await end(sessionId);
    await expect.poll(() => draft.signal.aborted).toBe(true);
    expect(() => draft.write(" April")).toThrow(draft.signal.reason);
  });

  it("does not end while its writer waits for longer than the timeout of drafts", async () => {
    const impatient = await startTestServer({ draftTimeoutMs: 8000 });
    try {
      const waiting = createSessionPoolClient({ baseUrl: impatient.httpUrl });
      const draft = await waiting.startDraft("s", assistant("waits"), { createSession: true });
      draft.write("Late");
      const start = { info: { id: "gone", role: "assistant" } };
      await waiting.messages.startDraft({ sessionId: "s", message: start });
      // A draft without a writer shows that the time is over.
      await expect.poll(async () => (await waiting.messages.listDrafts({ sessionId: "s" })).drafts.length).toBe(1);
      draft.write(" April");
      await draft.finish();
      expect(textOf(await waiting.messages.getMessage({ sessionId: "s", messageId: "waits" }))).toBe("Late April");
    } finally {
      await impatient.stop();
    }
  });

  it("goes on after renewals that were not answered, and with a server that knows no renewals", async () => {
    for (const code of [Code.Unavailable, Code.InvalidArgument]) {
      let renewals = 0;
      const { messages } = client;
      const failing = Object.create(messages, {
        extendDraft: {
          value: async (request: Parameters<typeof messages.extendDraft>[0]) => {
            if (request.deltas?.length !== 0 || renewals++ > 0) return messages.extendDraft(request);
            if (code === Code.Unavailable) await messages.extendDraft(request);
            throw new ConnectError("No renewal", code);
          },
        },
      });
      const draft = await startDraft(failing, `renewed ${code}`, assistant("a"), { createSession: true });
      await expect.poll(() => renewals).toBeGreaterThan(0);
      draft.write("Late");
      await draft.finish();
      expect(draft.signal.aborted).toBe(false);
      const message = await client.messages.getMessage({ sessionId: `renewed ${code}`, messageId: "a" });
      expect(textOf(message)).toBe("Late");
    }
  });

  it("is dropped when its writer discards it", async () => {
    const draft = await client.startDraft("dropped", assistant("a"), { createSession: true });
    draft.write("Late");
    await draft.discard();
    expect((await client.messages.listDrafts({ sessionId: "dropped" })).drafts).toEqual([]);
  });

  it("can be finished after a call without an answer, whether that call was carried out or not", async () => {
    for (const isCarriedOut of [true, false]) {
      let isDown = false;
      const unreliable: typeof globalThis.fetch = async (input, init) => {
        if (!isDown || isCarriedOut) await (await fetch(input, init)).clone().arrayBuffer();
        if (isDown) throw new TypeError("fetch failed");
        return await fetch(input, init);
      };
      const sessionId = `down ${isCarriedOut}`;
      const unlucky = createSessionPoolClient({ baseUrl: server.httpUrl, fetch: unreliable, retries: 0 });
      const draft = await unlucky.startDraft(sessionId, assistant("a"), { createSession: true });
      isDown = true;
      draft.write("Late");
      await expect(draft.flush()).rejects.toMatchObject({ code: Code.Unavailable });
      expect(draft.signal.aborted).toBe(true);
      isDown = false;
      await draft.finish({ metadata: { interrupted: true } });
      const message = await client.messages.getMessage({ sessionId, messageId: "a" });
      expect([textOf(message), message.info?.metadata]).toEqual(["Late", { interrupted: true }]);
    }
  });

  it("is extended once when answers are lost", async () => {
    let lost = 0;
    const losing: typeof globalThis.fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (!/(Start|Extend|Finish)Draft$/.test(`${input}`) || lost++ % 2 === 1) return response;
      await response.arrayBuffer();
      throw new TypeError("fetch failed");
    };
    const unlucky = createSessionPoolClient({ baseUrl: server.httpUrl, fetch: losing });
    const draft = await unlucky.startDraft("lost", { info: { role: "assistant" } }, { createSession: true });
    draft.write("Once");
    await draft.flush();
    draft.write(".");
    const { messageId } = await draft.finish();
    expect(textOf(await client.messages.getMessage({ sessionId: "lost", messageId }))).toBe("Once.");
    expect(lost).toBe(8);
  });
});
