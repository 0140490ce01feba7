import { create, type DescMethodUnary, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";
import { startTestServer, type TestServer } from "../support/server.js";

const messages = MessageService.method;
const sessions = SessionService.method;
const MESSAGE = { info: { id: "new", role: "user" }, parts: [] };

interface Call {
  readonly rpc: DescMethodUnary;
  readonly request: Record<string, JsonValue>;
  /** The same over REST, below the session. */
  readonly rest: string;
  readonly body?: object;
  /** What there is instead; the revision of this session if it is its id. */
  readonly current: Record<string, string> | string;
}

const REVISION = { expectedRevision: "77" };
const PARTS = [{ type: "text", text: "x" }];
const DELTAS = [{ appendText: { text: "x" } }];

/** Every call that expects a position, a revision or a version. */
const CALLS: readonly Call[] = [
  {
    rpc: messages.appendMessage,
    request: { sessionId: "s", message: MESSAGE, expectedPosition: "7" },
    rest: "POST /message?expected_position=7",
    body: MESSAGE,
    current: { current_position: "1" },
  },
  {
    rpc: messages.appendMessages,
    request: { sessionId: "s", messages: [MESSAGE], expectedPosition: "7" },
    rest: "POST /message:batch",
    body: { messages: [MESSAGE], expectedPosition: "7" },
    current: { current_position: "1" },
  },
  {
    rpc: messages.finishDraft,
    request: { sessionId: "s", messageId: "d", version: "1", expectedPosition: "7" },
    rest: "POST /draft/d:finish",
    body: { version: "1", expectedPosition: "7" },
    current: { current_position: "1" },
  },
  {
    rpc: messages.finishDraft,
    request: { sessionId: "s", messageId: "d", version: "7" },
    rest: "POST /draft/d:finish",
    body: { version: "7" },
    current: { current_version: "1" },
  },
  {
    rpc: messages.extendDraft,
    request: { sessionId: "s", messageId: "d", version: "7", deltas: DELTAS },
    rest: "POST /draft/d:extend",
    body: { version: "7", deltas: DELTAS },
    current: { current_version: "1" },
  },
  {
    rpc: messages.truncateMessages,
    request: { sessionId: "s", toStart: true, ...REVISION },
    rest: "POST /message:truncate",
    body: { toStart: true, ...REVISION },
    current: "s",
  },
  {
    rpc: messages.copyMessages,
    request: { sessionId: "s", targetSessionId: "t", ...REVISION },
    rest: "POST /message:copy",
    body: { targetSessionId: "t", ...REVISION },
    current: "t",
  },
  {
    rpc: messages.updateMessage,
    request: { sessionId: "s", messageId: "m", message: { parts: PARTS }, updateMask: "parts", ...REVISION },
    rest: "PATCH /message/m?update_mask=parts&expected_revision=77",
    body: { parts: PARTS },
    current: "s",
  },
  {
    rpc: messages.deleteMessage,
    request: { sessionId: "s", messageId: "m", ...REVISION },
    rest: "DELETE /message/m?expected_revision=77",
    current: "s",
  },
  {
    rpc: sessions.revertSession,
    request: { sessionId: "s", toStart: true, ...REVISION },
    rest: "POST /revert",
    body: { toStart: true, ...REVISION },
    current: "s",
  },
  {
    rpc: sessions.revertSession,
    request: { sessionId: "s", toStart: true, expectedRemovedCount: "7" },
    rest: "POST /revert",
    body: { toStart: true, expectedRemovedCount: "7" },
    current: { current_removed_count: "1" },
  },
  {
    rpc: sessions.updateSession,
    request: { sessionId: "s", title: "x", updateMask: "title", ...REVISION },
    rest: "PATCH ",
    body: { title: "x", updateMask: "title", ...REVISION },
    current: "s",
  },
];

let server: TestServer;
let transports: Record<string, Transport>;

beforeAll(async () => {
  server = await startTestServer();
  const http = { baseUrl: server.httpUrl, httpVersion: "1.1" } as const;
  transports = {
    "the gRPC port": createGrpcTransport({ baseUrl: `http://${server.grpcAddress}` }),
    "gRPC on the HTTP port": createGrpcTransport({ baseUrl: server.httpUrl }),
    "gRPC-Web": createGrpcWebTransport(http),
    "Connect JSON": createConnectTransport({ ...http, useBinaryFormat: false }),
    "Connect binary": createConnectTransport({ ...http, useBinaryFormat: true }),
  };
});

afterAll(() => server.stop());

beforeEach(async () => {
  for (const sessionId of ["s", "t"]) {
    await fetch(`${server.httpUrl}/session/${sessionId}`, { method: "DELETE" });
    await send("POST", "/session", { sessionId });
    await send("POST", `/session/${sessionId}/message`, { info: { id: "m", role: "user" }, parts: [] });
  }
  await send("POST", "/session/s/draft", { message: { info: { id: "d", role: "assistant" } } });
});

interface Answered {
  readonly status: number;
  readonly json: { readonly code?: number; readonly details?: readonly object[]; readonly revision?: string };
}

async function send(method: string, path: string, body?: object): Promise<Answered> {
  const headers = { "content-type": "application/json" };
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const answer = await fetch(server.httpUrl + path, init);
  return { status: answer.status, json: (await answer.json()) as Answered["json"] };
}

describe.each(CALLS)("$rpc expects something else: $request", ({ rpc, request, rest, body, current }) => {
  it("and is told what there is, in the details of the error, on every front", async () => {
    const metadata =
      typeof current === "string"
        ? { current_revision: (await send("GET", `/session/${current}`)).json.revision ?? "" }
        : current;
    const info = { reason: "NOT_AS_EXPECTED", domain: "sessionpool.v1", metadata };
    for (const [front, transport] of Object.entries(transports)) {
      const error = await transport.unary(rpc, undefined, undefined, undefined, fromJson(rpc.input, request)).then(
        () => new ConnectError(`${front} took it`),
        (cause: unknown) => ConnectError.from(cause),
      );
      expect(error, front).toMatchObject({
        code: Code.Aborted,
        rawMessage: expect.stringContaining(Object.values(metadata).join()),
      });
      expect(error.details.map(decodeDetail), front).toEqual([{ type: "google.rpc.ErrorInfo", ...info }]);
    }
    const [method = "", path = ""] = rest.split(" ");
    const answer = await send(method, `/session/s${path}`, body);
    expect(answer).toMatchObject({ status: 409, json: { code: Code.Aborted } });
    expect(answer.json.details).toEqual([
      expect.objectContaining({ "@type": "type.googleapis.com/google.rpc.RequestInfo" }),
      { "@type": "type.googleapis.com/google.rpc.ErrorInfo", ...info },
    ]);
  });
});

it("other errors have no such detail", async () => {
  const message = create(sessions.getSession.input, { sessionId: "nobody" });
  for (const transport of Object.values(transports)) {
    const error = ConnectError.from(
      await transport
        .unary(sessions.getSession, undefined, undefined, undefined, message)
        .catch((cause: unknown) => cause),
    );
    expect(error).toMatchObject({ code: Code.NotFound, details: [] });
  }
});

/** Reads a google.rpc.ErrorInfo without the code that wrote it. */
function decodeDetail(detail: ConnectError["details"][number]): object {
  if ("desc" in detail) throw new Error("A client cannot know the type of a detail");
  const reader = new BinaryReader(detail.value);
  const texts: string[] = [];
  const metadata: Record<string, string> = {};
  while (reader.pos < reader.len) {
    const [field] = reader.tag();
    if (field !== 3) {
      texts[field] = reader.string();
      continue;
    }
    const entry = new BinaryReader(reader.bytes());
    entry.tag();
    const key = entry.string();
    entry.tag();
    metadata[key] = entry.string();
  }
  return { type: detail.type, reason: texts[1], domain: texts[2], metadata };
}
