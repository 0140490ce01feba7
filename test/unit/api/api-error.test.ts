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
