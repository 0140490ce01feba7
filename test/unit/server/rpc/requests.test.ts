import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ApiError } from "../../../../src/api/api-error.js";
import { frameOf } from "../../../../src/server/rpc/frames.js";
import { type RpcAnswer, RpcServer, UNARY_TYPES } from "./rpc-server.js";

const COUNT = "MessageService/CountMessages";
const WATCH = "MessageService/WatchMessages";
const LIMIT = 1000;
const JSON_TEXT = '{"sessionId":"s"}';
const PROTO = Buffer.from([0x0a, 1, 0x73]);
const FRAMED = UNARY_TYPES.filter(({ isFramed }) => isFramed).map(({ type }) => [type, COUNT] as const);
const STREAMS = [
  ["application/connect+json", WATCH],
  ["application/connect+proto", WATCH],
] as const;

let server: RpcServer;
beforeAll(async () => {
  server = await RpcServer.start({ bodyBytes: LIMIT });
});
afterAll(() => server.stop());
beforeEach(() => {
  server.pipeline.calls.length = 0;
  server.pipeline.refusedKey = undefined;
});

function messageOf(type: string): Buffer {
  return type.endsWith("json") ? Buffer.from(JSON_TEXT) : PROTO;
}

/** The code of the answer's error, in whatever way its protocol tells it. */
function errorOf({ headers, trailers, body, frames }: RpcAnswer): string | undefined {
  const type = headers["content-type"] ?? "";
  if (type === "application/json") return (JSON.parse(body.toString()) as { code?: string }).code;
  const end = frames.at(-1)?.data.toString() ?? "";
  if (type.startsWith("application/connect")) return (JSON.parse(end) as { error?: { code: string } }).error?.code;
  const status = type.startsWith("application/grpc-web")
    ? /grpc-status: (\d+)/.exec(end)?.[1]
    : trailers["grpc-status"];
  return { 0: undefined, 3: "invalid_argument", 8: "resource_exhausted", 12: "unimplemented", 13: "internal" }[
    Number(status)
  ];
}

describe.each(UNARY_TYPES)("$type", ({ type, encoding, accept, isFramed }) => {
  it.each([
    ["gzip", gzipSync],
    ["br", brotliCompressSync],
  ])("takes a message in %s", async (name, compress) => {
    const compressed = compress(messageOf(type));
    const raw = isFramed ? frameOf(1, compressed) : compressed;
    expect((await server.call(COUNT, type, { headers: { [encoding]: name }, raw })).status).toBe(200);
    expect(server.pipeline.last.request).toMatchObject({ sessionId: "s" });
  });

  it.each(["zstd", "GZIP", "gzip, br", "toString"])(
    "refuses the compression %s, and says which it knows",
    async (name) => {
      // Before the key is checked, as nothing of the request can be read.
      server.pipeline.refusedKey = new ApiError(16, "no key");
      const answer = await server.call(COUNT, type, { headers: { [encoding]: name }, message: messageOf(type) });
      expect(errorOf(answer)).toBe("unimplemented");
      const told = type.includes("grpc-web")
        ? /grpc-accept-encoding: (.*)\r/.exec(answer.body.toString())?.[1]
        : { ...answer.headers, ...answer.trailers }[accept];
      expect(told).toBe("gzip,br");
      expect(answer.body.toString() + answer.trailers["grpc-message"]).toContain(
        `Unknown compression ${name}: use gzip, br or identity`,
      );
    },
  );

  it.each(["identity", ""])("takes a plain message whose compression is called %j", async (name) => {
    const answer = await server.call(COUNT, type, { headers: { [encoding]: name }, message: messageOf(type) });
    expect([answer.status, errorOf(answer)]).toEqual([200, undefined]);
  });
});

it("a stream of Connect in an unknown compression ends with the ones that are known", async () => {
  const headers = { "connect-content-encoding": "zstd" };
  const { frames } = await server.call(WATCH, "application/connect+json", { headers, message: JSON_TEXT });
  expect(JSON.parse(frames[0]!.data.toString())).toEqual({
    error: { code: "unimplemented", message: "Unknown compression zstd: use gzip, br or identity" },
    metadata: { "connect-accept-encoding": ["gzip,br"] },
  });
});

describe.each([...FRAMED, ...STREAMS])("%s of %s", (type, rpc) => {
  const message = messageOf(type);

  it.each([
    ["no message", Buffer.alloc(0), "unimplemented"],
    ["a part of a frame", Buffer.from([0, 0, 0]), "invalid_argument"],
    ["a part of a message", frameOf(0, message).subarray(0, -1), "invalid_argument"],
    ["two messages", Buffer.concat([frameOf(0, message), frameOf(0, message)]), "unimplemented"],
    ["an unknown flag", frameOf(2, message), "invalid_argument"],
    ["the highest flag", frameOf(0x80, message), "invalid_argument"],
    ["a compressed message without the name of its compression", frameOf(1, gzipSync(message)), "internal"],
    ["a message over the limit", frameOf(0, Buffer.alloc(LIMIT + 1, " ")), "resource_exhausted"],
    ["a frame that announces more than the limit", Buffer.from([0, 0xff, 0xff, 0xff, 0xff]), "resource_exhausted"],
  ])("refuses %s", async (_what, raw, code) => {
    expect(errorOf(await server.call(rpc, type, { raw }))).toBe(code);
    expect(server.pipeline.calls).toEqual([]);
  });

  it("takes a message of exactly the limit", async () => {
    const raw = frameOf(0, type.endsWith("json") ? Buffer.from(JSON_TEXT.padEnd(LIMIT)) : message);
    expect(errorOf(await server.call(rpc, type, { raw }))).toBeUndefined();
  });
});

describe("the message of a GET", () => {
  const gzipped = gzipSync(JSON_TEXT).toString("base64url");
  const base64 = Buffer.from('{"sessionId":"s","x":"?~>"}').toString("base64");

  it.each([
    ["text", `encoding=json&message=${encodeURIComponent(JSON_TEXT)}`],
    ["base64 with padding", `encoding=proto&base64=1&message=${encodeURIComponent("CgFz")}`],
    ["base64url without padding", `encoding=json&base64=1&message=${Buffer.from(JSON_TEXT).toString("base64url")}`],
    ["gzip", `encoding=json&base64=1&compression=gzip&message=${gzipped}`],
    ["no compression by name", `encoding=json&compression=identity&message=${encodeURIComponent(JSON_TEXT)}`],
    ["no compression without a name", `encoding=json&compression=&message=${encodeURIComponent(JSON_TEXT)}`],
    ["parameters that are not known", `connect=v1&encoding=json&new=1&message=${encodeURIComponent(JSON_TEXT)}`],
  ])("is taken as %s", async (_what, query) => {
    expect((await server.call(`${COUNT}?${query}`, undefined, { method: "GET" })).status).toBe(200);
    expect(server.pipeline.last.request).toMatchObject({ sessionId: "s" });
  });

  it.each([
    ["no encoding", `message=${JSON_TEXT}`, "The query must have one encoding"],
    ["no message", "encoding=json", "The query must have one message"],
    ["two messages", "encoding=json&message=a&message=b", "The query must have one message"],
    ["broken base64", "encoding=json&base64=1&message=a", "The query's message is not valid base64"],
    ["an unknown field", `encoding=json&base64=1&message=${encodeURIComponent(base64)}`, 'body: unknown field "x"'],
    ["no JSON", "encoding=json&message=", "The body is not valid JSON"],
  ])("is refused with %s", async (_what, query, message) => {
    const { status, body } = await server.call(`${COUNT}?${query}`, undefined, { method: "GET" });
    expect([status, JSON.parse(body.toString())]).toEqual([400, { code: "invalid_argument", message }]);
  });

  it("is refused in an unknown compression with the ones that are known", async () => {
    const { status, headers } = await server.call(`${COUNT}?encoding=json&compression=zstd&message=a`, undefined, {
      method: "GET",
    });
    expect([status, headers["accept-encoding"]]).toEqual([501, "gzip,br"]);
  });
});
