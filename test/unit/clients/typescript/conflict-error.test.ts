import { Code, ConnectError } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConflictError, withCurrent } from "../../../../clients/typescript/src/conflict-error.js";
import { encodeErrorInfo } from "../../../../src/server/call/error-info.js";

/** An error as a transport reads it from the wire. */
function errorWith(code: Code, type: string, value: Uint8Array): ConnectError {
  const error = new ConnectError("expected something else", code, { "x-request-id": "r" });
  error.details = [
    { type: "google.rpc.RequestInfo", value: new Uint8Array([10, 1, 114]) },
    { type, value },
  ];
  return error;
}

const ERROR_INFO = "google.rpc.ErrorInfo";

describe("withCurrent", () => {
  it("finds what there is among the details, and keeps the rest of the error", () => {
    const names = fc.constantFrom(...["position", "revision", "version"].map((name) => [name, name] as const), [
      "removed_count",
      "removedCount",
    ] as const);
    fc.assert(
      fc.property(names, fc.maxSafeInteger(), ([name, field], value) => {
        const error = errorWith(Code.Aborted, ERROR_INFO, encodeErrorInfo({ name, value } as never));
        const conflict = withCurrent(error);
        expect(conflict).toBeInstanceOf(ConflictError);
        expect(conflict).toMatchObject({ code: Code.Aborted, current: { [field]: value }, details: error.details });
        expect([conflict.message, conflict.rawMessage]).toEqual([error.message, error.rawMessage]);
        expect(conflict.metadata.get("x-request-id")).toBe("r");
        expect(ConnectError.from(conflict)).toBe(conflict);
      }),
    );
  });

  it("leaves every other error as it is, whatever its details hold", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const error = errorWith(Code.Aborted, ERROR_INFO, bytes);
        expect(withCurrent(error)).toBe(error);
      }),
    );
    const info = encodeErrorInfo({ name: "position", value: 3 } as never);
    for (const error of [errorWith(Code.NotFound, ERROR_INFO, info), errorWith(Code.Aborted, "other.Info", info)])
      expect(withCurrent(error)).toBe(error);
  });
});
