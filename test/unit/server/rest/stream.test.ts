import { once } from "node:events";
import { type ClientRequest, get, type IncomingMessage } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  MessageService,
  type WatchMessagesResponse,
  WatchMessagesResponseSchema,
} from "../../../../gen/sessionpool/v1/message_service_pb.js";
import { ApiError } from "../../../../src/api/api-error.js";
import { toByteString } from "../../../../src/domain/byte-string.js";
import { makeFramings, STREAM_TYPES } from "../../../../src/server/rest/stream.js";
import { RestServer } from "./rest-server.js";

const PATH = "/session/s/message:watch";
const EVENTS = { accept: "text/event-stream" };
const LINES_OF_JSON = { accept: "application/x-ndjson" };

let server: RestServer;
beforeAll(async () => {
  server = await RestServer.start();
});
afterAll(() => server.stop());
afterEach(() => {
  server.pipeline.error = undefined;
  server.pipeline.events = async function* () {};
});

type Init = MessageInitShape<typeof WatchMessagesResponseSchema>;

const event = (init: Init): WatchMessagesResponse => create(WatchMessagesResponseSchema, init);
const APPENDED = event({ event: { case: "appended", value: { info: { id: "m", role: "user" } } }, resumeToken: "t1" });
const TRUNCATED = event({ event: { case: "truncated", value: { messageCount: 2n } }, resumeToken: "t2" });
const HEARTBEAT = event({ event: { case: "heartbeat", value: {} }, resumeToken: "t3" });
const APPENDED_JSON =
  '{"appended":{"info":{"id":"m","role":"user","sessionId":"","originSessionId":""},"parts":[]},"resumeToken":"t1"}';

/** Has the next stream send these events and then end, with the error if there is one. */
function tell(events: readonly WatchMessagesResponse[], error?: unknown): void {
  server.pipeline.events = async function* () {
    yield* events;
    if (error !== undefined) throw error;
  };
}

describe("WatchMessages", () => {
  const LINES =
    `{"result":${APPENDED_JSON}}\n` +
    '{"result":{"truncated":{"messageCount":"2"},"resumeToken":"t2"}}\n' +
    '{"result":{"heartbeat":{},"resumeToken":"t3"}}\n';
  const SENT_EVENTS =
    `event: appended\nid: t1\ndata: ${APPENDED_JSON}\n\n` +
    'event: truncated\nid: t2\ndata: {"truncated":{"messageCount":"2"},"resumeToken":"t2"}\n\n' +
    'event: heartbeat\nid: t3\ndata: {"heartbeat":{},"resumeToken":"t3"}\n\n';

  test.each([
    undefined,
    "",
    "*/*",
    "text/*",
    "text/event-stream",
    "Text/Event-Stream; charset=UTF-8",
    "text/html, Text/Event-Stream;q=0.5",
    "application/json, text/plain, */*",
    "text/event-stream, application/x-ndjson",
    "application/x-ndjson;q=0.9, text/event-stream",
    "application/x-ndjson;q=0, */*",
    "application/json, text/event-stream;q=0.1",
  ])("sends Server-Sent Events to Accept: %s", async (accept) => {
    tell([APPENDED, TRUNCATED, HEARTBEAT]);
    const answer = await server.request("GET", PATH, { headers: accept === undefined ? {} : { accept } });
    expect(answer.headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      vary: "Accept, Authorization",
    });
    expect(answer.body.toString()).toBe(SENT_EVENTS);
  });

  test.each([
    "application/x-ndjson",
    "Application/X-NDJSON; charset=utf-8",
    "application/*",
    "application/x-ndjson, */*",
    "application/x-ndjson, text/event-stream",
    "text/event-stream;q=0.5, application/x-ndjson;q=0.6",
    "*/*, text/event-stream;q=0",
    "text/*;q=0, */*;q=0.1",
    "application/json",
    "application/json, text/event-stream;q=0",
  ])("sends JSON lines to Accept: %s", async (accept) => {
    tell([APPENDED, TRUNCATED, HEARTBEAT]);
    const answer = await server.request("GET", PATH, { headers: { accept } });
    expect(answer.headers["content-type"]).toBe("application/x-ndjson");
    expect(answer.body.toString()).toBe(LINES);
  });

  test.each(["text/html", "image/*", "*/*;q=0", "text/event-stream;q=0", "text/event-stream;q=x", "nonsense"])(
    "refuses Accept: %s, which allows neither",
    async (accept) => {
      const answer = await server.request("GET", PATH, { headers: { accept } });
      expect(answer).toMatchObject({
        status: 406,
        json: {
          code: 3,
          message: expect.stringMatching(/^Accept must allow text\/event-stream or application\/x-ndjson;/),
        },
      });
    },
  );

  test("reports an error after the start in the stream", async () => {
    tell([HEARTBEAT], new ApiError(Code.NotFound, 'Session "s" not found'));
    const info = '{"@type":"type.googleapis.com/google.rpc.RequestInfo","requestId":"r7"}';
    const problem = `{"code":5,"message":"Session \\"s\\" not found","details":[${info}]}`;
    const named = { "x-request-id": "r7" };
    const lines = (await server.request("GET", PATH, { headers: { ...LINES_OF_JSON, ...named } })).body.toString();
    expect(lines).toBe(`{"result":{"heartbeat":{},"resumeToken":"t3"}}\n{"error":${problem}}\n`);
    const events = (await server.request("GET", PATH, { headers: { ...EVENTS, ...named } })).body.toString();
    expect(events.endsWith(`\n\nevent: error\ndata: ${problem}\n\n`)).toBe(true);
  });

  test("does not reveal the text of an unexpected error", async () => {
    tell([], new Error("secret"));
    const answer = await server.request("GET", PATH, { headers: LINES_OF_JSON });
    expect(answer.body.toString()).toMatch(
      /^\{"error":\{"code":13,"message":"Internal error","details":\[[^[\]]*\]\}\}\n$/,
    );
    expect(server.unexpected.splice(0)).toEqual([new Error("secret")]);
  });

  test("answers an error before the start as other calls do", async () => {
    server.pipeline.error = new ApiError(Code.NotFound, "no");
    const answer = await server.request("GET", PATH, { headers: EVENTS });
    expect([answer.status, answer.json]).toEqual([404, { code: 5, message: "no", details: [expect.anything()] }]);
    const refused = await server.request("GET", `${PATH}?from_position=x`, { headers: EVENTS });
    expect(refused.status).toBe(400);
  });

  test.each([
    ["", "t9", { resumeToken: "t9", fromPosition: undefined }],
    ["?from_position=0", "t9", { resumeToken: "t9", fromPosition: undefined }],
    ["?from_position=0", "", { resumeToken: "", fromPosition: 0n }],
    ["?resume_token=t1", "t9", { resumeToken: "t1", fromPosition: undefined }],
    ["?resume_token=t1&from_position=0", "t9", { resumeToken: "t1", fromPosition: 0n }],
  ])("resumes %s with Last-Event-ID %j", async (query, lastEventId, fields) => {
    await server.request("GET", PATH + query, { headers: { ...EVENTS, "last-event-id": lastEventId } });
    const { resumeToken, fromPosition } = server.pipeline.last.request;
    expect({ resumeToken, fromPosition }).toEqual(fields);
  });

  test("ignores Last-Event-ID when it answers JSON lines", async () => {
    await server.request("GET", `${PATH}?from_position=1`, { headers: { ...LINES_OF_JSON, "last-event-id": "t9" } });
    expect(server.pipeline.last.request).toMatchObject({ resumeToken: "", fromPosition: 1n });
  });

  test("sends headers before the first event, and each event as it comes", async () => {
    const steps = [deferred(), deferred()];
    server.pipeline.events = async function* () {
      for (const step of steps) {
        await step.promise;
        yield HEARTBEAT;
      }
    };
    const { response } = await open();
    expect(response.statusCode).toBe(200);
    for (const step of steps) {
      step.resolve();
      const [chunk] = await once(response, "data");
      expect(String(chunk)).toContain("event: heartbeat");
    }
  });

  test("HEAD sends the headers and closes the stream", async () => {
    const closed = deferred();
    server.pipeline.events = () => ({
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise<never>(() => {}),
        return: async () => {
          closed.resolve();
          return { done: true, value: undefined };
        },
      }),
    });
    const answer = await server.request("HEAD", PATH, { headers: EVENTS });
    expect([answer.status, answer.headers["content-type"]]).toEqual([200, "text/event-stream"]);
    await closed.promise;
  });

  test("aborts the call when the client disconnects", async () => {
    const closed = deferred();
    server.pipeline.events = async function* (_request, { signal }) {
      try {
        yield HEARTBEAT;
        await once(signal, "abort");
      } finally {
        closed.resolve();
      }
    };
    const { request, response } = await open();
    await once(response, "data");
    request.destroy();
    await closed.promise;
    expect(server.pipeline.last.call.signal.aborted).toBe(true);
  });

  test("takes no more events than the client reads, and disconnects one that reads nothing", async () => {
    const impatient = await RestServer.start({ limits: { stalledMs: 100 } });
    const closed = deferred();
    let given = 0;
    const large = event({ event: { case: "appended", value: { parts: [{ text: "x".repeat(100_000) }] } } });
    impatient.pipeline.events = async function* () {
      try {
        for (; given < 10_000; given++) yield large;
      } finally {
        closed.resolve();
      }
    };
    const { response } = await open(impatient.port);
    response.pause();
    await closed.promise;
    expect(given).toBeLessThan(1000);
    const disconnected = new Promise((resolve) => response.once("close", resolve));
    response.resume();
    await disconnected;
    expect(response.complete).toBe(false);
    await impatient.stop();
  });

  test("sends everything to a client that reads slowly", async () => {
    const large = event({ event: { case: "appended", value: { parts: [{ text: "x".repeat(100_000) }] } } });
    tell(Array.from({ length: 100 }, () => large));
    const { response } = await open();
    let bytes = 0;
    for await (const chunk of response) bytes += (chunk as Buffer).length;
    expect(bytes).toBeGreaterThan(100 * 100_000);
    expect(response.complete).toBe(true);
  });

  test("works over HTTP/2, and stops when the client resets", async () => {
    const http2 = await RestServer.start({ http2: true });
    const closed = deferred();
    http2.pipeline.events = async function* (_request, { signal }) {
      try {
        yield HEARTBEAT;
        await once(signal, "abort");
      } finally {
        closed.resolve();
      }
    };
    const session = connectHttp2(`http://127.0.0.1:${http2.port}`);
    const stream = session.request({ ":path": PATH, ...EVENTS });
    const [headers] = await once(stream, "response");
    expect(headers[":status"]).toBe(200);
    expect(String((await once(stream, "data"))[0])).toContain("id: t3");
    stream.close();
    await closed.promise;
    session.close();
    await http2.stop();
  });
});

test.each(STREAM_TYPES)("writes an event that several clients get at once only once, as %s", (type) => {
  let written = 0;
  const write = () => {
    written += 1;
    return toByteString("{}");
  };
  const { frame } = makeFramings(MessageService.method.watchMessages, write)[type];
  expect(frame(TRUNCATED)).toBe(frame(TRUNCATED));
  expect(frame(TRUNCATED).toString()).toContain("{}");
  expect(written).toBe(1);
});

async function open(port = server.port): Promise<{ request: ClientRequest; response: IncomingMessage }> {
  const request = get({ host: "127.0.0.1", port, path: PATH, headers: EVENTS, agent: false });
  request.on("error", () => {});
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.on("error", () => {});
  return { request, response };
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
