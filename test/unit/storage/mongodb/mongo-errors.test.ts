import {
  MongoBulkWriteError,
  MongoNetworkError,
  MongoOperationTimeoutError,
  MongoServerError,
  MongoServerSelectionError,
  MongoWriteConcernError,
} from "mongodb";
import { describe, expect, it } from "vitest";
import { DomainError } from "../../../../src/domain/errors.js";
import {
  duplicateKey,
  isUnknownOutcome,
  mongoError,
  wasRefused,
} from "../../../../src/storage/mongodb/mongo-errors.js";

const DUPLICATE = 'E11000 duplicate key error collection: db.messages index: log_id dup key: { log: "a", id: "b" }';

function server(code: number, message = "text"): MongoServerError {
  return new MongoServerError({ code, message, errmsg: message });
}

/** A bulk write error. After a lost connection, the driver gives it no code and no write errors. */
function bulk(code: number | string | undefined, writeErrors: unknown): MongoBulkWriteError {
  const result = { insertedCount: 0, getWriteErrors: () => [writeErrors].flat(), getWriteErrorCount: () => 0 };
  return new MongoBulkWriteError({ message: "text", code, writeErrors } as never, result as never);
}

/** The error for a bulk write whose second document was refused, while too few nodes have confirmed the first one. */
function unconfirmed(): MongoBulkWriteError {
  const answer = {
    ok: 1,
    nInserted: 1,
    insertedIds: [],
    writeErrors: [{ index: 1, code: 11000, errmsg: DUPLICATE }],
    writeConcernErrors: [{ code: 64, errmsg: "waiting for replication timed out" }],
  };
  const result = { ...answer, getWriteConcernError: () => answer.writeConcernErrors[0] };
  return new MongoBulkWriteError(
    { message: "text", code: 11000, writeErrors: answer.writeErrors } as never,
    result as never,
  );
}

/** An error that Node itself makes. */
function node(code: string): Error {
  return Object.assign(new Error("This socket has been ended by the other party"), { code });
}

describe("mongoError", () => {
  it.each([
    ["a lost connection", new MongoNetworkError("gone"), "unavailable"],
    ["a missing server", new MongoServerSelectionError("none", {} as never), "unavailable"],
    ["NotWritablePrimary", server(10107), "unavailable"],
    ["a primary going down", server(91), "unavailable"],
    [
      "a write concern not met",
      new MongoWriteConcernError({ writeConcernError: { code: 64, errmsg: "w" }, ok: 1 } as never),
      "unavailable",
    ],
    ["a connection that insertMany lost", bulk(undefined, []), "unavailable"],
    ["a connection that the server ends while a command is written", node("EPIPE"), "unavailable"],
    ["a connection that is reset while a command is written", node("ECONNRESET"), "unavailable"],
    ["a connection that is reset while insertMany is written", bulk("ECONNRESET", []), "unavailable"],
    ["a failure of TLS while a command is written", node("ERR_SSL_BAD_RECORD_TYPE"), "unavailable"],
    ["a time limit of the server", server(50), "unavailable"],
    ["a duplicate", server(11000, DUPLICATE), "already_exists"],
    ["a refusal", server(13), "internal"],
    ["a wrong argument", node("ERR_INVALID_ARG_TYPE"), "internal"],
    ["anything else", new TypeError("bug"), "internal"],
  ])("maps %s, and keeps it as the cause", (_name, error, code) => {
    const mapped = mongoError(error);
    expect(mapped).toMatchObject({ code, cause: error });
    expect(mapped.message).not.toContain(error.message);
  });

  it("distinguishes the caller's deadline from the store's own time limit", () => {
    const late = new MongoOperationTimeoutError("late");
    expect(mongoError(late, { endsAtDeadline: true }).code).toBe("deadline_exceeded");
    expect(mongoError(late).code).toBe("unavailable");
    const wrapped = new MongoBulkWriteError(late as never, {} as never);
    expect(mongoError(wrapped, { endsAtDeadline: true }).code).toBe("deadline_exceeded");
    expect(mongoError(wrapped).code).toBe("unavailable");
    expect(mongoError(bulk(undefined, []), { isOver: true }).code).toBe("deadline_exceeded");
    expect(mongoError(new MongoNetworkError("gone"), { endsAtDeadline: true }).code).toBe("unavailable");
  });

  it("leaves our own errors unchanged", () => {
    const error = new DomainError("canceled", "gone");
    expect(mongoError(error)).toBe(error);
  });
});

describe("the outcome of a write", () => {
  it("is unknown after everything that makes the server unavailable", () => {
    expect(isUnknownOutcome(mongoError(new MongoNetworkError("gone")))).toBe(true);
    expect(isUnknownOutcome(mongoError(bulk(undefined, [])))).toBe(true);
    expect(isUnknownOutcome(mongoError(unconfirmed()))).toBe(true);
    expect(isUnknownOutcome(mongoError(node("EPIPE")))).toBe(true);
    expect(isUnknownOutcome(mongoError(server(11000, DUPLICATE)))).toBe(false);
    expect(isUnknownOutcome(mongoError(server(13)))).toBe(false);
    expect(isUnknownOutcome(new DomainError("canceled", "gone"))).toBe(false);
  });

  it("is a definite refusal only when the server was no primary", () => {
    expect(wasRefused(mongoError(server(10107)))).toBe(true);
    expect(wasRefused(mongoError(server(91)))).toBe(false);
    expect(wasRefused(mongoError(new MongoNetworkError("gone")))).toBe(false);
    expect(wasRefused(mongoError(bulk(10107, [])))).toBe(false);
  });

  it("is a definite refusal when it lost to another write", () => {
    for (const lost of [server(112), server(16_948_356, "deadlock detected")]) {
      expect(mongoError(lost).code).toBe("unavailable");
      expect(wasRefused(mongoError(lost))).toBe(true);
    }
    expect(mongoError(bulk(112, [{ index: 1, code: 112, errmsg: "conflict" }])).code).toBe("unavailable");
    expect(wasRefused(mongoError(bulk(112, [{ index: 1, code: 112, errmsg: "conflict" }])))).toBe(false);
  });

  it.each([
    [DUPLICATE, "log_id"],
    ["E11000 duplicate key error index: db.messages.$log_id dup key: { : 1 }", "log_id"],
    ["Duplicate key violation on the requested collection: Index 'log_id'", "log_id"],
    ["Duplicate key violation on the requested collection.", ""],
  ])("finds the name of the key in %j", (text, key) => {
    expect(duplicateKey(mongoError(server(11000, text)))).toEqual({ key, at: 0 });
  });

  it("names the index and the document of a duplicate key", () => {
    expect(duplicateKey(mongoError(server(11000, DUPLICATE)))).toEqual({ key: "log_id", at: 0 });
    const second = bulk(11000, [{ index: 1, code: 11000, errmsg: DUPLICATE }]);
    expect(duplicateKey(mongoError(second))).toEqual({ key: "log_id", at: 1 });
    expect(duplicateKey(mongoError(bulk(11000, [{ index: 0, code: 13, errmsg: "no" }])))).toBeNull();
    expect(duplicateKey(mongoError(new MongoNetworkError("gone")))).toBeNull();
    expect(duplicateKey(mongoError(unconfirmed()))).toBeNull();
  });
});
