import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { readRetryAfter, WebhookEndpoint } from "../../../../src/server/webhook/webhook-endpoint.js";

const MESSAGE = { id: "msg_1", body: '{"type":"a"}' };
const NEVER = new AbortController().signal;
const secrets = { sign: (id: string, timestamp: number, body: string) => `v1,${id} ${timestamp} ${body}` };

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

async function endpointOf(answer: RequestListener, timeoutMs?: number): Promise<WebhookEndpoint> {
  server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return new WebhookEndpoint(`http://127.0.0.1:${port}/a?b=c`, secrets, timeoutMs);
}

describe("an attempt", () => {
  it("is a signed POST of JSON with the time of the attempt", async () => {
    const requests: object[] = [];
    const endpoint = await endpointOf(({ method, url, headers }, response) => {
      requests.push({ method, url, ...headers });
      response.end("thanks");
    });
    expect(await endpoint.post(MESSAGE, NEVER)).toEqual({ result: "delivered" });
    const [request] = requests as { "webhook-timestamp": string }[];
    const timestamp = Number(request?.["webhook-timestamp"]);
    expect(Math.abs(Date.now() / 1000 - timestamp)).toBeLessThan(60);
    expect(request).toMatchObject({
      method: "POST",
      url: "/a?b=c",
      "content-type": "application/json",
      "content-length": `${MESSAGE.body.length}`,
      "webhook-id": "msg_1",
      "webhook-signature": secrets.sign("msg_1", timestamp, MESSAGE.body),
    });
  });

  it.each([200, 201, 204, 299])("has delivered the message when the answer is %d", async (status) => {
    const endpoint = await endpointOf((_, response) => response.writeHead(status).end());
    expect(await endpoint.post(MESSAGE, NEVER)).toEqual({ result: "delivered" });
  });

  it.each([304, 400, 404, 410, 429, 500, 503])("is refused by the answer %d", async (status) => {
    const endpoint = await endpointOf((_, response) => response.writeHead(status, { "retry-after": "7" }).end());
    expect(await endpoint.post(MESSAGE, NEVER)).toEqual({
      result: "refused",
      reason: `The receiver answered ${status}`,
      retryAfterMs: 7000,
      isGone: status === 410,
    });
  });

  it("follows no redirect", async () => {
    const paths: (string | undefined)[] = [];
    const endpoint = await endpointOf(({ url }, response) => {
      paths.push(url);
      response.writeHead(307, { location: "/elsewhere" }).end();
    });
    expect(await endpoint.post(MESSAGE, NEVER)).toMatchObject({ reason: "The receiver answered 307" });
    expect(paths).toEqual(["/a?b=c"]);
  });

  it("reads no more of an endless answer than it takes to know the status", async () => {
    const endpoint = await endpointOf((_, response) => {
      const write = () => {
        while (response.write(Buffer.alloc(65_536)));
      };
      response.on("drain", write);
      write();
    });
    expect(await endpoint.post(MESSAGE, NEVER)).toEqual({ result: "delivered" });
  });

  it("fails when the connection breaks, and when nobody listens", async () => {
    const endpoint = await endpointOf((request) => request.socket.destroy());
    expect(await endpoint.post(MESSAGE, NEVER)).toEqual({ result: "failed", reason: "other side closed" });
    server?.close();
    expect(await endpoint.post(MESSAGE, NEVER)).toMatchObject({ result: "failed", reason: /ECONNREFUSED/ });
  });

  it("ends after the time limit", async () => {
    const endpoint = await endpointOf(() => {}, 50);
    expect(await endpoint.post(MESSAGE, NEVER)).toEqual({ result: "timeout", reason: "No answer within 0.05 s" });
  });

  it("ends at once when it is cut", async () => {
    const cut = new AbortController();
    const endpoint = await endpointOf(() => cut.abort());
    expect(await endpoint.post(MESSAGE, cut.signal)).toMatchObject({ result: "failed" });
  });
});

it("the name of a receiver shows neither credentials nor path", () => {
  expect(new WebhookEndpoint("https://user:pass@host.example:8443/path?token=1", secrets).name).toBe(
    "https://host.example:8443",
  );
});

describe("Retry-After", () => {
  const nowMs = Date.parse("2026-11-28T16:00:00Z");

  it("is read as seconds and as a date", () => {
    expect(readRetryAfter("120", nowMs)).toBe(120_000);
    expect(readRetryAfter("Sat, 28 Nov 2026 16:00:30 GMT", nowMs)).toBe(30_000);
    expect(readRetryAfter("Sat, 28 Nov 2026 15:00:00 GMT", nowMs)).toBe(0);
  });

  it("is ignored when it is missing or neither", () => {
    expect(readRetryAfter(null, nowMs)).toBeUndefined();
    expect(readRetryAfter("soon", nowMs)).toBeUndefined();
  });
});
