import { once } from "node:events";
import { connect, createServer, type Http2ServerResponse } from "node:http2";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it, vi } from "vitest";
import { abandonUnread } from "../../../../src/server/http/respond.js";

afterEach(() => {
  vi.useRealTimers();
});

it("does not watch over the answer to a client that has gone already, over HTTP/2 either", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const stream = client.request();
  stream.on("error", () => undefined);
  const [, response] = (await once(server, "request")) as [unknown, Http2ServerResponse];
  stream.close();
  await once(response, "close");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  abandonUnread(response);
  expect(vi.getTimerCount()).toBe(0);
  client.destroy();
  server.close();
});
