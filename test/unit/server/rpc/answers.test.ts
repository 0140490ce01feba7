import { once } from "node:events";
import { get } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { setImmediate } from "node:timers/promises";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  MessageWithPartsSchema,
  WatchMessagesResponseSchema,
} from "../../../../gen/sessionpool/v1/message_service_pb.js";
import { ApiError } from "../../../../src/api/api-error.js";
import { frameOf } from "../../../../src/server/rpc/frames.js";
import { type RpcAnswer, RpcServer, UNARY_TYPES } from "./rpc-server.js";

const GET_MESSAGE = "MessageService/GetMessage";
const WATCH = "MessageService/WatchMessages";
const STREAM_TYPES = ["application/connect+json", "application/grpc+json", "application/grpc-web+json"];
const LONG = "x".repeat(2000);
/** A character that JSON writes in six bytes. */
const WIDE = "\u0001".repeat(2000);

let server: RpcServer;
beforeEach(async () => {
  server = await RpcServer.start();
});
afterEach(async () => {
  vi.useRealTimers();
  await server.stop();
});

function messageWith(text: string) {
  return create(MessageWithPartsSchema, { parts: [{ type: "text", text }] });
}

function eventWith(text: string) {
  return create(WatchMessagesResponseSchema, { event: { case: "appended", value: messageWith(text) } });
}

function request(type: string) {
  return type.endsWith("json") ? "{}" : "";
}

/** What ends an answer with frames: its trailers or its last frame. */
function endOf({ headers, trailers, frames }: RpcAnswer): unknown {
  const type = headers["content-type"] ?? "";
  const last = frames.at(-1);
  if (type.startsWith("application/connect")) return { flags: last?.flags, ...JSON.parse(last!.data.toString()) };
  if (!type.startsWith("application/grpc-web")) return Object.fromEntries(Object.entries(trailers));
  const lines = last!.data.toString().trimEnd().split("\r\n");
  return { flags: last?.flags, ...Object.fromEntries(lines.map((line) => /^(.*?): (.*)$/.exec(line)!.slice(1))) };
}

describe("a good answer ends", () => {
  it.each([
    ["application/grpc+json", GET_MESSAGE, { "grpc-status": "0" }],
    ["application/grpc-web+json", GET_MESSAGE, { flags: 0x80, "grpc-status": "0" }],
    ["application/grpc+json", WATCH, { "grpc-status": "0" }],
    ["application/grpc-web+json", WATCH, { flags: 0x80, "grpc-status": "0" }],
    ["application/connect+json", WATCH, { flags: 2 }],
  ])("%s of %s", async (type, rpc, end) => {
    const answer = await server.call(rpc, type, { message: "{}" });
    expect([answer.status, endOf(answer)]).toEqual([200, end]);
  });
});

describe("an error that may pass, with a detail,", () => {
  const message = "Busy: 100% é";
  const inTrailers = { "grpc-status": "8", "grpc-message": "Busy: 100%25 %C3%A9", "retry-after": "1" };
  const detail = { type: "google.rpc.ErrorInfo", value: expect.stringMatching(/^[\w+/]+$/), debug: expect.anything() };
  const inJson = { code: "resource_exhausted", message, details: [detail] };

  beforeEach(() => {
    server.pipeline.error = new ApiError(Code.ResourceExhausted, message, { current: { name: "revision", value: 7 } });
  });

  it.each(["application/json", "application/proto"])("is the whole answer of %s", async (type) => {
    const { status, headers, body } = await server.call(GET_MESSAGE, type, { message: request(type) });
    expect([status, headers["content-type"], headers["retry-after"]]).toEqual([429, "application/json", "1"]);
    expect(JSON.parse(body.toString())).toEqual(inJson);
  });

  it.each([
    ["application/grpc+json", GET_MESSAGE, inTrailers],
    ["application/grpc-web+json", WATCH, { flags: 0x80, ...inTrailers }],
    ["application/connect+json", WATCH, { flags: 2, error: inJson, metadata: { "retry-after": ["1"] } }],
  ])("ends %s of %s", async (type, rpc, end) => {
    const answer = await server.call(rpc, type, { message: "{}" });
    expect(answer.status).toBe(200);
    expect(endOf(answer)).toEqual(
      "error" in end ? end : { ...end, "grpc-status-details-bin": expect.stringMatching(/^[\w+/]+$/) },
    );
  });

  it.each(STREAM_TYPES)("ends a stream of %s after its events", async (type) => {
    const { error } = server.pipeline;
    server.pipeline.error = undefined;
    server.pipeline.events = async function* () {
      yield eventWith("one");
      throw error;
    };
    const answer = await server.call(WATCH, type, { message: "{}" });
    expect(answer.frames[0]?.flags).toBe(0);
    expect(answer.frames[0]?.data.toString()).toContain('"one"');
    expect(JSON.stringify(endOf(answer))).toMatch(/resource_exhausted|"grpc-status":"8"/);
  });
});

describe("a long answer of", () => {
  beforeEach(() => {
    server.pipeline.answer = async () => messageWith(LONG);
  });

  it.each(["application/json", "application/proto"])(
    "%s is compressed by the weights that the client gives",
    async (type) => {
      for (const [accepted, used, decompress] of [
        ["gzip;q=0.2, br;q=0.1", "gzip", gunzipSync],
        ["gzip;q=0.2, br", "br", brotliDecompressSync],
        ["gzip;q=0", undefined, (body: Buffer) => body],
      ] as const) {
        const options = { headers: { "accept-encoding": accepted }, message: request(type) };
        const { headers, body } = await server.call(GET_MESSAGE, type, options);
        expect([headers["content-encoding"], headers.vary]).toEqual([used, "Accept-Encoding, Authorization"]);
        expect(decompress(body).toString()).toContain(LONG);
      }
    },
  );

  it.each(UNARY_TYPES.filter(({ isFramed }) => isFramed))(
    "$type is compressed by the first name that is known",
    async ({ type, accept, encoding }) => {
      for (const [accepted, used] of [
        ["deflate, br,gzip", "br"],
        ["gzip,br", "gzip"],
        ["gzip;q=1", undefined],
        ["identity", undefined],
      ]) {
        const { headers, frames } = await server.call(GET_MESSAGE, type, {
          headers: { [accept]: accepted! },
          message: request(type),
        });
        expect([headers[encoding], frames[0]?.flags]).toEqual([used, used === undefined ? 0 : 1]);
        expect(frames[0]?.data.toString()).toContain(LONG);
      }
    },
  );
});

it.each(UNARY_TYPES)("a short answer of $type is not compressed", async ({ type, accept, isFramed }) => {
  server.pipeline.answer = async () => messageWith("short");
  const answer = await server.call(GET_MESSAGE, type, { headers: { [accept]: "gzip" }, message: request(type) });
  expect(answer.headers["content-encoding"]).toBeUndefined();
  expect((isFramed ? answer.frames[0]!.data : answer.body).toString()).toContain("short");
});

describe("without room for an answer", () => {
  beforeEach(async () => {
    await server.stop();
    server = await RpcServer.start({ bufferedBytes: 10_000 });
    server.pipeline.answer = async () => messageWith(WIDE);
    server.pipeline.events = async function* () {
      yield eventWith("first");
      yield eventWith(WIDE);
    };
  });

  it("a unary call of Connect is answered with 429", async () => {
    const { status, headers, body } = await server.call(GET_MESSAGE, "application/json", { message: "{}" });
    expect([status, headers["retry-after"]]).toEqual([429, "1"]);
    expect(JSON.parse(body.toString())).toMatchObject({ code: "resource_exhausted" });
  });

  it.each(["application/grpc+json", "application/grpc-web+json"])(
    "a unary call of %s ends with the error",
    async (type) => {
      const answer = await server.call(GET_MESSAGE, type, { message: "{}" });
      expect(answer.status).toBe(200);
      expect(endOf(answer)).toMatchObject({ "grpc-status": "8", "retry-after": "1" });
    },
  );

  it.each(STREAM_TYPES)("a stream of %s ends with the error after what had room", async (type) => {
    const answer = await server.call(WATCH, type, { message: "{}" });
    expect(answer.frames[0]?.data.toString()).toContain('"first"');
    expect(JSON.stringify(endOf(answer))).toMatch(/resource_exhausted|"grpc-status":"8"/);
  });
});

it("what an answer or event has held is free again when it was sent", async () => {
  await server.stop();
  server = await RpcServer.start({ bufferedBytes: 30_000 });
  server.pipeline.answer = async () => messageWith(WIDE);
  server.pipeline.events = async function* () {
    for (let i = 0; i < 10; i++) yield eventWith(WIDE);
  };
  for (const type of ["application/json", "application/grpc+json", "application/json"]) {
    expect((await server.call(GET_MESSAGE, type, { message: "{}" })).status).toBe(200);
  }
  const { frames } = await server.call(WATCH, "application/connect+json", { message: "{}" });
  expect(frames.map(({ flags }) => flags)).toEqual([...Array.from({ length: 10 }, () => 0), 2]);
});

describe("what is this program's fault", () => {
  it.each(["application/json", "application/grpc+json"])(
    "is reported, and answered as internal without its text (%s)",
    async (type) => {
      const fault = new Error("secret");
      server.pipeline.answer = async () => Promise.reject(fault);
      const answer = await server.call(GET_MESSAGE, type, { message: "{}" });
      expect(server.unexpected).toEqual([fault]);
      expect(answer.body.toString() + JSON.stringify(answer.trailers)).toContain("Internal error");
      expect(answer.body.toString()).not.toContain("secret");
    },
  );

  it("ends the stream if no answer can be made", async () => {
    const fault = new Error("no trailers");
    server.pipeline.error = Object.defineProperty(new ApiError(Code.NotFound, "gone"), "current", {
      get() {
        throw fault;
      },
    });
    const { status } = await server.call(GET_MESSAGE, "application/grpc+json", { message: "{}" });
    expect(status).toBe(0);
    expect(server.unexpected).toEqual([fault]);
  });
});

describe("a client that has gone", () => {
  /** Makes a call and drops its connection as soon as `isTime` says so. */
  async function callAndLeave(rpc: string, isTime: () => boolean): Promise<void> {
    const session = connectHttp2(server.url);
    session.on("error", () => undefined);
    const path = `/sessionpool.v1.${rpc}`;
    const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc+json" });
    stream.on("error", () => undefined).resume();
    stream.end(frameOf(0, Buffer.from("{}")));
    while (!isTime()) await setImmediate();
    session.destroy();
  }

  it("is told to the call, and gets no answer", async () => {
    let isAnswered = false;
    server.pipeline.answer = async (_method, _request, { signal }) => {
      while (!signal.aborted) await setImmediate();
      isAnswered = true;
      return messageWith(LONG);
    };
    await callAndLeave(GET_MESSAGE, () => server.pipeline.calls.length > 0);
    while (!isAnswered) await setImmediate();
    await setImmediate();
    expect(server.unexpected).toEqual([]);
  });

  it("ends the events of its stream", async () => {
    let sent = 0;
    let hasEnded = false;
    server.pipeline.events = async function* () {
      try {
        for (; ; sent++) yield eventWith("tick");
      } finally {
        hasEnded = true;
      }
    };
    await callAndLeave(WATCH, () => sent > 0);
    while (!hasEnded) await setImmediate();
    await setImmediate();
    expect(server.unexpected).toEqual([]);
  });
});

it("a stream whose client reads nothing for 30 seconds is ended", async () => {
  server.pipeline.events = async function* () {
    for (;;) yield eventWith("x".repeat(100_000));
  };
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const session = connectHttp2(server.url);
  const path = `/sessionpool.v1.${WATCH}`;
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc+json" });
  stream.on("error", () => undefined).pause();
  stream.end(frameOf(0, Buffer.from("{}")));
  await once(stream, "response");
  for (let i = 0; i < 100; i++) await setImmediate();
  vi.advanceTimersByTime(29_999);
  for (let i = 0; i < 20; i++) await setImmediate();
  expect(stream.closed).toBe(false);
  vi.advanceTimersByTime(1);
  while (!stream.closed) await setImmediate();
  session.destroy();
});

it("a GET over HTTP/1.1 has its length and one id", async () => {
  await server.stop();
  server = await RpcServer.start({}, 1);
  server.pipeline.answer = async () => messageWith("short");
  const outgoing = get(`${server.url}/sessionpool.v1.${GET_MESSAGE}?encoding=json&message=%7B%7D`, {
    headers: { "x-request-id": "mine" },
  });
  const [incoming] = await once(outgoing, "response");
  const chunks = await incoming.toArray();
  const { "content-length": length, "x-request-id": id, "cache-control": caching } = incoming.headers;
  expect([Number(length), id, caching]).toEqual([Buffer.concat(chunks).length, "mine", "no-store"]);
});
