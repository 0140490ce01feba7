import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterEach, describe, expect, it } from "vitest";
import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";
import { type KeyedServer, startKeyedServer } from "../support/keyed-server.js";
import { startTestServer, type TestServer } from "../support/server.js";

const { createSession } = SessionService.method;
const { appendMessage } = MessageService.method;

const OPEN: TestServer[] = [];

afterEach(async () => {
  for (const server of OPEN.splice(0)) await server.stop();
});

async function startKeyed(quotas: Parameters<typeof startKeyedServer>[1]): Promise<KeyedServer> {
  const server = await startKeyedServer("write", quotas);
  OPEN.push(server);
  return server;
}

/** Each front: makes a session of this id, and tells how that was answered. */
function frontsOf({ httpUrl, grpcAddress, key }: KeyedServer) {
  const json = { baseUrl: httpUrl, httpVersion: "1.1", useBinaryFormat: false } as const;
  const byTransport = (transport: Transport) => async (sessionId: string) => {
    try {
      await transport.unary(
        createSession,
        undefined,
        undefined,
        bearer(key),
        create(createSession.input, { sessionId }),
      );
      return undefined;
    } catch (error) {
      const { code, rawMessage, metadata } = ConnectError.from(error);
      return { code, message: rawMessage, retryAfter: metadata.get("retry-after") };
    }
  };
  return {
    REST: async (sessionId: string) => {
      const answer = await post(httpUrl, "/session", key, { sessionId });
      const retryAfter = answer.headers.get("retry-after");
      if (answer.ok) return undefined;
      expect(answer.status).toBe(429);
      return { ...((await answer.json()) as { code: number; message: string }), retryAfter };
    },
    "Connect JSON": byTransport(createConnectTransport(json)),
    "gRPC-Web": byTransport(createGrpcWebTransport({ baseUrl: httpUrl, httpVersion: "1.1" })),
    gRPC: byTransport(createGrpcTransport({ baseUrl: `http://${grpcAddress}` })),
    "gRPC on the HTTP port": byTransport(createGrpcTransport({ baseUrl: httpUrl })),
  };
}

function bearer(key: string) {
  return { authorization: `Bearer ${key}` };
}

function post(httpUrl: string, path: string, key: string, body: object): Promise<Response> {
  const headers = { ...bearer(key), "content-type": "application/json" };
  return fetch(httpUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
}

describe("a quota of calls", () => {
  it("is told by every front, with the time after which there is room again", async () => {
    const server = await startKeyed({ quotas: { key: { callsPerMinute: 2 } } });
    const fronts = Object.entries(frontsOf(server));
    expect(await fronts[0]?.[1]("a")).toBeUndefined();
    expect(await fronts[1]?.[1]("b")).toBeUndefined();
    for (const [name, call] of fronts) {
      const refused = await call("c");
      expect([name, refused]).toMatchObject([name, { code: Code.ResourceExhausted }]);
      expect(refused?.message).toMatch(
        /^The key "k" has made 2 calls within a minute; --quota-key-calls-per-minute allows 2; try again in \d+ s$/,
      );
      expect(Number(refused?.retryAfter)).toBe(Number(/in (\d+) s/.exec(refused?.message ?? "")?.[1]));
    }
    const metrics = await (await fetch(`${server.httpUrl}/metrics`, { headers: bearer(server.key) })).text();
    expect(metrics).toContain('session_pool_quota_refusals_total{quota="key-calls-per-minute"} 5');
  });

  it("counts a stream once, and neither health nor pages", async () => {
    const server = await startTestServer({ quotas: { namespace: { callsPerMinute: 3 } } });
    OPEN.push(server);
    for (const path of ["/healthz", "/readyz", "/metrics", "/openapi.json"]) {
      expect((await fetch(server.httpUrl + path)).status).toBe(200);
    }
    await post(server.httpUrl, "/session", "none", { sessionId: "s" });
    const ending = new AbortController();
    const watch = await fetch(`${server.httpUrl}/session/s/message:watch`, { signal: ending.signal });
    expect(watch.status).toBe(200);
    expect((await fetch(`${server.httpUrl}/session/s`)).status).toBe(200);
    expect((await fetch(`${server.httpUrl}/session/s/message:watch`)).status).toBe(429);
    ending.abort();
  });
});

describe("a quota of what is stored", () => {
  it("is told by every front without a time to wait, because waiting does not help", async () => {
    const server = await startKeyed({ quotas: { key: { sessions: 1 } } });
    const fronts = Object.entries(frontsOf(server));
    expect(await fronts[0]?.[1]("a")).toBeUndefined();
    const message = 'The key "k" has no room for another session; --quota-key-sessions allows 1';
    for (const [name, call] of fronts) {
      expect([name, await call("b")]).toMatchObject([
        name,
        { code: Code.ResourceExhausted, message, retryAfter: null },
      ]);
      expect(await call("a")).toBeUndefined();
    }
    const metrics = await (await fetch(`${server.httpUrl}/metrics`, { headers: bearer(server.key) })).text();
    expect(metrics).toContain('session_pool_quota_refusals_total{quota="key-sessions"} 5');
  });

  it("holds for sessions that an append makes, and for bytes", async () => {
    const server = await startKeyed({ quotas: { namespace: { sessions: 1, bytes: 1000 } } });
    const transport = createConnectTransport({ baseUrl: server.httpUrl, httpVersion: "1.1" });
    const append = (sessionId: string, id: string, text: string) =>
      transport.unary(
        appendMessage,
        undefined,
        undefined,
        bearer(server.key),
        create(appendMessage.input, {
          sessionId,
          createSession: true,
          message: { info: { id, role: "user" }, parts: [{ type: "text", text }] },
        }),
      );
    await append("a", "m1", "x");
    await expect(append("b", "m1", "x")).rejects.toMatchObject({
      code: Code.ResourceExhausted,
      rawMessage: "The namespace has no room for another session; --quota-namespace-sessions allows 1",
    });
    await expect(append("a", "m2", "x".repeat(1000))).rejects.toMatchObject({
      code: Code.ResourceExhausted,
      rawMessage: expect.stringMatching(/^The namespace has no room for 10\d\d more bytes of messages; --quota-/),
    });
    await append("a", "m1", "x");
    await append("a", "m3", "x");
  });
});
