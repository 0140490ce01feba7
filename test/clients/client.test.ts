import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Code, createSessionPoolClient, text, textOf } from "../../clients/typescript/src/index.js";
import { startTestServer, type TestServer } from "../support/server.js";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ undeleteMs: 86_400_000 });
});

afterAll(() => server.stop());

const newClient = (fetch?: typeof globalThis.fetch) =>
  createSessionPoolClient({ baseUrl: `${server.httpUrl}/`, ...(fetch !== undefined && { fetch }) });

/** Makes a fetch that loses the answers to the first calls of an RPC after the server has carried them out. */
function losingAnswers(rpc: string, times: number): typeof globalThis.fetch {
  let lost = 0;
  return async (input, init) => {
    const response = await fetch(input, init);
    if (!`${input}`.endsWith(rpc) || lost++ >= times) return response;
    await response.arrayBuffer();
    throw new TypeError("fetch failed");
  };
}

/** Cuts each stream after its first bytes, as a broken connection does. */
const cuttingStreams: typeof globalThis.fetch = async (input, init) => {
  const response = await fetch(input, init);
  if (!`${input}`.endsWith("WatchMessages") || response.body === null) return response;
  const reader = response.body.getReader();
  let isFirst = true;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (!isFirst) {
        await reader.cancel();
        controller.error(new TypeError("terminated"));
        return;
      }
      isFirst = false;
      const { value } = await reader.read();
      if (value !== undefined) controller.enqueue(value);
    },
  });
  return new Response(body, { headers: response.headers });
};

describe("the client", () => {
  it("keeps a conversation, and reads it page by page", async () => {
    const client = newClient();
    const { sessionId } = await client.sessions.createSession({ title: "Kyoto in May" });
    const added = Array.from({ length: 7 }, (_none, i) => text("user", `Question ${i}`, { metadata: { turn: i } }));
    expect((await client.append(sessionId, added)).position).toBe(0);
    expect((await client.append(sessionId, text("assistant", "Late April"))).position).toBe(7);
    const texts: string[] = [];
    for await (const message of client.history(sessionId, { pageSize: 3, newestFirst: true }))
      texts.push(textOf(message));
    expect(texts).toEqual(["Late April", ...added.map((_message, i) => `Question ${6 - i}`)]);
    expect((await client.sessions.getSession({ sessionId })).messageCount).toBe(8);
  });

  it("stores nothing twice when answers are lost", async () => {
    const client = newClient(losingAnswers("AppendMessages", 2));
    await client.append("lost", text("user", "Once"), { createSession: true });
    expect((await client.messages.countMessages({ sessionId: "lost" })).count).toBe(1);
  });

  it("brings back a session although the answer is lost", async () => {
    const client = newClient(losingAnswers("UndeleteSession", 1));
    await client.sessions.createSession({ sessionId: "binned" });
    await client.sessions.deleteSession({ sessionId: "binned" });
    expect((await client.sessions.undeleteSession({ sessionId: "binned" })).revision).toBe(2);
  });

  it("follows a session over connections that break, with nothing missed or repeated", async () => {
    const client = newClient(cuttingStreams);
    await client.append("followed", text("user", "0", { id: "0" }), { createSession: true });
    const seen: string[] = [];
    for await (const { event } of client.watch("followed", { fromPosition: 0 })) {
      if (event.case !== "appended") continue;
      seen.push(event.value.info?.id ?? "");
      if (seen.length === 5) break;
      const id = `${seen.length}`;
      await client.append("followed", text("user", id, { id }));
    }
    expect(seen).toEqual(["0", "1", "2", "3", "4"]);
  });

  it("throws the service's errors", async () => {
    await expect(newClient().messages.countMessages({ sessionId: "nobody" })).rejects.toMatchObject({
      code: Code.NotFound,
      rawMessage: 'Session "nobody" not found',
    });
    await expect(newClient().watch("nobody").next()).rejects.toMatchObject({ code: Code.NotFound });
  });

  it("reports a missing address outside a browser", () => {
    expect(() => createSessionPoolClient()).toThrow("baseUrl is required outside a browser");
  });

  it("names a server that cannot be reached, and why", async () => {
    // Nothing listens on this port, which fetch may use.
    const port = 4;
    const client = createSessionPoolClient({ baseUrl: `http://127.0.0.1:${port}/` });
    await expect(client.sessions.revertSession({ sessionId: "s", toStart: true })).rejects.toMatchObject({
      code: Code.Unavailable,
      rawMessage: `http://127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}`,
    });
  });

  it.each(["127.0.0.1:8080", "localhost:8080", "/sessions", "http://", ""])("refuses the address %j", (baseUrl) => {
    expect(() => createSessionPoolClient({ baseUrl })).toThrow(
      new TypeError(`baseUrl must be an address with http:// or https://, and is ${JSON.stringify(baseUrl)}`),
    );
  });

  it("speaks gRPC over another transport, which can write todos", async () => {
    const transport = createGrpcTransport({ baseUrl: `http://${server.grpcAddress}` });
    const client = createSessionPoolClient({ transport });
    await client.todoTracker.addTodo({ todo: { id: "t", content: "Book the ryokan" } });
    expect((await client.todos.listTodos({ sessionId: "any" })).todos).toMatchObject([{ id: "t" }]);
  });
});

describe("a client with a key", () => {
  it("asks for a fresh key for each call", async () => {
    const seen: (string | null)[] = [];
    const remember: typeof globalThis.fetch = (input, init) => {
      seen.push(new Headers(init?.headers).get("authorization"));
      return fetch(input, init);
    };
    let made = 0;
    const key = async () => `key-${made++}`;
    const client = createSessionPoolClient({ baseUrl: server.httpUrl, key, fetch: remember });
    await client.sessions.listSessions({});
    await client.sessions.listSessions({});
    expect(seen).toEqual(["Bearer key-0", "Bearer key-1"]);
  });

  it("waits for a key no longer than its call may take", async () => {
    const signals: AbortSignal[] = [];
    const key = (signal: AbortSignal) => {
      signals.push(signal);
      return new Promise<string>(() => {});
    };
    const client = createSessionPoolClient({ baseUrl: server.httpUrl, key });
    const late = client.sessions.listSessions({}, { timeoutMs: 1_000 });
    await expect(late).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    const stop = new AbortController();
    const canceled = client.sessions.listSessions({}, { signal: stop.signal });
    stop.abort();
    await expect(canceled).rejects.toMatchObject({ code: Code.Canceled });
    const end = new AbortController();
    const watch = client.watch("s", {
      fromPosition: 0,
      silenceMs: 1_000,
      signal: end.signal,
      onRetry: () => end.abort(),
    });
    expect(await watch.next()).toEqual({ done: true, value: undefined });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true]);
  });
});
