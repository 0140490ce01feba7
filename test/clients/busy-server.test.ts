import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Interceptor } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  Code,
  ConnectError,
  createSessionPoolClient,
  type SessionPoolClientOptions,
  text,
} from "../../clients/typescript/src/index.js";
import { DEFAULT_SERVER_LIMITS } from "../../src/config/config.js";
import { startTestServer, type TestServer } from "../support/server.js";

const BODY_BYTES = 64 * 1024;

let server: TestServer;
const sockets: Socket[] = [];

beforeEach(async () => {
  server = await startTestServer({
    serverLimits: { ...DEFAULT_SERVER_LIMITS, inFlightCalls: 1, watchers: 1, bodyBytes: BODY_BYTES },
  });
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.stop();
});

type MakeOptions = (interceptors: Interceptor[]) => SessionPoolClientOptions;

describe.each<[string, MakeOptions]>([
  ["Connect", (interceptors) => ({ transport: createConnectTransport({ ...atHttp(), interceptors }) })],
  ["gRPC-Web", (interceptors) => ({ transport: createGrpcWebTransport({ ...atHttp(), interceptors }) })],
  [
    "gRPC",
    (interceptors) => ({ transport: createGrpcTransport({ baseUrl: `http://${server.grpcAddress}`, interceptors }) }),
  ],
])("a client over %s of a server that has all the load it takes", (_name, makeOptions) => {
  it("sends a call again after the time that the server names", async () => {
    const release = await takePlace();
    const refusals: ConnectError[] = [];
    const client = createSessionPoolClient(makeOptions([notingErrors((error) => refusals.push(error) && release())]));
    await client.append("s", text("user", "A"), { createSession: true });
    expect(refusals.map(({ code, metadata }) => [code, metadata.get("retry-after")])).toEqual([
      [Code.ResourceExhausted, "1"],
    ]);
  });

  it("begins a watch when another has ended", async () => {
    const client = createSessionPoolClient(makeOptions([]));
    await client.append("s", text("user", "A"), { createSession: true });
    const first = client.watch("s", { fromPosition: 0 });
    await first.next();
    const refusals: Code[] = [];
    const onRetry = ({ code }: ConnectError) => {
      refusals.push(code);
      // The second refusal shows that the watch goes on trying.
      if (refusals.length === 2) void first.return();
    };
    const second = client.watch("s", { fromPosition: 0, onRetry });
    expect((await second.next()).value).toMatchObject({ event: { case: "appended" } });
    await second.return();
    expect(new Set(refusals)).toEqual(new Set([Code.ResourceExhausted]));
  });

  it("does not send again what is too large", async () => {
    const refusals: ConnectError[] = [];
    const client = createSessionPoolClient(makeOptions([notingErrors((error) => refusals.push(error))]));
    const large = Array.from({ length: 3 }, () => text("user", "x".repeat(1024 * 1024)));
    await expect(client.append("s", large)).rejects.toMatchObject({ code: Code.ResourceExhausted });
    expect(refusals.map(({ metadata }) => metadata.get("retry-after"))).toEqual([null]);
  });
});

const atHttp = () => ({ baseUrl: server.httpUrl, httpVersion: "1.1" }) as const;

/** Takes the only place for calls with one whose body does not end. Resolves to the function that gives it up. */
async function takePlace(): Promise<() => void> {
  const socket = connect(server.httpPort, "127.0.0.1");
  sockets.push(socket);
  socket.write("POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n");
  // The server asks for the body after it has admitted the call.
  await once(socket, "data");
  return () => socket.destroy();
}

function notingErrors(note: (error: ConnectError) => void): Interceptor {
  return (next) => async (request) => {
    try {
      return await next(request);
    } catch (error) {
      note(ConnectError.from(error));
      throw error;
    }
  };
}
