import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createSessionPoolClient, text, textOf } from "../../clients/typescript/src/index.js";
import { Child } from "../support/child.js";
import { startCuttingProxy } from "../support/cutting-proxy.js";
import { freePort } from "../support/free-port.js";
import { startAddress } from "../support/moving-address.js";
import { startTestServer, type TestServer } from "../support/server.js";

const MESSAGES = 120;
/** A connection lasts for a few calls, and is long enough for each of them. */
const MAX_BYTES = 6_000;

/** What `docs/clients.md` offers. Undefined: the client's own transport. */
const TRANSPORTS: readonly [string, "http" | "grpc", ((baseUrl: string) => Transport) | undefined][] = [
  ["its own transport", "http", undefined],
  ["gRPC", "grpc", (baseUrl) => createGrpcTransport({ baseUrl })],
  ["Connect over HTTP/1.1", "http", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
  ["Connect over HTTP/2", "http", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2" })],
  ["gRPC-Web over HTTP/1.1", "http", (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })],
];

const clientAt = (baseUrl: string, transport: ((baseUrl: string) => Transport) | undefined) =>
  createSessionPoolClient({ retries: 30, ...(transport ? { transport: transport(baseUrl) } : { baseUrl }) });

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server.stop());

describe.each(TRANSPORTS)("a client over %s", (_name, port, transport) => {
  it("loses and repeats nothing while its connections are cut", async () => {
    const targetPort = port === "http" ? server.httpPort : Number(server.grpcAddress.split(":")[1]);
    const proxy = await startCuttingProxy(targetPort, { maxBytes: MAX_BYTES, random: makeRandom(7) });
    onTestFinished(() => proxy.close());
    const client = clientAt(proxy.url, transport);
    const { sessionId } = await client.sessions.createSession({});
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { event } of client.watch(sessionId, { fromPosition: 0 })) {
        if (event.case === "appended" && seen.push(textOf(event.value)) === MESSAGES) break;
      }
    })();
    const texts = Array.from({ length: MESSAGES }, (_none, i) => `${i} é😀`);
    for (const [i, content] of texts.entries())
      expect((await client.append(sessionId, text("user", content, { id: `${i}` }))).position).toBe(i);
    await watching;
    const stored: string[] = [];
    const direct = createSessionPoolClient({ baseUrl: server.httpUrl });
    for await (const message of direct.history(sessionId)) stored.push(textOf(message));
    expect({ stored, seen }).toEqual({ stored: texts, seen: texts });
    expect(proxy.cuts).toBeGreaterThan(10);
  });

  it("tells the ends of drafts that end while its connection is broken", async () => {
    const address = await startAddress(port === "http" ? server.httpPort : Number(server.grpcAddress.split(":")[1]));
    onTestFinished(() => address.close());
    const client = createSessionPoolClient({ baseUrl: server.httpUrl });
    const { sessionId } = await client.sessions.createSession({});
    const { messages } = client;
    for (const id of ["discarded", "finished", "open"])
      await messages.startDraft({ sessionId, message: { info: { id, role: "assistant" } } });
    const watch = clientAt(`http://127.0.0.1:${address.port}`, transport).watch(sessionId, { fromPosition: 0 });
    const seen: string[] = [];
    const see = async (count: number) => {
      for (const most = seen.length + count; seen.length < most; ) {
        const { event } = (await watch.next()).value ?? raise("The watch has ended");
        if (event.case === "draft") seen.push(`${event.value.message?.info?.id} is open`);
        else if (event.case === "draftEnded") seen.push(`${event.value.messageId} ended: ${event.value.finished}`);
        else if (event.case === "appended") seen.push(`${event.value.info?.id} appended`);
      }
    };
    await see(3);
    address.reset();
    await messages.appendMessage({ sessionId, message: { info: { id: "before", role: "user" } } });
    await messages.finishDraft({ sessionId, messageId: "finished", version: 1 });
    await messages.discardDraft({ sessionId, messageId: "discarded" });
    await see(5);
    await messages.discardDraft({ sessionId, messageId: "open" });
    await see(1);
    await watch.return();
    expect(seen).toEqual([
      ...["discarded is open", "finished is open", "open is open"],
      ...["discarded ended: false", "before appended", "finished appended", "finished ended: true", "open is open"],
      "open ended: false",
    ]);
  });

  it("goes on after the server was killed and started again", async () => {
    const folder = mkdtempSync(join(tmpdir(), "session-pool-killed-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [http, grpc] = [await freePort(), await freePort()].map((free) => `127.0.0.1:${free}`) as [string, string];
    const storage = ["--storage", `sqlite:${join(folder, "sessions.db")}`];
    const args = [...storage, "--http-address", http, "--grpc-address", grpc];
    const first = await Child.serve(...args);
    const baseUrl = port === "http" ? first.httpUrl : `http://${first.grpcAddress}`;
    const client = clientAt(baseUrl, transport);
    await client.append("s", text("user", "before"), { createSession: true });
    const watch = client.watch("s", { fromPosition: 0 });
    const nextText = async () => {
      const { value } = await watch.next();
      return value?.event.case === "appended" ? textOf(value.event.value) : value?.event.case;
    };
    expect(await nextText()).toBe("before");
    const next = nextText();
    first.child.kill("SIGKILL");
    await first.child.ended();
    const again = await Child.serve(...args);
    onTestFinished(async () => {
      again.child.kill("SIGKILL");
      await again.child.ended();
    });
    await client.append("s", text("user", "after"));
    expect(await next).toBe("after");
    await watch.return();
    expect((await client.messages.countMessages({ sessionId: "s" })).count).toBe(2);
  });
});

function raise(text: string): never {
  throw new Error(text);
}

/** Numbers from 0 up to 1, the same in each run (mulberry32). */
function makeRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
