import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createRouterTransport, type ServiceImpl, type Transport } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { createSessionPoolClient, type SessionPoolClient, text } from "../../../../clients/typescript/src/index.js";
import { MessageService, MessageWithPartsSchema } from "../../../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../../../gen/sessionpool/v1/session_service_pb.js";

type Sessions = Partial<ServiceImpl<typeof SessionService>>;
type Messages = Partial<ServiceImpl<typeof MessageService>>;

function clientOf(messages: Messages, sessions: Sessions = {}, retries = 5): SessionPoolClient {
  const transport = createRouterTransport(({ service }) => {
    service(MessageService, messages);
    service(SessionService, sessions);
  });
  return createSessionPoolClient({ transport, retries });
}

/** A server whose first calls fail with these errors, one each. Later calls return the answer. */
function failing<T>(errors: readonly unknown[], answer: T): { readonly calls: unknown[]; call(request: unknown): T } {
  const calls: unknown[] = [];
  return {
    calls,
    call(request) {
      const error = errors[calls.push(request) - 1];
      if (error !== undefined) throw error;
      return answer;
    },
  };
}

const UNAVAILABLE = new ConnectError("The store cannot be reached", Code.Unavailable);

/** An error of connect-node, which wraps that of Node. */
function lost(message: string, code: Code, nodeCode: string): ConnectError {
  return new ConnectError(message, code, undefined, undefined, Object.assign(new Error(message), { code: nodeCode }));
}

function failingTransport(nextError: () => ConnectError): Transport {
  const fail = () => Promise.reject(nextError());
  return { unary: fail, stream: fail };
}

const CUT = text("user", "cut \ud83d");

describe("a call", () => {
  it("is sent again with the id that was made for the first attempt", async () => {
    const server = failing([UNAVAILABLE, UNAVAILABLE], { messageId: "m", position: 0n });
    const client = clientOf({ appendMessage: (request) => server.call(request) });
    const message = create(MessageWithPartsSchema, { info: { role: "user" } });
    await client.messages.appendMessage({ sessionId: "s", message });
    const ids = (server.calls as { message: { info: { id: string } } }[]).map(({ message }) => message.info.id);
    expect(ids[0]).toMatch(/^[0-9A-Z]{26}$/);
    expect(new Set([ids[1], ids[2]])).toEqual(new Set([ids[0]]));
    expect(message.info?.id).toBe("");
  });

  it("is sent again with the ids that the caller gave, also in a batch", async () => {
    const server = failing([UNAVAILABLE], { messageIds: ["a", "b"], position: 3n });
    const client = clientOf({ appendMessages: (request) => server.call(request) });
    expect(await client.append("s", [text("user", "A", { id: "a" }), text("user", "B", { id: "b" })])).toEqual({
      messageIds: ["a", "b"],
      position: 3,
    });
    const sent = server.calls as { messages: { info: { id: string } }[] }[];
    expect(sent.map(({ messages }) => messages.map(({ info }) => info.id))).toEqual([
      ["a", "b"],
      ["a", "b"],
    ]);
  });

  it("that makes a session is sent again with the same id", async () => {
    const server = failing([UNAVAILABLE], { sessionId: "s" });
    const client = clientOf({}, { createSession: (request) => server.call(request) });
    await client.sessions.createSession({ title: "Kyoto" });
    const ids = (server.calls as { sessionId: string }[]).map(({ sessionId }) => sessionId);
    expect(ids[0]).toMatch(/^[0-9A-Z]{26}$/);
    expect(ids[1]).toBe(ids[0]);
  });

  it.each([
    [{ a: 1n }, "message.info.metadata.a is a bigint, which JSON cannot hold"],
    [{ a: [0, undefined] }, "message.info.metadata.a[1] is undefined, which JSON cannot hold"],
    [{ a: Number.NaN }, "message.info.metadata.a is NaN, which JSON cannot hold"],
    [{ a: [{ b: -Infinity }] }, "message.info.metadata.a[0].b is -Infinity, which JSON cannot hold"],
    [{ a: { b: new Date(0) } }, "message.info.metadata.a.b is a Date, which JSON cannot hold"],
    [new Map([["a", 1]]), "message.info.metadata must be an object, and is a Map"],
  ])("is not sent with metadata that JSON cannot hold: %o", async (metadata, problem) => {
    const server = failing([], { messageId: "m", position: 0n });
    const client = clientOf({ appendMessage: (request) => server.call(request) });
    const message = { info: { role: "user", metadata: metadata as object as Record<string, string> } };
    const call = client.messages.appendMessage({ sessionId: "s", message });
    await expect(call).rejects.toThrow(new TypeError(problem));
    expect(server.calls).toEqual([]);
  });

  it.each<[string, string, (client: SessionPoolClient) => Promise<unknown>]>([
    ["id", "session_id", (client) => client.messages.countMessages({ sessionId: "a\ud800" })],
    ["text of a batch", "messages[1].parts[0].text", (client) => client.append("s", [text("user", "😀"), CUT])],
    ["key of metadata", "A key of metadata", (client) => client.sessions.createSession({ metadata: { "\udc00": 1 } })],
    ["value of metadata", "metadata.a[0]", (client) => client.sessions.createSession({ metadata: { a: ["\ud800"] } })],
    ["key of labels", "A key of labels", (client) => client.sessions.createSession({ labels: { "\ud800": "x" } })],
    ["value of labels", "labels.a", (client) => client.sessions.createSession({ labels: { a: "\ud800" } })],
    ["label of a list", "label[0]", (client) => client.sessions.listSessions({ label: ["a=\ud800"] })],
    ["text of a draft", "message.parts[0].text", (client) => client.startDraft("s", CUT)],
  ])("is not sent with half of a character in the %s", async (_name, path, call) => {
    const client = clientOf({}, {});
    const refusal = new TypeError(`${path} is not well-formed Unicode: it holds a lone surrogate`);
    await expect(call(client)).rejects.toThrow(refusal);
  });

  it("is sent with metadata of any JSON", async () => {
    const server = failing([], { messageId: "m", position: 0n });
    const client = clientOf({ appendMessage: (request) => server.call(request) });
    const metadata = { a: [null, true, 1.5, "x", { b: {} }], c: Object.assign(Object.create(null), { d: 1 }) };
    await client.messages.appendMessage({ sessionId: "s", message: { info: { role: "user", metadata } } });
    expect(server.calls).toMatchObject([{ message: { info: { metadata } } }]);
  });

  it("is sent only once when a second attempt could take effect again", async () => {
    const server = failing([UNAVAILABLE], {});
    const client = clientOf({}, { deleteSession: (request) => server.call(request) });
    await expect(client.sessions.deleteSession({ sessionId: "s" })).rejects.toMatchObject({ code: Code.Unavailable });
    expect(server.calls).toHaveLength(1);
  });

  it("is not sent again after a permanent error", async () => {
    const server = failing([new ConnectError("no", Code.AlreadyExists)], { messageIds: [], position: 0n });
    const client = clientOf({ appendMessages: (request) => server.call(request) });
    await expect(client.append("s", text("user", "A"))).rejects.toMatchObject({ code: Code.AlreadyExists });
    expect(server.calls).toHaveLength(1);
  });

  it("is sent again after the time that the server names, but not after a ResourceExhausted without one", async () => {
    const busy = new ConnectError("Too many calls", Code.ResourceExhausted, { "retry-after": "0" });
    const server = failing([busy, new ConnectError("Too large", Code.ResourceExhausted)], { count: 1n });
    const client = clientOf({ countMessages: (request) => server.call(request) });
    await expect(client.messages.countMessages({ sessionId: "s" })).rejects.toThrow("Too large");
    expect(server.calls).toHaveLength(2);
  });

  it.each([
    ["a connection that was reset", lost("read ECONNRESET", Code.Aborted, "ECONNRESET")],
    ["a connection that was closed while it was written", lost("write EPIPE", Code.Internal, "EPIPE")],
    ["a closed HTTP/2 stream", new ConnectError("http/2 stream closed with error code CANCEL (0x8)", Code.Canceled)],
    ["half an answer", new ConnectError("protocol error: promised 9 bytes, received 4", Code.InvalidArgument)],
    ["an answer without an end", new ConnectError("protocol error: missing status", Code.Internal)],
  ])("is sent again after %s, which is `unavailable` in the end", async (_name, error) => {
    let calls = 0;
    const transport = failingTransport(() => {
      calls += 1;
      return error;
    });
    const client = createSessionPoolClient({ transport, retries: 1 });
    const cause = error.cause ?? error;
    const ended = { code: Code.Unavailable, rawMessage: error.rawMessage, cause };
    await expect(client.append("s", text("user", "A"), { expectedPosition: 0 })).rejects.toMatchObject(ended);
    expect(calls).toBe(2);
    await expect(client.sessions.revertSession({ sessionId: "s", toStart: true })).rejects.toMatchObject(ended);
    expect(calls).toBe(3);
    await expect(
      client.messages.watchMessages({ sessionId: "s" })[Symbol.asyncIterator]().next(),
    ).rejects.toMatchObject(ended);
  });

  it("is not sent again after a conflict, which stays `aborted`", async () => {
    const conflict = new ConnectError("Session has 3 messages, not 0", Code.Aborted);
    const server = failing([conflict], { messageIds: [], position: 0n });
    const client = clientOf({ appendMessages: (request) => server.call(request) });
    await expect(client.append("s", text("user", "A"), { expectedPosition: 0 })).rejects.toMatchObject({
      code: Code.Aborted,
    });
    expect(server.calls).toHaveLength(1);
  });

  it("fails after the allowed number of retries, and when it is canceled", async () => {
    const server = failing(Array(9).fill(UNAVAILABLE), { count: 1n });
    const client = clientOf({ countMessages: (request) => server.call(request) }, {}, 1);
    await expect(client.messages.countMessages({ sessionId: "s" })).rejects.toMatchObject({ code: Code.Unavailable });
    expect(server.calls).toHaveLength(2);
    const signal = AbortSignal.abort();
    await expect(client.messages.countMessages({ sessionId: "s" }, { signal })).rejects.toMatchObject({
      code: Code.Canceled,
    });
  });

  it("may have more time than a timer can wait for", async () => {
    const client = clientOf({ countMessages: () => ({ count: 2n }) }, {}, 0);
    for (const timeoutMs of [Number.POSITIVE_INFINITY, 30 * 86_400_000])
      expect((await client.messages.countMessages({ sessionId: "s" }, { timeoutMs })).count).toBe(2);
  });

  it("that streams is ended when its reader stops", async () => {
    let signal: AbortSignal | undefined;
    const client = clientOf({
      async *watchMessages(_request, context) {
        signal = context.signal;
        yield { event: { case: "heartbeat", value: {} }, resumeToken: "r" };
        await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
      },
    });
    for await (const event of client.messages.watchMessages({ sessionId: "s" })) {
      expect(event.resumeToken).toBe("r");
      break;
    }
    expect(signal?.aborted).toBe(true);
  });

  it("has one time limit for all attempts together", async () => {
    const server = failing(Array(9).fill(UNAVAILABLE), { count: 1n });
    const client = clientOf({ countMessages: (request) => server.call(request) });
    const call = client.messages.countMessages({ sessionId: "s" }, { timeoutMs: 20 });
    await expect(call).rejects.toBeInstanceOf(ConnectError);
    expect(server.calls.length).toBeLessThan(3);
  });
});

describe("64-bit integers", () => {
  it("are numbers in requests and answers, also in nested messages and events", async () => {
    const seen: unknown[] = [];
    const info = { id: "m", role: "user", position: 7n, timestamp: { seconds: 5n, nanos: 0 } };
    const client = clientOf({
      appendMessages(request) {
        seen.push(request.expectedPosition);
        return { messageIds: ["m"], position: 7n };
      },
      listMessages: () => ({ messages: [{ info }] }),
      async *watchMessages() {
        const event = { case: "appended", value: { info } } as const;
        yield { event } satisfies MessageInitShape<(typeof MessageService.method.watchMessages)["output"]>;
      },
    });
    await client.append("s", text("user", "A"), { expectedPosition: 7 });
    expect(seen).toEqual([7n]);
    const { messages } = await client.messages.listMessages({ sessionId: "s" });
    expect(messages[0]?.info?.position).toBe(7);
    expect(messages[0]?.info?.timestamp?.seconds).toBe(5n);
    for await (const { event } of client.messages.watchMessages({ sessionId: "s" }))
      expect(event).toMatchObject({ case: "appended", value: { info: { position: 7 } } });
  });

  it("that no number holds exactly are refused, never rounded", async () => {
    const client = clientOf({ countMessages: () => ({ count: 2n ** 53n }) });
    await expect(client.messages.countMessages({ sessionId: "s" })).rejects.toThrow(
      "count is 9007199254740992, which no number holds exactly",
    );
    await expect(client.append("s", text("user", "A"), { expectedPosition: 0.5 })).rejects.toThrow(
      "expected_position must be a whole number up to 2^53 - 1, and is 0.5",
    );
  });
});
