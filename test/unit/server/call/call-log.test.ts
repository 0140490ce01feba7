import { create, type Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { AppendMessageRequestSchema, MessageService } from "../../../../gen/sessionpool/v1/message_service_pb.js";
import { ApiError } from "../../../../src/api/api-error.js";
import type { RequestFacts } from "../../../../src/server/auth/principal.js";
import { CallLog, type EndedCall } from "../../../../src/server/call/call-log.js";
import { TestLogger } from "../../../support/test-logger.js";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const HEADERS: Record<string, string> = {
  authorization: "Bearer sp_secret",
  traceparent: `00-${TRACE}-00f067aa0ba902b7-01`,
};
const FACTS: RequestFacts = { requestId: "req-7", header: (name) => HEADERS[name], peer: () => "192.0.2.9" };

describe("a line about a call", () => {
  it("names session, request, trace and peer, and neither key nor content", () => {
    const logger = new TestLogger("debug");
    new CallLog(logger.pino).ended(ended());
    expect(logger.lines[0]).toMatchObject({
      msg: "Call",
      method: "AppendMessage",
      key: "robot",
      namespace: "a",
      sessionId: "trip",
      requestId: "req-7",
      traceId: TRACE,
      peer: "192.0.2.9",
    });
    expect(JSON.stringify(logger.lines)).not.toMatch(/sp_secret|hello/);
  });

  it("does not name the owner that the caller is bound to", () => {
    const logger = new TestLogger("debug");
    const call = ended();
    const principal = { ...call.call.principal, access: { owner: "ada@example.com" } };
    new CallLog(logger.pino).ended({ ...call, call: { ...call.call, principal } });
    expect(logger.lines).toMatchObject([{ key: "robot", namespace: "a" }]);
    expect(JSON.stringify(logger.lines)).not.toContain("ada@");
  });

  it("shortens the name of a key or session to 128 characters", () => {
    const logger = new TestLogger("debug");
    const call = ended();
    const principal = { ...call.call.principal, name: "n".repeat(8000) };
    const request = create(AppendMessageRequestSchema, { sessionId: "s".repeat(8000) });
    new CallLog(logger.pino).ended({ ...call, request, call: { ...call.call, principal } });
    expect(logger.lines[0]).toMatchObject({ key: "n".repeat(128), sessionId: "s".repeat(128) });
  });

  it("has a stack only for unexpected errors", () => {
    const logger = new TestLogger();
    const log = new CallLog(logger.pino);
    log.ended(ended(new ApiError(Code.Unavailable, "The store does not answer", { cause: new Error("ECONNREFUSED") })));
    log.ended(ended(new ApiError(Code.Internal, "Internal error", { cause: new TypeError("a bug") })));
    expect(logger.lines[0]).toMatchObject({ level: 40, code: "unavailable", cause: "Error: ECONNREFUSED" });
    expect(logger.lines[1]).toMatchObject({
      level: 50,
      code: "internal",
      err: { stack: expect.stringContaining("call-log") },
    });
    expect(JSON.stringify(logger.lines[0])).not.toContain("stack");
  });

  it("is written at most once a second for failures of the same kind", () => {
    const logger = new TestLogger();
    const log = new CallLog(logger.pino);
    for (let i = 0; i < 500; i++) log.ended(ended(new ApiError(Code.ResourceExhausted, "Too much")));
    expect(logger.lines).toHaveLength(1);
  });

  it("reports a refused key and where it came from, once a second for each address", () => {
    const logger = new TestLogger();
    const log = new CallLog(logger.pino);
    const failure = new ApiError(Code.Unauthenticated, "The key is not known, or no longer valid");
    for (let i = 0; i < 500; i++) log.refused({ ...FACTS, peer: () => `192.0.2.${i % 2}` }, failure);
    expect(logger.lines).toMatchObject([
      { msg: "Request refused", code: "unauthenticated", peer: "192.0.2.0", requestId: "req-7" },
      { msg: "Request refused", code: "unauthenticated", peer: "192.0.2.1" },
    ]);
    expect(JSON.stringify(logger.lines)).not.toContain("sp_secret");
  });

  it("warns about a token that names no owner, for it is not a fault of the service", () => {
    const logger = new TestLogger();
    new CallLog(logger.pino).refused(FACTS, new ApiError(Code.PermissionDenied, "The claim"));
    expect(logger.lines).toMatchObject([{ level: 40, code: "permission_denied", peer: "192.0.2.9" }]);
  });

  it("reports an outage of the key set once a second, without a stack", () => {
    const logger = new TestLogger();
    const log = new CallLog(logger.pino);
    const cause = new TypeError("fetch failed");
    for (let i = 0; i < 500; i++) {
      const peer = () => `192.0.2.${i % 200}`;
      log.refused({ ...FACTS, peer }, new ApiError(Code.Unavailable, "The key set cannot be reached", { cause }));
    }
    expect(logger.lines).toMatchObject([{ level: 50, code: "unavailable", cause: "TypeError: fetch failed" }]);
    expect(JSON.stringify(logger.lines).length).toBeLessThan(400);
  });
});

function ended(failure?: ApiError): EndedCall {
  const message = { info: { role: "user" }, parts: [{ type: "text", text: "hello" }] };
  const request = create(AppendMessageRequestSchema, { sessionId: "trip", message }) as Message;
  const desc = MessageService.method.appendMessage;
  return {
    method: { desc, scope: "write", ticket: "none", grpcOnly: false, isAudited: false },
    response: undefined,
    request,
    call: {
      front: "grpc",
      principal: { name: "robot", namespace: "a", scope: "write" },
      facts: FACTS,
    },
    elapsedMs: 1.23,
    failure,
    span: undefined,
  };
}
