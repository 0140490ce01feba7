import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { poll } from "../support/poll.js";
import { startTestServer, type TestServer } from "../support/server.js";

/**
 * The JSON that every front must write: zero values within parts are kept, members keep their order, and nothing is
 * decoded on the way.
 */
const PARTS = '[{"type":"text","text":""},{"type":"data","data":{"zero":0,"none":null,"__proto__":{"a":[]}}}]';
const LARGE = "é\u2028".repeat(2000);
const MESSAGE_FLAG = 0;
const COMPRESSED_FLAG = 1;
const CONNECT_END_FLAG = 2;
const WEB_END_FLAG = 0x80;

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
  await rest("/session", { sessionId: "s" });
  await rest("/session/s/message", `{"info":{"id":"small","role":"user"},"parts":${PARTS}}`);
  await rest("/session/s/message", { info: { id: "large", role: "user" }, parts: [{ type: "text", text: LARGE }] });
});

afterAll(() => server.stop());

describe("JSON of a stored message", () => {
  it("is the same in unary answers and in streams of every protocol", async () => {
    const parts = await partsFromRest("small");
    expect(await unaryAnswer("small")).toContain(parts);
    for (const [type, path] of [
      ["application/connect+json", "WatchMessages"],
      ["application/grpc-web+json", "WatchMessages"],
      ["application/grpc+json", "WatchMessages"],
      ["application/grpc-web+json", "GetMessage"],
      ["application/grpc+json", "GetMessage"],
    ] as const) {
      const request = path === "GetMessage" ? { sessionId: "s", messageId: "small" } : fromTheStart();
      const { envelopes } = await call(path, type, request, { take: 1 });
      expect(envelopes[0]?.flags, `${type} ${path}`).toBe(MESSAGE_FLAG);
      expect(envelopes[0]?.data.toString(), `${type} ${path}`).toContain(parts);
    }
  });

  it.each([
    ["application/connect+json", "connect-accept-encoding", "connect-content-encoding"],
    ["application/grpc-web+json", "grpc-accept-encoding", "grpc-encoding"],
  ])("is compressed in a stream of %s if it is long and the client accepts that", async (type, accept, used) => {
    for (const [encoding, decompress] of [
      ["gzip", gunzipSync],
      ["br", brotliDecompressSync],
    ] as const) {
      const { envelopes, headers } = await call("WatchMessages", type, fromTheStart(), {
        take: 2,
        headers: { [accept]: encoding },
      });
      expect(headers.get(used)).toBe(encoding);
      expect(envelopes.map(({ flags }) => flags)).toEqual([MESSAGE_FLAG, COMPRESSED_FLAG]);
      const [small, large] = envelopes;
      expect(idOf(small!.data)).toBe("small");
      expect(idOf(decompress(large!.data))).toBe("large");
      expect(textOf(decompress(large!.data))).toBe(LARGE);
    }
  });

  it("keeps the order of events, and sends an error in the envelope that ends the stream", async () => {
    await rest("/session", { sessionId: "ending" });
    const ids = Array.from({ length: 50 }, (_, index) => `m${index}`);
    for (const id of ids) await rest("/session/ending/message", { info: { id, role: "user" }, parts: [] });
    for (const [type, endFlag, ending] of [
      ["application/connect+json", CONNECT_END_FLAG, '"code":"not_found"'],
      ["application/grpc-web+json", WEB_END_FLAG, "grpc-status: 5"],
    ] as const) {
      const request = { sessionId: "ending", fromPosition: "0" };
      const { envelopes } = await call("WatchMessages", type, request, { take: ids.length });
      expect(envelopes.map(({ data }) => idOf(data))).toEqual(ids);
      const missing = await call("WatchMessages", type, { sessionId: "missing" }, { take: 1 });
      expect(missing.envelopes).toMatchObject([{ flags: endFlag }]);
      expect(missing.envelopes[0]!.data.toString()).toContain(ending);
    }
  });

  it("is not sent when a unary call ends with an error", async () => {
    const request = { sessionId: "s", messageId: "missing" };
    const { envelopes } = await call("GetMessage", "application/grpc-web+json", request, { take: 1 });
    expect(envelopes).toMatchObject([{ flags: WEB_END_FLAG }]);
    expect(envelopes[0]!.data.toString()).toContain("grpc-status: 5");
  });
});

it("these calls leave no stream open", async () => {
  const watchers = async () => (await fetch(`${server.httpUrl}/metrics`)).text();
  await poll(async () => /session_pool_watchers 0/.test(await watchers()), "every stream has ended");
});

interface Envelope {
  readonly flags: number;
  readonly data: Buffer;
}

/** Reads the first `take` envelopes of the answer, or all if there are fewer. */
async function call(
  rpc: string,
  type: string,
  request: object,
  { take, headers = {} }: { readonly take: number; readonly headers?: Record<string, string> },
): Promise<{ readonly envelopes: readonly Envelope[]; readonly headers: Headers }> {
  const response = await fetch(`${server.httpUrl}/sessionpool.v1.MessageService/${rpc}`, {
    method: "POST",
    headers: { "content-type": type, ...headers },
    body: encodeEnvelope(0, Buffer.from(JSON.stringify(request))),
  });
  expect(response.headers.get("content-type")).toBe(type);
  const reader = response.body!.getReader();
  const envelopes: Envelope[] = [];
  let bytes: Buffer = Buffer.alloc(0);
  while (envelopes.length < take) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes = Buffer.concat([bytes, value]);
    while (bytes.length >= 5 && bytes.length >= 5 + bytes.readUInt32BE(1)) {
      const end = 5 + bytes.readUInt32BE(1);
      envelopes.push({ flags: bytes[0]!, data: bytes.subarray(5, end) });
      bytes = bytes.subarray(end);
    }
  }
  await reader.cancel();
  return { envelopes: envelopes.slice(0, take), headers: response.headers };
}

function fromTheStart(): object {
  return { sessionId: "s", fromPosition: "0" };
}

async function unaryAnswer(messageId: string): Promise<string> {
  const response = await fetch(`${server.httpUrl}/sessionpool.v1.MessageService/GetMessage`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sessionId: "s", messageId }),
  });
  expect(response.status).toBe(200);
  return response.text();
}

/** The message's `"parts":[…]`, as it is sent. */
async function partsFromRest(messageId: string): Promise<string> {
  const text = await (await fetch(`${server.httpUrl}/session/s/message/${messageId}`)).text();
  const [parts] = /"parts":\[.*\]/.exec(text) ?? [];
  expect(parts).toContain('"text":""');
  return parts!;
}

async function rest(path: string, body: object | string): Promise<void> {
  const response = await fetch(server.httpUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  expect(response.ok, await response.text()).toBe(true);
}

function idOf(json: Buffer): string {
  return messageOf(json).info.id;
}

function textOf(json: Buffer): string {
  return messageOf(json).parts[0]!.text;
}

function messageOf(json: Buffer): { info: { id: string }; parts: { text: string }[] } {
  return JSON.parse(json.toString()).appended;
}
