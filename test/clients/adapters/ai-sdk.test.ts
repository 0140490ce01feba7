import type { UIMessage } from "ai";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { loadUIMessages, saveUIMessages } from "../../../clients/typescript/src/adapters/ai-sdk.js";
import { attached } from "../../../clients/typescript/src/adapters/attached.js";
import {
  Code,
  ConnectError,
  createSessionPoolClient,
  type SessionPoolClient,
  text,
} from "../../../clients/typescript/src/index.js";
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

  it("can be read when other programs have written them, whatever their roles and parts are", async () => {
    await client.append("other", text("user", "Plain", { id: "p" }), { createSession: true });
    await client.append("other", {
      info: { id: "t", role: "tool" },
      parts: [
        { type: "text", text: "42" },
        { type: "tool-result", data: { id: "c", output: 42 } },
        { type: "file", text: "notes.txt" },
        { type: "tool_call", text: "search", data: { query: "azaleas" } },
      ],
    });
    const loaded = await loadUIMessages(client, "other");
    expect(loaded).toEqual([
      { id: "p", role: "user", parts: [{ type: "text", text: "Plain" }] },
      {
        id: "t",
        role: "assistant",
        parts: [
          { type: "text", text: "42" },
          { type: "data-tool-result", data: { id: "c", output: 42 } },
          { type: "data-file", data: { text: "notes.txt" } },
          { type: "tool_call", text: "search", query: "azaleas" },
        ],
      },
    ]);
    const before = await client.messages.listMessages({ sessionId: "other" });
    await saveUIMessages(client, "other", [...loaded, { ...question, id: "q" }]);
    const { messages } = await client.messages.listMessages({ sessionId: "other" });
    expect(messages.slice(0, 2)).toEqual(before.messages);
    expect(messages).toHaveLength(3);
  });

  it.each([
    { type: "custom", kind: "openai.compaction", providerMetadata: { openai: { itemId: "x" } } },
    { type: "reasoning-file", mediaType: "image/png", url: "data:image/png;base64,AA==" },
    { type: "steering-message", id: "s1", parts: [{ type: "text", text: "turn left" }] },
    { type: "a part of tomorrow", text: "and its text", state: "new", $number: "1" },
    { type: "reasoning", id: "rs_9", text: "Look it up" },
    { type: "dynamic-tool", toolName: "t", toolCallId: "c", state: "input-streaming", rawInput: '{"q' },
  ])("come back with parts of any type: $type", async (part) => {
    const message = { id: "a", role: "assistant", parts: [part, { type: "text", text: "Late" }] } as UIMessage;
    await saveUIMessages(client, `part ${part.type}`, [question, message]);
    expect(await loadUIMessages(client, `part ${part.type}`)).toEqual([question, message]);
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

  it("come back whole however large they are, and leave a page of messages small", async () => {
    const warn = vi.spyOn(console, "warn");
    const output = {
      file: "line\n".repeat((4 * 1024 * 1024) / 5),
      image: { type: "image", mimeType: "image/png", data: "A".repeat(8000) },
    };
    const url = `data:image/png;base64,${"A".repeat(4 * 1024 * 1024)}`;
    const file = { type: "file", mediaType: "image/png", filename: "garden.png", url } as const;
    const call = { type: "tool-read", toolCallId: "c", state: "output-available", input: {}, output } as const;
    const asked = { ...question, parts: [...question.parts, file] };
    const answered: UIMessage = {
      id: "a",
      role: "assistant",
      parts: [call, { type: "text", text: "é".repeat(200_000) }],
    };
    const messages = [asked, answered];
    await saveUIMessages(client, "attached", messages);
    const uploads = vi.spyOn(client, "uploadAttachment");
    expect(await loadUIMessages(client, "attached")).toEqual(messages);
    const page = await client.messages.listMessages({ sessionId: "attached" });
    expect(JSON.stringify(page).length).toBeLessThan(50_000);
    expect(page.messages[1]?.parts[0]?.data?.output).toMatchObject({ file: output.file.slice(0, 16 * 1024) });
    expect(page.messages[0]?.parts[2]?.attachment).toMatchObject({
      mediaType: "image/png",
      name: "garden.png",
      size: 3 * 1024 * 1024,
    });
    const { revision } = await client.sessions.getSession({ sessionId: "attached" });
    await saveUIMessages(client, "attached", structuredClone(messages), { loaded: messages });
    expect(await client.sessions.getSession({ sessionId: "attached" })).toMatchObject({ revision });
    const loaded = await loadUIMessages(client, "attached");
    loaded[1]!.parts.push({ type: "text", text: "more" });
    await saveUIMessages(client, "attached", loaded);
    loaded[1]!.parts.push({ type: "text", text: "and more" });
    await saveUIMessages(client, "attached", loaded);
    loaded[1]!.parts.push({ type: "text", text: "and still more" });
    await saveUIMessages(client, "attached", structuredClone(loaded), { loaded });
    expect(await loadUIMessages(client, "attached")).toEqual(loaded);
    expect(uploads).not.toHaveBeenCalled();
    expect(warn).not.toHaveBeenCalled();
    await client.messages.eraseMessage({ sessionId: "attached", messageId: "q" });
    expect((await loadUIMessages(client, "attached")).map(({ parts }) => parts.length)).toEqual([
      1,
      loaded[1]!.parts.length,
    ]);
    const sessionId = "attached fork";
    await client.sessions.forkSession({ sessionId: "attached", newSessionId: sessionId });
    expect((await loadUIMessages(client, sessionId))[1]).toEqual(loaded[1]);
    vi.restoreAllMocks();
  });

  it("are read and left as they are when they hold attachments of another program, or were stored without any", async () => {
    const url = `data:image/png;base64,${"A".repeat(8000)}`;
    const data = { mediaType: "image/png", url };
    const whole = { info: { id: "whole", role: "user" }, parts: [{ id: "0", type: "file", data }] };
    await client.append("others", whole, { createSession: true });
    const { message, uploads } = await attached({
      info: { id: "other", role: "developer" },
      parts: [{ type: "image", data }],
    });
    for (const { bytes, ...one } of uploads) await client.uploadAttachment("others", bytes, one);
    await client.append("others", message);
    const { revision } = await client.sessions.getSession({ sessionId: "others" });
    const loaded = await loadUIMessages(client, "others");
    expect(loaded).toMatchObject([
      { parts: [{ type: "file", url }] },
      { role: "system", parts: [{ type: "image", url }] },
    ]);
    await saveUIMessages(client, "others", structuredClone(loaded), { loaded });
    expect(await client.sessions.getSession({ sessionId: "others" })).toMatchObject({ revision });
  });

  it("are stored with their largest output cut when they are too large and the service has no attachments", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    vi.spyOn(client, "uploadAttachment").mockRejectedValue(new ConnectError("None", Code.Unimplemented));
    const output = "x".repeat(4 * 1024 * 1024);
    const call = { type: "tool-read", toolCallId: "c", state: "output-available", input: {}, output } as const;
    await saveUIMessages(client, "cut output", [question, { id: "a", role: "assistant", parts: [call] }]);
    const [first, second] = await loadUIMessages(client, "cut output");
    expect(first).toEqual(question);
    expect(second?.metadata).toEqual({ truncated: [{ path: "parts[0].data.output", length: output.length }] });
    expect(second?.parts).toMatchObject([{ ...call, output: expect.stringMatching(/^x+… \[truncated: /) }]);
    expect(warn).toHaveBeenCalledOnce();
    vi.restoreAllMocks();
  });

  it("say in a text which file was too large, because its beginning is no file", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    vi.spyOn(client, "uploadAttachment").mockRejectedValue(new ConnectError("Too large", Code.ResourceExhausted));
    const url = `data:image/png;base64,${"A".repeat(4 * 1024 * 1024)}`;
    const file = { type: "file", mediaType: "image/png", filename: "garden.png", url } as const;
    await saveUIMessages(client, "file", [{ ...question, parts: [...question.parts, file] }]);
    const [message] = await loadUIMessages(client, "file");
    expect(message?.parts).toEqual([
      ...question.parts,
      { type: "text", text: '[The file "garden.png" of type image/png was too large to be stored]' },
    ]);
    vi.restoreAllMocks();
  });
});

const ask = (id: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text: id }] });
const reply = (id: string): UIMessage => ({ id, role: "assistant", parts: [{ type: "text", text: id }] });
const idsOf = async (sessionId: string) => (await loadUIMessages(client, sessionId)).map(({ id }) => id);

describe("messages of the AI SDK that others save, too", () => {
  it("all stay when two tabs ask and get their answers at once, in any order", async () => {
    for (const [i, order] of [[0, 1, 0, 1], [0, 1, 1, 0], [0, 0, 1, 1], "at once"].entries()) {
      const sessionId = `tabs-${i}`;
      const tabs = ["1", "2"].map((tab) => {
        let messages: UIMessage[] = [];
        const steps = [
          async () => {
            messages = [...(await loadUIMessages(client, sessionId)), ask(`q${tab}`)];
            await saveUIMessages(client, sessionId, messages);
          },
          () => saveUIMessages(client, sessionId, [...messages, reply(`a${tab}`)]),
        ];
        return () => steps.shift()?.();
      });
      if (typeof order === "string") {
        await Promise.all(tabs.map((step) => step()));
        await Promise.all(tabs.map((step) => step()));
      } else for (const tab of order) await tabs[tab]?.();
      const ids = await idsOf(sessionId);
      expect(ids.toSorted()).toEqual(["a1", "a2", "q1", "q2"]);
      for (const tab of ["1", "2"]) expect(ids.indexOf(`q${tab}`)).toBeLessThan(ids.indexOf(`a${tab}`));
    }
  });

  it("stay when they came between loading and saving", async () => {
    await saveUIMessages(client, "between", [ask("q1")]);
    const loaded = await loadUIMessages(client, "between");
    await client.append("between", text("assistant", "a1", { id: "a1" }));
    await saveUIMessages(client, "between", [...loaded, ask("q2")]);
    expect(await idsOf("between")).toEqual(["q1", "a1", "q2"]);
  });

  it("stay when the caller drops what came before them, and the call fails with aborted", async () => {
    await saveUIMessages(client, "dropped", [ask("q1"), reply("a1")]);
    const loaded = await loadUIMessages(client, "dropped");
    await client.append("dropped", text("user", "q2", { id: "q2" }));
    const again = saveUIMessages(client, "dropped", [...loaded.slice(0, 1), reply("b1")]);
    await expect(again).rejects.toMatchObject({ code: Code.Aborted });
    expect(await idsOf("dropped")).toEqual(["q1", "a1", "q2"]);
  });

  it("stay when the caller has seen nothing, and are dropped when it says that it has", async () => {
    await saveUIMessages(client, "copies", [ask("q1"), reply("a1"), ask("q2")]);
    await saveUIMessages(client, "copies", [ask("q1")]);
    expect(await idsOf("copies")).toEqual(["q1", "a1", "q2"]);
    const loaded = await loadUIMessages(client, "copies");
    await saveUIMessages(client, "copies", [ask("q1")], { loaded });
    expect(await idsOf("copies")).toEqual(["q1"]);
    expect(await client.sessions.getSession({ sessionId: "copies" })).toMatchObject({ reverted: true });
  });

  it("keep their draft when the caller drops a message", async () => {
    await saveUIMessages(client, "draft", [ask("q1"), reply("a1")]);
    const [first] = await loadUIMessages(client, "draft");
    const draft = await client.startDraft("draft", { info: { id: "a2", role: "assistant" } });
    await saveUIMessages(client, "draft", [first!, reply("b1")]);
    await draft.finish();
    expect(await idsOf("draft")).toEqual(["q1", "b1", "a2"]);
  });

  it("can be dropped from the middle and the beginning, and put into another order", async () => {
    await saveUIMessages(client, "order", ["1", "2", "3", "4", "5"].map(ask));
    const [one, two, three, four, five] = (await loadUIMessages(client, "order")) as [
      ...[UIMessage, UIMessage, UIMessage, UIMessage, UIMessage],
    ];
    await saveUIMessages(client, "order", [two, four, five]);
    expect(await idsOf("order")).toEqual(["2", "4", "5"]);
    await saveUIMessages(client, "order", [two, one, five, four, three]);
    expect(await idsOf("order")).toEqual(["2", "1", "5", "4", "3"]);
  });

  it("keep the changes of others that the caller has not changed, and fail where both have", async () => {
    const waiting = { type: "tool-pay", toolCallId: "c", state: "input-available", input: {} } as const;
    const paid = { ...waiting, state: "output-available", output: "paid" } as const;
    const withCall = (part: UIMessage["parts"][number]): UIMessage => ({ id: "a", role: "assistant", parts: [part] });
    await saveUIMessages(client, "both", [ask("q"), withCall(waiting)]);
    const [mine, theirs] = [await loadUIMessages(client, "both"), await loadUIMessages(client, "both")];
    theirs[1]!.parts = [paid];
    await saveUIMessages(client, "both", theirs);
    await saveUIMessages(client, "both", [...mine, ask("q2")]);
    expect((await loadUIMessages(client, "both"))[1]?.parts).toEqual([paid]);
    mine[1]!.parts = [{ ...paid, output: "refused" }];
    await expect(saveUIMessages(client, "both", mine)).rejects.toMatchObject({ code: Code.Aborted });
  });

  it("are loaded with what the page has sent after them, or in the place of one", async () => {
    const call = { type: "tool-pay", toolCallId: "c", state: "approval-requested", input: {}, approval: { id: "x" } };
    const asked = { id: "a", role: "assistant", parts: [call] } as UIMessage;
    const parts = [{ ...call, state: "approval-responded", approval: { id: "x", approved: true } }];
    const approved = { ...asked, parts } as UIMessage;
    await saveUIMessages(client, "next", [ask("q"), asked]);
    const [, ended, question] = await loadUIMessages(client, "next", { next: ask("q2") });
    expect([ended?.parts[0], question]).toMatchObject([{ state: "output-error" }, ask("q2")]);
    const messages = await loadUIMessages(client, "next", { next: approved });
    expect(messages).toEqual([ask("q"), approved]);
    await saveUIMessages(client, "next", messages);
    expect(await loadUIMessages(client, "next")).toEqual([ask("q"), approved]);
    const again = await loadUIMessages(client, "next", { next: ask("q") });
    expect(again).toEqual([ask("q")]);
    await saveUIMessages(client, "next", [...again, reply("b")]);
    expect(await idsOf("next")).toEqual(["q", "a", "b"]);
  });

  it("do not come back after their session was deleted, until somebody knows that it is missing", async () => {
    const messages = [...(await loadUIMessages(client, "deleted")), ask("q")];
    await saveUIMessages(client, "deleted", messages);
    await client.sessions.deleteSession({ sessionId: "deleted" });
    for (const saved of [[...messages, reply("a")], [ask("other")], []]) {
      await expect(saveUIMessages(client, "deleted", saved)).rejects.toMatchObject({ code: Code.NotFound });
    }
    await expect(client.sessions.getSession({ sessionId: "deleted" })).rejects.toMatchObject({ code: Code.NotFound });
    expect(await loadUIMessages(client, "deleted")).toEqual([]);
    await expect(saveUIMessages(client, "deleted", messages)).rejects.toMatchObject({ code: Code.NotFound });
    await saveUIMessages(client, "deleted", [ask("new")]);
    expect(await idsOf("deleted")).toEqual(["new"]);
  });

  it("are loaded with a text in the place of an erased one, which no save brings back or removes", async () => {
    const whole = [ask("q1"), reply("a1"), ask("q2")];
    await saveUIMessages(client, "erased", whole);
    for (const messageId of ["q1", "a1"]) await client.messages.eraseMessage({ sessionId: "erased", messageId });
    const erased = (id: string, role: string) => ({ id, role, parts: [{ type: "text", text: "[erased]" }] });
    const expected = [erased("q1", "user"), erased("a1", "assistant"), ask("q2")];
    const loaded = await loadUIMessages(client, "erased");
    expect(loaded).toEqual(expected);
    for (const saved of [loaded, whole, structuredClone(loaded), loaded.slice(2)]) {
      await saveUIMessages(client, "erased", saved);
      expect(await loadUIMessages(client, "erased")).toEqual(expected);
    }
    await saveUIMessages(client, "erased", [...loaded, reply("a2")]);
    expect(await idsOf("erased")).toEqual(["q1", "a1", "q2", "a2"]);
  });
});
