import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { inOrder, MAX_WAITING } from "../../../../src/server/http/in-order.js";
import { poll } from "../../../support/poll.js";

let server: Server;
let client: Socket;
let begun: string[];
let open: ServerResponse[];

beforeEach(async () => {
  begun = [];
  open = [];
  const handler = inOrder((request, response) => {
    begun.push(request.url ?? "");
    open.push(response);
  });
  server = createServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  client = connect((server.address() as AddressInfo).port, "127.0.0.1");
});

afterEach(() => {
  client.destroy();
  server.close();
});

describe("pipelined requests", () => {
  it("begin when the previous answer has been sent", async () => {
    let text = "";
    client.on("data", (bytes) => {
      text += bytes;
    });
    client.write(["/a", "/b", "/c"].map(get).join(""));
    for (const path of ["/a", "/b", "/c"]) {
      await poll(() => open.length === 1, `${path} begins`);
      expect(begun.at(-1)).toBe(path);
      open.pop()?.end(`answer to ${path}`);
    }
    await poll(() => text.includes("answer to /c"), "the last answer comes");
    expect(text.match(/answer to \/./g)).toEqual(["answer to /a", "answer to /b", "answer to /c"]);
    expect(begun).toEqual(["/a", "/b", "/c"]);
  });

  it("never begin when the client has gone", async () => {
    client.write(["/a", "/b"].map(get).join(""));
    await poll(() => begun.length === 1, "the first begins");
    const closed = once(open[0]!, "close");
    client.destroy();
    await closed;
    expect(begun).toEqual(["/a"]);
  });

  it("may be as many as the limit, and beyond it their client is disconnected", async () => {
    client.write(get("/a").repeat(1 + MAX_WAITING));
    for (let answered = 0; answered <= MAX_WAITING; answered++) {
      await poll(() => open.length === 1, "the next begins");
      open.pop()?.end();
    }
    client.resume().write(get("/b").repeat(2 + MAX_WAITING));
    await once(client, "close");
    expect(begun.filter((path) => path === "/b")).toHaveLength(1);
  });

  it("begin at once on another connection", async () => {
    client.write(get("/a"));
    await poll(() => begun.length === 1, "the first begins");
    const other = connect((server.address() as AddressInfo).port, "127.0.0.1");
    other.write(get("/b"));
    await poll(() => begun.length === 2, "the second begins");
    other.destroy();
  });
});

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
}
