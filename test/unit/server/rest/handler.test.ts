import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  AppendMessageResponseSchema,
  ListMessagesResponseSchema,
  MessageWithPartsSchema,
} from "../../../../gen/sessionpool/v1/message_service_pb.js";
import { SessionSchema, SessionView } from "../../../../gen/sessionpool/v1/session_service_pb.js";
import { ListTodosResponseSchema } from "../../../../gen/sessionpool/v1/todo_service_pb.js";
import { ApiError } from "../../../../src/api/api-error.js";
import { DomainError } from "../../../../src/domain/errors.js";
import { REST_PATHS } from "../../../interop/table/rest-paths.js";
import { type Answer, type RequestOptions, RestServer } from "./rest-server.js";

const BODY_BYTES = 64 * 1024;

let server: RestServer;
beforeAll(async () => {
  server = await RestServer.start({ limits: { bodyBytes: BODY_BYTES } });
});
afterAll(() => server.stop());
beforeEach(() => {
  server.pipeline.calls.length = 0;
  server.pipeline.error = undefined;
  server.pipeline.refusedKey = undefined;
  server.pipeline.answer = async ({ desc }) => ({ $typeName: desc.output.typeName });
  server.pipeline.answerWith(SessionSchema, { sessionId: "s" });
  server.unexpected.length = 0;
});

const JSON_TYPE = { "content-type": "application/json" };

function send(line: string, options?: RequestOptions): Promise<Answer> {
  const [method = "", path = ""] = line.split(" ");
  return server.request(method, path, options);
}

function post(path: string, body: string | Buffer, headers: Record<string, string> = JSON_TYPE): Promise<Answer> {
  return server.request("POST", path, { headers, body });
}

/** Sends a request that must succeed. Resolves to the method that it reached and the fields that were set. */
async function reached(line: string, options?: RequestOptions): Promise<unknown[]> {
  const answer = await send(line, options);
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.body}`);
  const { $typeName, ...fields } = server.pipeline.last.request;
  const isSet = ([, value]: [string, unknown]): boolean =>
    !["", false, undefined].some((zero) => zero === value) && !isEmptyObject(value);
  return [server.pipeline.last.method, Object.fromEntries(Object.entries(fields).filter(isSet))];
}

/** Whether this is a list or a map without entries. */
function isEmptyObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function expectProblem(answer: Answer, status: number, code: Code, message?: string | RegExp): void {
  expect([answer.status, (answer.json as { code?: number })?.code]).toEqual([status, code]);
  expect(answer.headers["content-type"]).toBe("application/json");
  expect(answer.json).toEqual({
    code,
    message: expect.any(String),
    details: [expect.objectContaining({ requestId: expect.any(String) })],
  });
  if (message !== undefined) expect((answer.json as { message: string }).message).toMatch(message);
}

describe("paths", () => {
  test.each<[string, string, object]>([
    ["GET /session", "ListSessions", { view: SessionView.UNSPECIFIED }],
    ["GET /session/s", "GetSession", { sessionId: "s" }],
    ["GET /session/todo", "GetSession", { sessionId: "todo" }],
    ["GET /session/s/load", "LoadSession", { sessionId: "s" }],
    ["PATCH /session/s", "UpdateSession", { sessionId: "s" }],
    ["DELETE /session/s", "DeleteSession", { sessionId: "s" }],
    ["POST /session", "CreateSession", {}],
    ["POST /session/s/fork", "ForkSession", { sessionId: "s" }],
    ["POST /session/s/share", "ShareSession", { sessionId: "s" }],
    ["POST /session/s/revert", "RevertSession", { sessionId: "s" }],
    ["POST /session/s/unrevert", "UnrevertSession", { sessionId: "s" }],
    ["POST /session/s/message", "AppendMessage", { sessionId: "s" }],
    ["POST /session/s/message:batch", "AppendMessages", { sessionId: "s" }],
    ["GET /session/s/message", "ListMessages", { sessionId: "s" }],
    ["GET /session/s/message/m", "GetMessage", { sessionId: "s", messageId: "m" }],
    ["GET /session/s/message:count", "CountMessages", { sessionId: "s" }],
    ["POST /session/s/message:copy", "CopyMessages", { sessionId: "s" }],
    ["POST /session/s/message:truncate", "TruncateMessages", { sessionId: "s" }],
    ["GET /session/a:b/message/c:d", "GetMessage", { sessionId: "a:b", messageId: "c:d" }],
    ["GET /session/a:b/message:count", "CountMessages", { sessionId: "a:b" }],
    ["GET /session/a%2Fb", "GetSession", { sessionId: "a/b" }],
    ["GET /session/a%252Fb", "GetSession", { sessionId: "a%2Fb" }],
    ["GET /session/%E2%82%AC%20+%3F", "GetSession", { sessionId: "€ +?" }],
    ["GET /session/a%00b", "GetSession", { sessionId: "a\u0000b" }],
    ["GET /session/...", "GetSession", { sessionId: "..." }],
    ["GET /session/%252e%252e", "GetSession", { sessionId: "%2e%2e" }],
    ["GET /session/s?", "GetSession", { sessionId: "s" }],
  ])("%s is %s", async (line, method, fields) => {
    expect(await reached(line)).toEqual([method, fields]);
  });

  test.each(["GET /s/todo", "GET /session/s/todo", "GET /never%20made/todo"])(
    "%s is ListTodos, as a bare array",
    async (line) => {
      server.pipeline.answerWith(ListTodosResponseSchema, { todos: [{ id: "1", content: "a" }] });
      const answer = await send(line);
      expect(answer.json).toEqual([{ id: "1", content: "a", status: "", priority: "" }]);
      server.pipeline.answerWith(ListTodosResponseSchema, {});
      expect((await send(line)).body.toString()).toBe("[]");
    },
  );

  test.each([
    "GET /",
    "GET /nothing",
    "GET /nothing/at/all",
    "GET /Session",
    "GET /session/",
    "GET //session",
    "GET /session//message",
    "GET /session/s/",
    "GET /session/s/message/",
    "GET /session/./message",
    "GET /session/../session",
    "GET /session/%2e%2E",
    "GET /session/%2e",
    "GET /session/s/message/..",
    "GET /a/../session",
    "GET /session/s/message%3Acount",
    "GET /session/s/message:none",
    "GET /session/s/message:count/",
    "POST /session/",
    "PUT /x",
    "OPTIONS /x",
    "HEAD /x/y/z",
    "POST /sessionpool.v1.TodoTrackerService/AddTodo",
  ])("%s is not_found", async (line) => {
    const answer = await send(line);
    expect(answer.status).toBe(404);
    if (!line.startsWith("HEAD")) expectProblem(answer, 404, Code.NotFound, /^No such path/);
    expect(server.pipeline.calls).toEqual([]);
  });

  test.each([
    "/session/%",
    "/session/%4",
    "/session/%zz",
    "/session/%ff",
    "/session/%C0%AF",
    "/session/a/message/%ED%A0%80",
  ])("GET %s is a bad escape", async (path) => {
    expectProblem(await send(`GET ${path}`), 400, Code.InvalidArgument, /percent-encoded/);
  });
});

describe("methods", () => {
  test.each([
    ["PUT /session/s", "DELETE, GET, HEAD, OPTIONS, PATCH"],
    ["POST /session/s", "DELETE, GET, HEAD, OPTIONS, PATCH"],
    ["POST /session/s/todo", "GET, HEAD, OPTIONS"],
    ["PUT /s/todo", "GET, HEAD, OPTIONS"],
    ["DELETE /s/todo", "GET, HEAD, OPTIONS"],
    ["DELETE /session", "GET, HEAD, OPTIONS, POST"],
    ["GET /session/s/fork", "OPTIONS, POST"],
    ["HEAD /session/s/message:batch", "OPTIONS, POST"],
    ["LOCK /session", "GET, HEAD, OPTIONS, POST"],
  ])("%s is not allowed", async (line, allow) => {
    const answer = await send(line);
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe(allow);
    if (!line.startsWith("HEAD")) expectProblem(answer, 405, Code.Unimplemented);
  });

  test.each([
    ["OPTIONS /session", "GET, HEAD, OPTIONS, POST"],
    ["OPTIONS /session/todo", "DELETE, GET, HEAD, OPTIONS, PATCH"],
    ["OPTIONS /session/s/message", "GET, HEAD, OPTIONS, POST"],
    ["OPTIONS *", "DELETE, GET, HEAD, OPTIONS, PATCH, POST"],
  ])("%s says what is", async (line, allow) => {
    const answer = await send(line);
    expect([answer.status, answer.headers.allow, answer.body.length]).toEqual([204, allow, 0]);
  });

  test("HEAD is GET without the body", async () => {
    server.pipeline.answerWith(SessionSchema, { title: "x".repeat(3000) });
    for (const headers of [{}, { "accept-encoding": "gzip" }, { "accept-encoding": "br" }]) {
      const [get, head] = [await send("GET /session/s", { headers }), await send("HEAD /session/s", { headers })];
      const { date: _, "x-request-id": __, ...expected } = get.headers;
      expect(head.headers).toMatchObject(expected);
      expect(Number(head.headers["content-length"])).toBe(get.body.length);
      expect(head.body.length).toBe(0);
    }
    const failed = await send("HEAD /session/s?x=1");
    expect([failed.status, failed.body.length]).toEqual([400, 0]);
  });

  test("X-HTTP-Method-Override is ignored", async () => {
    const headers = { "x-http-method-override": "DELETE" };
    expect(await reached("GET /session/s", { headers })).toEqual(["GetSession", { sessionId: "s" }]);
  });
});

describe("every path of the API", () => {
  const CALLS = Object.entries(REST_PATHS).map(([rpc, { method, path, body }]) => {
    return { rpc, method, path: path.replaceAll(/\{\w+\}/g, "x"), body };
  });
  const methodsOf = (path: string): Set<string> => {
    const methods = new Set(["OPTIONS", ...CALLS.filter((call) => call.path === path).map((call) => call.method)]);
    // The last segment may also be the id of a message or a draft.
    if (path.endsWith(":erase")) for (const method of ["DELETE", "GET", "PATCH"]) methods.add(method);
    if (path.endsWith(":extend") || path.endsWith(":finish")) methods.add("DELETE");
    if (methods.has("GET")) methods.add("HEAD");
    return methods;
  };

  test.each([...new Set(CALLS.map(({ path }) => path))])("%s says which methods it has", async (path) => {
    const allow = [...methodsOf(path)].sort().join(", ");
    const options = await send(`OPTIONS ${path}`);
    expect([options.status, options.headers.allow, options.body.length]).toEqual([204, allow, 0]);
    for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE"]) {
      const { status, headers } = await send(`${method} ${path}?colour=1`);
      expect([method, status, headers.allow]).toEqual(
        methodsOf(path).has(method) ? [method, 400, undefined] : [method, 405, allow],
      );
    }
    expect(server.pipeline.calls).toEqual([]);
  });

  test.each(CALLS)("$method $path refuses what it does not know", async ({ rpc, method, path, body }) => {
    const withBody = (json: string): RequestOptions => ({
      headers: { ...JSON_TYPE, "content-length": String(json.length) },
      body: json,
    });
    expectProblem(
      await send(`${method} ${path}?colour=1`),
      400,
      Code.InvalidArgument,
      /Unknown query parameter "colour"/,
    );
    expectProblem(await send(`${method} ${path}/`), 404, Code.NotFound, /No such path/);
    // Whatever an upload has as its body is what it uploads.
    if (rpc === "AttachmentService.UploadAttachment") return expect(server.pipeline.calls).toEqual([]);
    const problem = body === undefined ? /takes no body/ : /body: (unknown field "colour"|expected an object)/;
    for (const json of ['{"colour":null}', "null", "[]", '"x"', "0"]) {
      expectProblem(await send(`${method} ${path}`, withBody(json)), 400, Code.InvalidArgument, problem);
    }
    expect(server.pipeline.calls).toEqual([]);
  });
});

describe("queries", () => {
  test.each<[string, object]>([
    ["limit=5", { limit: 5 }],
    ["limit=-2147483648", { limit: -2147483648 }],
    ["limit=0", { limit: 0 }],
    ["page_token=a%2Bb+c%26d%3D&", { pageToken: "a+b c&d=" }],
    ["pageToken=x", { pageToken: "x" }],
    ["page_token", {}],
    ["newest_first=true&includeAncestors=false", { newestFirst: true }],
    ["%6Cimit=5", { limit: 5 }],
    ["session_id=s", {}],
    ["sessionId=s&&limit=1&", { limit: 1 }],
    [
      "since=2026-01-02T03:04:05.5Z",
      { since: { $typeName: "google.protobuf.Timestamp", seconds: 1767323045n, nanos: 500_000_000 } },
    ],
    [
      "until=2026-01-02T04:04:05%2B01:00",
      { until: { $typeName: "google.protobuf.Timestamp", seconds: 1767323045n, nanos: 0 } },
    ],
  ])("?%s is read", async (query, fields) => {
    expect(await reached(`GET /session/s/message?${query}`)).toEqual(["ListMessages", { sessionId: "s", ...fields }]);
  });

  test.each([
    ["colour=1", /Unknown query parameter "colour"/],
    ["Limit=1", /Unknown query parameter "Limit"/],
    ["=1", /Unknown query parameter ""/],
    ["limit=1&limit=1", /"limit" is repeated/],
    ["page_token=a&pageToken=a", /"pageToken" is repeated/],
    ["limit=", /limit: expected a plain decimal integer, got ""/],
    ["limit", /limit: expected/],
    ["limit=+5", /limit: expected/],
    ["limit=%2B5", /limit: expected/],
    ["limit=5%20", /limit: expected/],
    ["limit=%205", /limit: expected/],
    ["limit=1e2", /limit: expected/],
    ["limit=1.0", /limit: expected/],
    ["limit=0x10", /limit: expected/],
    ["limit=007", /limit: expected/],
    ["limit=-0", /limit: expected/],
    ["limit=%D9%A1", /limit: expected/],
    ["limit=2147483648", /limit: expected a 32-bit integer/],
    ["limit=-2147483649", /limit: expected a 32-bit integer/],
    ["newest_first=1", /newest_first: expected true or false/],
    ["newest_first=True", /newest_first: expected true or false/],
    ["newest_first=", /newest_first: expected true or false/],
    ["newest_first", /newest_first: expected true or false/],
    ["since=yesterday", /since: expected a time/],
    ["since=2026-01-02", /since: expected a time/],
    ["since=", /since: expected a time/],
    ["since.seconds=1", /Unknown query parameter "since.seconds"/],
    ["session_id=other", /session_id: the path says otherwise/],
    ["session_id=", /session_id: the path says otherwise/],
    ["session_id=s&sessionId=s", /"sessionId" is repeated/],
    ["page_token=%zz", /page_token: .* is not percent-encoded/],
    ["page_token=%ff", /page_token: .* is not percent-encoded/],
    ["__proto__=1", /Unknown query parameter "__proto__"/],
    ["toString=1", /Unknown query parameter "toString"/],
  ])("?%s is refused", async (query, problem) => {
    expectProblem(await send(`GET /session/s/message?${query}`), 400, Code.InvalidArgument, problem);
    expect(server.pipeline.calls).toEqual([]);
  });

  test("name the fields of a mask as JSON does", async () => {
    const [, fields] = await reached("PATCH /session/s/message/m?update_mask=parts,info.metadata");
    expect(fields).toMatchObject({ updateMask: { paths: ["parts", "info.metadata"] } });
    for (const query of [
      "update_mask=info_role",
      "updateMask=info.role&update_mask=parts",
      "update_mask.paths=parts",
    ]) {
      expectProblem(await send(`PATCH /session/s/message/m?${query}`), 400, Code.InvalidArgument, /update_?mask/i);
    }
    const body = { headers: JSON_TYPE, body: '{"updateMask":"expire_time"}' };
    expectProblem(await send("PATCH /session/s", body), 400, Code.InvalidArgument, /update_mask: .*lowerCamelCase/);
  });

  test("name the value of an enum", async () => {
    const view = SessionView.FULL;
    expect(await reached("GET /session?view=SESSION_VIEW_FULL")).toEqual(["ListSessions", { view }]);
    server.pipeline.calls.length = 0;
    for (const value of ["2", "9", "-1", "", "SESSION_VIEW_NONE", "session_view_full"]) {
      const problem = /view: expected SESSION_VIEW_UNSPECIFIED or SESSION_VIEW_BASIC or SESSION_VIEW_FULL, got "/;
      expectProblem(await send(`GET /session?view=${value}`), 400, Code.InvalidArgument, problem);
    }
    expect(server.pipeline.calls).toEqual([]);
  });

  test("may set, beside the field that the body holds, only the other fields", async () => {
    const message = { info: { role: "user" } };
    const options = { headers: JSON_TYPE, body: JSON.stringify(message) };
    const [, fields] = await reached(
      "POST /session/s/message?expected_position=9223372036854775807&session_id=s",
      options,
    );
    expect(fields).toMatchObject({ sessionId: "s", expectedPosition: 9223372036854775807n, message });
    for (const [query, problem] of [
      ["expected_position=9223372036854775808", /expected_position: expected a 64-bit integer/],
      ["expected_position=1e3", /plain decimal/],
      ["message.info.role=x", /Unknown query parameter/],
      ["message=x", /Unknown query parameter/],
    ] as const) {
      expectProblem(await send(`POST /session/s/message?${query}`, options), 400, Code.InvalidArgument, problem);
    }
  });

  test("may set nothing when the body is the whole request, but may repeat what the path says", async () => {
    expect(await reached("POST /session/s/fork?session_id=s")).toEqual(["ForkSession", { sessionId: "s" }]);
    expectProblem(
      await send("POST /session/s/fork?title=x"),
      400,
      Code.InvalidArgument,
      /Unknown query parameter "title"/,
    );
    expectProblem(
      await send("POST /session/s/fork?session_id=t"),
      400,
      Code.InvalidArgument,
      /the path says otherwise/,
    );
    expectProblem(
      await send("PATCH /session/s?update_mask=title"),
      400,
      Code.InvalidArgument,
      /Unknown query parameter/,
    );
  });
});

describe("bodies", () => {
  test("hold the whole request, with proto names or JSON names", async () => {
    const body = '{"new_session_id":"n","upToMessageId":"m","sessionId":"s"}';
    expect(await reached("POST /session/s/fork", { headers: JSON_TYPE, body })).toEqual([
      "ForkSession",
      { sessionId: "s", newSessionId: "n", upToMessageId: "m" },
    ]);
    const patch = { headers: JSON_TYPE, body: '{"updateMask":"title,metadata","metadata":{"a":[1,null]},"title":""}' };
    expect(await reached("PATCH /session/s", patch)).toEqual([
      "UpdateSession",
      {
        sessionId: "s",
        metadata: { a: [1, null] },
        updateMask: { $typeName: "google.protobuf.FieldMask", paths: ["title", "metadata"] },
      },
    ]);
  });

  test("hold one field of the request", async () => {
    const body = '{"info":{"role":"user"},"parts":[{"type":"text","text":"hi"}]}';
    const [, fields] = await reached("POST /session/s/message", { headers: JSON_TYPE, body });
    expect(fields).toMatchObject({
      sessionId: "s",
      message: { info: { role: "user" }, parts: [{ type: "text", text: "hi" }] },
    });
  });

  test("may hold an empty value for a field that the path sets", async () => {
    for (const body of ['{"session_id":""}', '{"session_id":null}']) {
      expect(await reached("POST /session/s/fork", { headers: JSON_TYPE, body })).toEqual([
        "ForkSession",
        { sessionId: "s" },
      ]);
    }
  });

  test.each([
    ["/session", "{", /not valid JSON/],
    ["/session", "\ufeff{}", /not valid JSON/],
    ["/session", "[]", /body: expected an object/],
    ["/session", "null", /body: expected an object/],
    ["/session", "1", /body: expected an object/],
    ["/session", '{"colour":1}', /body: unknown field "colour"/],
    ["/session", '{"__proto__":{"title":"x"}}', /unknown field "__proto__"/],
    ["/session", '{"sessionId":"a","session_id":"a"}', /session_id is set twice/],
    ["/session", '{"title":"a","title":"a"}', /the key "title" twice/],
    ["/session", '{"title":"a","\\u0074itle":"a"}', /the key "title" twice/],
    ["/session", '{"title":1}', /title: expected a string/],
    ["/session", '{"title":"\\ud800"}', /lone surrogate/],
    [
      "/session",
      '{"metadata":{"n":[9007199254740993]}}',
      /^metadata\.n\[0\]: the integer 9007199254740993 is not exact/,
    ],
    ["/session/s/message", '{"info":{"metadata":{"n":-9007199254740993}}}', /^info\.metadata\.n: the integer/],
    ["/session", '{"metadata":{"a":1e999}}', /metadata: the number at a is too large/],
    ["/session/s/fork", '{"sessionId":"t"}', /session_id: the path says otherwise/],
    ["/session/s/message", "null", /body: expected an object/],
    ["/session/s/message", '{"message":{}}', /unknown field "message"/],
    ["/session/s/message", '{"info":{"rôle":"x"}}', /info: unknown field "rôle"/],
    [
      "/session/s/message:batch",
      '{"messages":[{},{"parts":[{"data":1}]}]}',
      /messages\[1\]\.parts\[0\]\.data: expected an object/,
    ],
  ])("POST %s %s is refused", async (path, body, problem) => {
    expectProblem(await post(path, body), 400, Code.InvalidArgument, problem);
    expect(server.pipeline.calls).toEqual([]);
  });

  test("that are not UTF-8 are refused", async () => {
    expectProblem(
      await post("/session", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])),
      400,
      Code.InvalidArgument,
      /UTF-8/,
    );
  });

  test.each([
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    'application/json;charset="UTF-8"',
    "application/json; Charset=Utf-8;",
    "application/json; version=2",
    'application/json; a="b; \\" charset=latin1"; charset=utf-8 ;; odata.metadata=none',
    "application/json; x-charset=latin1",
  ])("%s is JSON", async (type) => {
    expect((await post("/session", "{}", { "content-type": type })).status).toBe(200);
  });

  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/json; charset=latin1",
    "application/json; charset=utf-16",
    'application/json; charset="utf-16"',
    "application/json; charset=utf-8x",
    "application/json; version=2; charset=latin1",
    "application/json; charset=utf-8; charset=latin1",
    "application/json; charset",
    "application/json, text/plain",
    "application/jsonp",
    "application/problem+json",
    "application/proto",
    "",
  ])("%j is an unsupported media type", async (type) => {
    expectProblem(await post("/session", "{}", { "content-type": type }), 415, Code.InvalidArgument, /Content-Type/);
  });

  test("without a Content-Type are read as JSON, and an empty body needs no Content-Type", async () => {
    expect((await post("/session", "{}", {})).status).toBe(200);
    expect((await post("/session", "", { "content-type": "text/plain", "content-length": "0" })).status).toBe(200);
    expect(server.pipeline.calls).toHaveLength(2);
  });

  test.each([
    ["gzip", gzipSync],
    ["GZIP", gzipSync],
    ["br", brotliCompressSync],
    ["identity", Buffer.from],
  ] as const)("with Content-Encoding %s are decoded", async (encoding, encode) => {
    const body = encode(Buffer.from('{"title":"t"}'));
    const headers = { ...JSON_TYPE, "content-encoding": encoding };
    expect(await reached("POST /session", { headers, body })).toEqual(["CreateSession", { title: "t" }]);
  });

  test.each(["deflate", "zstd", "gzip, br", "x"])("Content-Encoding %s is unsupported", async (encoding) => {
    const answer = await post("/session", "{}", { ...JSON_TYPE, "content-encoding": encoding });
    expectProblem(answer, 415, Code.InvalidArgument, /Content-Encoding/);
    expect(answer.headers["accept-encoding"]).toBe("gzip, br");
  });

  test("with broken compression are refused", async () => {
    for (const [encoding, body] of [
      ["gzip", Buffer.from("{}")],
      ["gzip", gzipSync("{}").subarray(0, -5)],
      ["br", Buffer.from("{}{}{}{}")],
      ["br", brotliCompressSync("{}".repeat(9)).subarray(0, -3)],
    ] as const) {
      const answer = await post("/session", body, { ...JSON_TYPE, "content-encoding": encoding });
      expectProblem(answer, 400, Code.InvalidArgument, new RegExp(`not valid ${encoding}`));
    }
  });

  test("over the limit are refused, with or without Content-Length, compressed or not", async () => {
    const large = Buffer.alloc(BODY_BYTES + 1, " ");
    const answers = [
      await post("/session", large),
      await post("/session", large, { ...JSON_TYPE, "transfer-encoding": "chunked" }),
      await post("/session", gzipSync(Buffer.alloc(50 * BODY_BYTES)), { ...JSON_TYPE, "content-encoding": "gzip" }),
      await post("/session", brotliCompressSync(large), { ...JSON_TYPE, "content-encoding": "br" }),
    ];
    for (const answer of answers) {
      expectProblem(answer, 413, Code.ResourceExhausted, /larger than 65536 bytes/);
      expect(answer.headers["retry-after"]).toBeUndefined();
    }
    expect(server.pipeline.calls).toEqual([]);
    expect((await post("/session", Buffer.from(`{}${" ".repeat(BODY_BYTES - 2)}`))).status).toBe(200);
  });

  test("of methods that take none may be {}, and anything else is refused", async () => {
    const withBody = (body: string): RequestOptions => ({
      headers: { ...JSON_TYPE, "content-length": String(body.length) },
      body,
    });
    expect(await reached("DELETE /session/s", withBody("{}"))).toEqual(["DeleteSession", { sessionId: "s" }]);
    expectProblem(await send("DELETE /session/s", withBody('{"a":1}')), 400, Code.InvalidArgument, /takes no body/);
    expectProblem(
      await send("GET /session/s", withBody('{"sessionId":"t"}')),
      400,
      Code.InvalidArgument,
      /takes no body/,
    );
  });
});

describe("answers", () => {
  test("include zero values, and hold int64 as strings", async () => {
    server.pipeline.answerWith(AppendMessageResponseSchema, { messageId: "m" });
    expect((await send("POST /session/s/message")).json).toEqual({ messageId: "m", position: "0" });
    server.pipeline.answerWith(MessageWithPartsSchema, { info: { position: 0n } });
    expect((await send("GET /session/s/message/m")).json).toEqual({
      info: { id: "", role: "", sessionId: "", position: "0", originSessionId: "" },
      parts: [],
    });
  });

  test("hold strings and keys unchanged", async () => {
    const metadata = JSON.parse('{"__proto__":{"a":1},"":"\\u0000","a.b":"\\u2028😀\\u007f","$set":null,"toJSON":"x"}');
    server.pipeline.answerWith(SessionSchema, { title: 'a"\\\u0000\u001fé', metadata });
    const body = (await send("GET /session/s")).body.toString();
    const { title, metadata: received } = JSON.parse(body);
    expect(title).toBe('a"\\\u0000\u001fé');
    expect(JSON.stringify(received)).toBe(JSON.stringify(metadata));
    expect(JSON.stringify(received)).toContain('"__proto__":{"a":1}');
  });

  test.each([
    ["gzip", "gzip"],
    ["br", "br"],
    ["gzip, br", "br"],
    ["br;q=0.5, gzip;q=0.8", "gzip"],
    ["*", "br"],
    ["br;q=0, *;q=0.1", "gzip"],
    ["GZIP;Q=1", "gzip"],
    ["gzip;q=0", undefined],
    ["gzip;q=0.5, identity", undefined],
    ["deflate, zstd", undefined],
    ["gzip;q=x", undefined],
    ["", undefined],
    [undefined, undefined],
  ])("to Accept-Encoding %j are sent as %j", async (accepted, encoding) => {
    server.pipeline.answerWith(ListMessagesResponseSchema, { nextPageToken: "x".repeat(5000) });
    const headers = accepted === undefined ? {} : { "accept-encoding": accepted };
    const answer = await send("GET /session/s/message", { headers });
    expect(answer.headers["content-encoding"]).toBe(encoding);
    expect(answer.headers.vary).toBe("Accept-Encoding, Authorization");
    expect(Number(answer.headers["content-length"])).toBe(answer.body.length);
    const decode = encoding === "gzip" ? gunzipSync : encoding === "br" ? brotliDecompressSync : Buffer.from;
    expect(JSON.parse(decode(answer.body).toString())).toEqual({ messages: [], nextPageToken: "x".repeat(5000) });
  });

  test("that are small are not compressed", async () => {
    const answer = await send("GET /session/s", { headers: { "accept-encoding": "gzip" } });
    expect([answer.headers["content-encoding"], answer.headers.vary]).toEqual([
      undefined,
      "Accept-Encoding, Authorization",
    ]);
  });
});

describe("errors", () => {
  test.each<[Code, number]>([
    [Code.Canceled, 499],
    [Code.Unknown, 500],
    [Code.InvalidArgument, 400],
    [Code.DeadlineExceeded, 504],
    [Code.NotFound, 404],
    [Code.AlreadyExists, 409],
    [Code.PermissionDenied, 403],
    [Code.ResourceExhausted, 429],
    [Code.FailedPrecondition, 400],
    [Code.Aborted, 409],
    [Code.OutOfRange, 400],
    [Code.Unimplemented, 501],
    [Code.Internal, 500],
    [Code.Unavailable, 503],
    [Code.DataLoss, 500],
    [Code.Unauthenticated, 401],
  ])("code %d becomes the status %d", async (code, status) => {
    server.pipeline.error = new ApiError(code, `Session "é" text`);
    const answer = await send("GET /session/s");
    expectProblem(answer, status, code, /^Session "é" text$/);
    expect(answer.headers["retry-after"]).toBe(status === 429 || status === 503 ? "1" : undefined);
    expect(answer.headers["www-authenticate"]).toBe(status === 401 ? "Bearer" : undefined);
    expect(server.unexpected).toEqual([]);
  });

  test("a wrong key is reported before the body is read", async () => {
    server.pipeline.refusedKey = new ApiError(Code.Unauthenticated, "No such key");
    const answer = await post("/session", "junk", { "content-type": "text/plain" });
    expectProblem(answer, 401, Code.Unauthenticated, /^No such key$/);
    expect(answer.headers["www-authenticate"]).toBe("Bearer");
  });

  test("an unexpected error is answered as internal; its text is reported but not sent", async () => {
    const errors = [
      new Error("secret"),
      "secret",
      Object.assign(new Error("secret"), { code: 5 }),
      new TypeError("secret"),
    ];
    for (const error of errors) {
      server.pipeline.error = error;
      expectProblem(await send("GET /session/s"), 500, Code.Internal, /^Internal error$/);
    }
    expect(server.unexpected).toEqual(errors);
    server.pipeline.error = new DomainError("not_found", 'Session "s" not found');
    expectProblem(await send("GET /session/s"), 404, Code.NotFound, /not found/);
  });

  test("an answer that has no JSON form is an internal error", async () => {
    server.pipeline.answerWith(SessionSchema, { metadata: { a: Number.NaN } });
    expectProblem(await send("GET /session/s"), 500, Code.Internal, /^Internal error$/);
    expect(server.unexpected).toHaveLength(1);
  });
});

describe("deadlines", () => {
  test.each([
    [{ "grpc-timeout": "2S" }, 2000],
    [{ "grpc-timeout": "1H" }, 3_600_000],
    [{ "grpc-timeout": "3M" }, 180_000],
    [{ "grpc-timeout": "7000m" }, 7000],
    [{ "grpc-timeout": "5000000u" }, 5000],
    [{ "grpc-timeout": "99999999n" }, 99.999999],
    [{ "connect-timeout-ms": "1234567" }, 1_234_567],
    [{ "connect-timeout-ms": "0" }, 0],
    [{ "connect-timeout-ms": "5000", "grpc-timeout": "1M" }, 5000],
  ])("%j sets a deadline after %d ms", async (headers, ms) => {
    const before = Date.now();
    await send("GET /session/s", { headers });
    const deadline = server.pipeline.last.call.deadlineMs ?? 0;
    expect(deadline).toBeGreaterThanOrEqual(before + ms);
    expect(deadline).toBeLessThanOrEqual(Date.now() + ms);
  });

  test("are not set unless the client asks", async () => {
    await send("GET /session/s");
    expect(server.pipeline.last.call.deadlineMs).toBeUndefined();
  });

  test.each([
    { "grpc-timeout": "1" },
    { "grpc-timeout": "S" },
    { "grpc-timeout": "-1S" },
    { "grpc-timeout": "1.5S" },
    { "grpc-timeout": "123456789S" },
    { "grpc-timeout": "1h" },
    { "grpc-timeout": "" },
    { "connect-timeout-ms": "1s" },
    { "connect-timeout-ms": "-1" },
    { "connect-timeout-ms": "12345678901" },
    { "connect-timeout-ms": "" },
  ])("%j is refused", async (headers) => {
    expectProblem(
      await send("GET /session/s", { headers: headers as Record<string, string> }),
      400,
      Code.InvalidArgument,
      /Timeout/,
    );
  });
});
