import { once } from "node:events";
import { IncomingMessage } from "node:http";
import { connect, createServer, type Http2ServerRequest } from "node:http2";
import { type AddressInfo, Socket } from "node:net";
import { Code } from "@connectrpc/connect";
import { describe, expect, it, onTestFinished, test, vi } from "vitest";
import { DEFAULT_SERVER_LIMITS } from "../../../../src/config/config.js";
import { readBody } from "../../../../src/server/http/body.js";
import type { HttpRequest } from "../../../../src/server/http/exchange.js";
import { Admissions } from "../../../../src/server/limits/admissions.js";

describe("a body whose client had gone before it was read, as while the key was checked, is given up at once", () => {
  it("over HTTP/1.1", async () => {
    const request = new IncomingMessage(new Socket());
    request.push("{");
    request.destroy();
    await once(request, "close");
    await expect(read(request)).rejects.toMatchObject({ code: Code.Canceled });
  });

  it("over HTTP/2", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const stream = client.request({ ":method": "POST" });
    stream.on("error", () => undefined).write("{");
    const [request] = (await once(server, "request")) as [Http2ServerRequest];
    stream.close();
    await once(request, "close");
    await expect(read(request)).rejects.toMatchObject({ code: Code.Canceled });
    client.destroy();
    server.close();
  });
});

test("a body that has arrived whole is read without a timer and without listeners", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const request = new IncomingMessage(new Socket());
  request.headers["content-length"] = "4";
  request.push("{");
  request.push(" }\n");
  const body = read(request);
  expect(vi.getTimerCount()).toBe(0);
  expect(request.listenerCount("data")).toBe(0);
  expect((await body).toString()).toBe("{ }\n");
});

test("a body that has arrived in part is read to its end", async () => {
  const request = new IncomingMessage(new Socket());
  request.headers["content-length"] = "2";
  request.push("{");
  const body = read(request);
  request.push("}");
  request.push(null);
  expect((await body).toString()).toBe("{}");
});

function read(request: HttpRequest): Promise<Buffer> {
  const admission = new Admissions(DEFAULT_SERVER_LIMITS, { perKey: false }).admit("call", undefined, undefined);
  return readBody(request, DEFAULT_SERVER_LIMITS, admission);
}
