import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { ApiError, FieldError } from "../../../src/api/api-error.js";

describe("FieldError", () => {
  it.each([
    [[], "body: expected an object"],
    [["role"], "role: expected an object"],
    [["role", "info"], "info.role: expected an object"],
    [["info", "[2]", "messages"], "messages[2].info: expected an object"],
  ])("names the path of the field within %j", (names, message) => {
    const error = names.reduce((inner, name) => inner.within(name), new FieldError("", "expected an object"));
    expect(error).toBeInstanceOf(ApiError);
    expect([error.code, error.message]).toEqual([Code.InvalidArgument, message]);
  });
});

describe("a long message", () => {
  it("is shortened in the middle, so that it fits into a gRPC header", () => {
    const { message } = new ApiError(
      Code.InvalidArgument,
      `mask names "${"\u4e2d".repeat(100_000)}"; it may name title`,
    );
    expect(message).toMatch(/^mask names "\u4e2d+…\u4e2d+"; it may name title$/);
    expect(encodeURIComponent(message).length).toBeLessThan(8 * 1024);
  });

  it("is valid Unicode even when the cut falls into a surrogate pair", () => {
    for (const start of ["", "x"]) {
      const { message } = new ApiError(Code.InvalidArgument, start + "\u{1f600}".repeat(1000));
      expect(() => encodeURIComponent(message)).not.toThrow();
    }
  });

  it("is shortened within the path of a field, too", () => {
    const error = new FieldError("", "x".repeat(5000)).within("labels");
    expect(error.message).toMatch(/^labels: x+…x+$/);
    expect(error.message.length).toBeLessThan(1000);
  });
});
