import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { rpcCaller } from "../../../../src/commands/mcp/call-rpc.js";
import type { Json } from "../../../../src/commands/mcp/cut-document.js";
import { readTodos } from "../../../../src/commands/mcp/list-page.js";
import { type ReadSession, readSession } from "../../../../src/commands/mcp/read-session.js";
import { DEFAULT_LIMITS } from "../../../../src/domain/limits.js";
import { MemoryStorageProvider, RootPool } from "../../../../src/index.js";

const KIB = 1024;

let rootPool: RootPool;
let call: ReturnType<typeof rpcCaller>;

beforeEach(() => {
  rootPool = new RootPool({ storage: new MemoryStorageProvider() });
  call = rpcCaller({ namespace: "default", rootPool, limits: DEFAULT_LIMITS }, new AbortController().signal);
});

interface Part extends Json {
  readonly index?: number;
  readonly text?: string;
}

interface Message {
  readonly info: Json;
  readonly parts?: Part[];
}

/** What a result takes as a line of JSON-RPC. */
function lineBytes(answer: Json): number {
  const content = [{ type: "text", text: JSON.stringify(answer) }];
  return Buffer.byteLength(JSON.stringify({ result: { content }, jsonrpc: "2.0", id: 123_456 }));
}

/** Reads on to the end. All answers keep to the limit. */
async function readAll(options: ReadSession): Promise<Json[]> {
  const answers: Json[] = [];
  for (let pageToken: string | undefined; answers.length < 10_000; ) {
    const answer = await readSession(call, { ...options, ...(pageToken !== undefined && { pageToken }) });
    expect(lineBytes(answer)).toBeLessThanOrEqual(options.maxBytes);
    expect((answer.messages as Json[]).length).toBeLessThanOrEqual(options.limit);
    answers.push(answer);
    pageToken = answer.nextPageToken as string;
    if (pageToken === "") return answers;
    expect(answer.note ?? answers.length).toBeTruthy();
  }
  throw new Error("Reading does not come to an end");
}

/** Puts the fields of pieces together, in the order in which they were read. */
function join(pieces: readonly Json[]): Json {
  const joined: Json = {};
  for (const piece of pieces) {
    for (const [name, value] of Object.entries(piece)) {
      if (name.endsWith("Range") || name === "index") continue;
      const range = piece[`${name}Range`] as { from: number; to: number; of: number } | undefined;
      if (range === undefined) {
        joined[name] = value;
        continue;
      }
      const before = (joined[name] as string | undefined) ?? "";
      expect(range).toMatchObject({ from: before.length, to: before.length + (value as string).length });
      joined[name] = before + value;
      if (range.to < range.of) continue;
      if (!name.endsWith("Json")) continue;
      joined[name.slice(0, -"Json".length)] = JSON.parse(joined[name] as string);
      delete joined[name];
    }
  }
  return joined;
}

/** The messages of all answers, oldest first. */
function joinMessages(answers: readonly Json[]): Json[] {
  const byId = new Map<unknown, Message[]>();
  for (const { messages } of answers as { messages: Message[] }[])
    for (const message of [...messages].reverse()) {
      const id = message.info.id;
      byId.set(id, [...(byId.get(id) ?? []), message]);
    }
  return [...byId.values()].reverse().map((pieces) => joinMessage(pieces));
}

function joinMessage(pieces: readonly Message[]): Json {
  const parts = new Map<number, Part[]>();
  for (const piece of pieces)
    for (const [i, part] of (piece.parts ?? []).entries()) {
      const index = part.index ?? i;
      parts.set(index, [...(parts.get(index) ?? []), part]);
    }
  return { info: join(pieces.map(({ info }) => info)), parts: [...parts.values()].map(join) };
}

async function append(...messages: Json[]): Promise<void> {
  await call("MessageService.AppendMessages", { sessionId: "s", messages, createSession: true });
}

/** What REST gives of all messages. */
async function stored(): Promise<Json[]> {
  const { messages } = await call("MessageService.ListMessages", { sessionId: "s", limit: 1000 });
  return messages as Json[];
}

const unit = fc.constantFrom("a", "é", "字", "🍵", '"', "\\", "\n", "\u0000", "\u2028", "e\u0301");
const text = fc
  .tuple(fc.array(unit, { minLength: 1, maxLength: 6 }), fc.constantFrom(0, 1, 30, 900, 6000))
  .map(([units, times]) => units.join("").repeat(times));
const data = fc.oneof(
  fc.record({ out: text }),
  fc.record({
    list: fc
      .tuple(text, fc.integer({ min: 0, max: 3000 }))
      .map(([item, n]) => Array(n).fill(item.slice(0, 3).toWellFormed())),
  }),
);
const part = fc.record({ type: fc.constantFrom("text", "tool_result"), text, data }, { requiredKeys: ["type"] });
const message = fc.record({
  info: fc.record({
    role: fc.constantFrom("user", "tool"),
    metadata: fc.record({ note: text.map((t) => t.slice(0, 5000).toWellFormed()) }),
  }),
  parts: fc.oneof(
    fc.array(part, { maxLength: 4 }),
    fc.integer({ min: 0, max: 700 }).map((n) => Array(n).fill({ type: "t" })),
  ),
});

describe("read_session", () => {
  it("gives everything in answers of bounded bytes, whatever holds it", async () => {
    const maxBytes = fc.constantFrom(8 * KIB, 20 * KIB, 64 * KIB);
    await fc.assert(
      fc.asyncProperty(
        fc.array(message, { maxLength: 5 }),
        maxBytes,
        fc.integer({ min: 1, max: 7 }),
        async (given, maxBytes, limit) => {
          await rootPool.sessions.createSession({ sessionId: "s" });
          try {
            for (const one of given) await append(one as unknown as Json);
            const answers = await readAll({ sessionId: "s", limit, maxBytes });
            expect(joinMessages(answers)).toEqual(await stored());
            for (const one of await stored()) {
              const messageId = (one.info as { id: string }).id;
              expect(joinMessages(await readAll({ sessionId: "s", messageId, limit, maxBytes }))).toEqual([one]);
            }
          } finally {
            await rootPool.sessions.deleteSession("s");
          }
        },
      ),
      { numRuns: 40 },
    );
  }, 60_000);

  it("answers as LoadSession does while that fits", async () => {
    await append({ info: { id: "m1", role: "user" }, parts: [{ type: "text", text: "Hello" }] });
    const answer = await readSession(call, { sessionId: "s", limit: 20, maxBytes: 64 * KIB });
    expect(answer).toEqual(await call("SessionService.LoadSession", { sessionId: "s", limit: 20 }));
  });

  it("goes on within a text while others append and edit", async () => {
    const long = "0123456789".repeat(5000);
    await append({ info: { id: "m1", role: "user" }, parts: [{ type: "text", text: long }] });
    const options = { sessionId: "s", limit: 20, maxBytes: 20 * KIB };
    const first = await readSession(call, options);
    expect(first.note).toContain("nextPageToken");
    await append({ info: { id: "m2", role: "user" }, parts: [{ type: "text", text: "later" }] });
    const second = await readSession(call, { ...options, pageToken: first.nextPageToken as string });
    const textOf = (answer: Json) => (answer.messages as Message[])[0]?.parts?.[0]?.text;
    expect(long.startsWith(`${textOf(first)}${textOf(second)}`)).toBe(true);
    const edited = { info: { id: "m1", role: "user" }, parts: [{ type: "text", text: "short" }] };
    await call("MessageService.UpdateMessage", { sessionId: "s", messageId: "m1", message: edited });
    const third = await readSession(call, { ...options, pageToken: second.nextPageToken as string });
    expect(third).toMatchObject({ nextPageToken: "" });
  });

  it("gives large metadata of the session and drafts in pieces, too", async () => {
    const metadata = { note: '"'.repeat(30_000) };
    await call("SessionService.CreateSession", { sessionId: "s", title: "T", metadata });
    const draft = { info: { id: "d", role: "assistant" }, parts: [{ type: "text", text: "字".repeat(50_000) }] };
    await call("MessageService.StartDraft", { sessionId: "s", message: draft });
    await append({ info: { id: "m", role: "user" }, parts: [{ type: "text", text: "last" }] });
    const answers = await readAll({ sessionId: "s", limit: 20, maxBytes: 64 * KIB });
    const session = join(answers.map((answer) => answer.session as Json));
    expect(session).toMatchObject({ sessionId: "s", title: "T", metadata });
    const drafts = answers.flatMap((answer) => answer.drafts as { message: Message }[]);
    expect(joinMessage(drafts.map(({ message }) => message))).toMatchObject({
      info: { id: "d" },
      parts: [draft.parts[0]],
    });
    expect(joinMessages(answers)).toEqual(await stored());
  });

  it.each(["~", "~!", "~W10", "~WzEsMl0", `~${Buffer.from('["x","",0,0,""]').toString("base64url")}`, "nonsense"])(
    "refuses the token %j",
    async (pageToken) => {
      await append({ info: { role: "user" } });
      const read = readSession(call, { sessionId: "s", limit: 1, maxBytes: 64 * KIB, pageToken });
      await expect(read).rejects.toMatchObject({ code: "invalid_argument" });
    },
  );
});

it("list_todos gives long texts in pieces", async () => {
  const contents = ["short", "字".repeat(60_000), "end"];
  for (const content of contents) await call("TodoTrackerService.AddTodo", { todo: { content, status: "pending" } });
  const pieces = new Map<unknown, Json[]>();
  for (let pageToken: string | undefined = ""; pageToken !== undefined; ) {
    const answer = await readTodos(call, pageToken);
    expect(lineBytes(answer)).toBeLessThanOrEqual(64 * KIB);
    for (const todo of answer.todos as Json[]) pieces.set(todo.id, [...(pieces.get(todo.id) ?? []), todo]);
    pageToken = answer.nextPageToken as string | undefined;
  }
  expect([...pieces.values()].map((todo) => join(todo).content)).toEqual(contents);
});
