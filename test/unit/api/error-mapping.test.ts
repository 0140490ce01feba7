import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { ApiError } from "../../../src/api/api-error.js";
import { toApiError } from "../../../src/api/error-mapping.js";
import { DomainError, type ErrorCode, NotImplementedError } from "../../../src/domain/errors.js";

/** The numbers of the codes in gRPC's specification. */
const NUMBERS: Record<ErrorCode, number> = {
  canceled: 1,
  invalid_argument: 3,
  deadline_exceeded: 4,
  not_found: 5,
  already_exists: 6,
  permission_denied: 7,
  resource_exhausted: 8,
  failed_precondition: 9,
  aborted: 10,
  out_of_range: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
};

describe("toApiError", () => {
  it.each(Object.entries(NUMBERS))("maps %s to %d and keeps the text", (code, number) => {
    const answer = toApiError(new DomainError(code as ErrorCode, "Session s not found"));
    expect(answer).toMatchObject({ code: number, message: "Session s not found" });
  });

  it("tells callers to wait for a store that cannot be reached, but not for what a session holds", () => {
    expect(toApiError(new DomainError("unavailable", "The store cannot be reached")).retryAfterS).toBe(1);
    expect(toApiError(new DomainError("resource_exhausted", "16 open drafts")).retryAfterS).toBeUndefined();
    expect(toApiError(new ApiError(Code.ResourceExhausted, "Too many calls")).retryAfterS).toBe(1);
  });

  it("names the class that lacks an operation", () => {
    expect(toApiError(new NotImplementedError("MyProvider", "truncating messages"))).toMatchObject({
      code: Code.Unimplemented,
      message: "MyProvider does not support truncating messages",
    });
  });

  it.each([
    new Error("password=secret"),
    new TypeError("x"),
    "text",
    undefined,
    null,
    { code: "not_found", message: "x" },
  ])("answers %o with a fixed text, and keeps the error as the cause for the log", (error) => {
    expect(toApiError(error)).toStrictEqual(new ApiError(Code.Internal, "Internal error", { cause: error }));
  });

  it("passes an ApiError on unchanged", () => {
    const error = new ApiError(Code.Aborted, "x");
    expect(toApiError(error)).toBe(error);
  });

  it("keeps the cause of a DomainError for the log", () => {
    const cause = new Error("driver text");
    const answer = toApiError(new DomainError("unavailable", "The store cannot be reached", { cause }));
    expect(answer).toStrictEqual(new ApiError(Code.Unavailable, "The store cannot be reached", { cause }));
  });
});
