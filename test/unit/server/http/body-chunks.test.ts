import { once } from "node:events";
import { createServer, type IncomingMessage, request as sendRequest } from "node:http";
import { connect, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { Code } from "@connectrpc/connect";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { DEFAULT_SERVER_LIMITS, type ServerLimits } from "../../../../src/config/config.js";
import { BodyChunks } from "../../../../src/server/http/body-chunks.js";
import type { HttpRequest, HttpResponse } from "../../../../src/server/http/exchange.js";
import { keepSession, LINGER_MS } from "../../../../src/server/http/keep-session.js";
import { discardRest } from "../../../../src/server/http/respond.js";
import { type Admission, Admissions } from "../../../../src/server/limits/admissions.js";
import { poll } from "../../../support/poll.js";

const MIB = 1024 * 1024;

describe.each([1, 2] as const)("a body over HTTP/%i", (version) => {
  it("is read no faster than its chunks are taken, and only the last one counts as in memory", async () => {
    const { chunks, admissions, client } = await begin(version);
    const bytes = Buffer.alloc(8 * MIB, "x");
    client.write(bytes);
    client.end();
    await chunks.next();
    expect(admissions.bufferedBytes).toBeGreaterThan(0);
    // The sockets of both sides hold some.
    await poll(() => client.writableLength > 0, "the client waits");
    let size = 0;
    for await (const chunk of chunks) {
      size += chunk.length;
      expect(admissions.bufferedBytes).toBe(chunk.length);
    }
    expect(size).toBeGreaterThan(7 * MIB);
    expect(admissions.bufferedBytes).toBe(0);
  });

  it("ends when nothing arrives for as long as a pause may take, but not while it arrives", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { chunks, client } = await begin(version, { bodyTimeoutMs: 1000 });
    for (let i = 0; i < 10; i++) {
      client.write("x");
      const next = chunks.next();
      await vi.advanceTimersByTimeAsync(900);
      expect((await next).value?.toString()).toBe("x");
      await vi.advanceTimersByTimeAsync(LINGER_MS);
    }
    const ended = expect(chunks.next()).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    await vi.advanceTimersByTimeAsync(1000);
    await ended;
  });

  it("ends when its client goes", async () => {
    const { chunks, client } = await begin(version);
    client.write("x");
    await chunks.next();
    const ended = expect(chunks.next()).rejects.toMatchObject({ code: Code.Canceled });
    client.destroy();
    await ended;
    await expect(chunks.next()).rejects.toMatchObject({ code: Code.Canceled });
  });

  it("ends when there is no room for a chunk", async () => {
    const { chunks, client } = await begin(version, { bufferedBytes: 1 });
    client.write("xx");
    await expect(chunks.next()).rejects.toMatchObject({ code: Code.ResourceExhausted });
  });

  it("is thrown away by who takes no more of it, so that its client gets an answer", async () => {
    const { chunks, client, request, response } = await begin(version);
    client.write(Buffer.alloc(MIB / 2));
    await chunks.next();
    await chunks.return();
    expect(await chunks.next()).toEqual({ done: true, value: undefined });
    response.writeHead(400);
    response.end("no");
    discardRest(request);
    client.end();
    expect(await client.answer()).toBe("no");
  });
});

interface Client {
  readonly writableLength: number;
  write(bytes: string | Buffer): void;
  end(): void;
  destroy(): void;
  answer(): Promise<string>;
}

interface Begun {
  readonly chunks: BodyChunks;
  readonly admissions: Admissions;
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly client: Client;
}

/** Sends the head of a request, whose body the client then writes. */
async function begin(version: 1 | 2, changes: Partial<ServerLimits> = {}): Promise<Begun> {
  const limits = { ...DEFAULT_SERVER_LIMITS, ...changes };
  const server = version === 1 ? createServer() : createHttp2Server();
  server.on("session", (session) => keepSession(session, limits)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const began = once(server, "request") as Promise<[HttpRequest, HttpResponse]>;
  const client = version === 1 ? clientOver1(port) : clientOver2(port);
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  const [request, response] = await began;
  const admissions = new Admissions(limits, { perKey: false });
  const admission: Admission = admissions.admit("stream", undefined, undefined);
  return { chunks: new BodyChunks(request, limits, admission), admissions, request, response, client };
}

function clientOver1(port: number): Client {
  const request = sendRequest({ port, host: "127.0.0.1", method: "POST", agent: false }).on("error", () => {});
  const answered = once(request, "response") as Promise<[IncomingMessage]>;
  answered.catch(() => {});
  request.flushHeaders();
  return Object.assign(request, {
    answer: async () => (await (await answered)[0].toArray()).join(""),
  });
}

function clientOver2(port: number): Client {
  const session = connect(`http://127.0.0.1:${port}`).on("error", () => {});
  const stream = session.request({ ":method": "POST" }).on("error", () => {});
  return {
    get writableLength() {
      return stream.writableLength;
    },
    write: (bytes) => void stream.write(bytes),
    end: () => void stream.end(),
    destroy: () => session.destroy(),
    answer: async () => (await stream.toArray()).join(""),
  };
}
