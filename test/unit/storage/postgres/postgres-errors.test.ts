import pg from "pg";
import { describe, expect, it } from "vitest";
import { DomainError } from "../../../../src/domain/errors.js";
import {
  isReusable,
  isUnknownOutcome,
  NotConnected,
  postgresError,
  takenKey,
  Unreplicated,
  wasCanceled,
  wasRefused,
} from "../../../../src/storage/postgres/postgres-errors.js";

function server(code: string, more: Partial<pg.DatabaseError> = {}): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError(`text of ${code}`, 1, "error"), { code, ...more });
}

function node(code: string): Error {
  return Object.assign(new Error(`read ${code}`), { code, syscall: "read" });
}

/** What follows from an error: unknown, the statement may have been carried out; refused, it may be sent again. */
type Fate = "unknown" | "refused" | "final";

const STALE_PLAN = server("0A000", { routine: "RevalidateCachedQuery" });

describe("an error of a statement", () => {
  it.each<[string, unknown, string, Fate, "reusable" | "closed"]>([
    ["a connection that is reset", node("ECONNRESET"), "unavailable", "unknown", "closed"],
    ["a connection that ends", new Error("Connection terminated unexpectedly"), "unavailable", "unknown", "closed"],
    ["a commit that no standby has", new Unreplicated("warned"), "unavailable", "unknown", "closed"],
    ["a failed connection behind a pooler", server("08006"), "unavailable", "unknown", "closed"],
    ["a backend that an operator has ended", server("57P01"), "unavailable", "unknown", "closed"],
    ["a server that has crashed", server("57P02"), "unavailable", "unknown", "closed"],
    ["a failure of serialization", server("40001"), "unavailable", "refused", "reusable"],
    ["a deadlock", server("40P01"), "unavailable", "refused", "reusable"],
    ["a prepared statement that is gone", server("26000"), "unavailable", "refused", "closed"],
    ["a prepared statement that is there", server("42P05"), "unavailable", "refused", "closed"],
    ["a plan for other columns", STALE_PLAN, "unavailable", "refused", "closed"],
    ["a server that takes no writes", server("25006"), "unavailable", "refused", "closed"],
    ["a lock that is not free in time", server("55P03"), "unavailable", "final", "reusable"],
    ["a canceled statement", server("57014"), "unavailable", "final", "reusable"],
    ["a full disk", server("53100"), "unavailable", "final", "reusable"],
    ["too little memory", server("53200"), "unavailable", "final", "reusable"],
    ["an error of the disk", server("58030"), "unavailable", "final", "reusable"],
    ["a taken key", server("23505"), "already_exists", "final", "reusable"],
    ["a text that is too long", server("54000"), "invalid_argument", "final", "reusable"],
    ["a missing table", server("42P01"), "failed_precondition", "final", "reusable"],
    ["a missing function", server("42883"), "failed_precondition", "final", "reusable"],
    ["a missing right", server("42501"), "failed_precondition", "final", "reusable"],
    ["another feature that is not supported", server("0A000"), "internal", "final", "reusable"],
    ["a syntax error", server("42601"), "internal", "final", "reusable"],
    ["a server that is damaged", server("XX001"), "internal", "final", "reusable"],
    ["a fault of ours", new TypeError("bug"), "internal", "final", "closed"],
  ])("is told by its kind: %s", (_name, error, code, fate, connection) => {
    const mapped = postgresError(error);
    expect(mapped).toMatchObject({ code, cause: error });
    expect([isUnknownOutcome(mapped), wasRefused(mapped)]).toEqual([fate === "unknown", fate === "refused"]);
    expect(isReusable(error)).toBe(connection === "reusable");
    // What the server says is told only where the operator has to mend something.
    if (code !== "failed_precondition") expect(mapped.message).not.toContain("text of");
    else expect(mapped.message).toContain("text of");
  });

  it("stays what it is when it is one of ours already", () => {
    const ours = new DomainError("deadline_exceeded", "late");
    expect(postgresError(ours)).toBe(ours);
    expect([isUnknownOutcome(ours), wasRefused(ours), isReusable(ours)]).toEqual([false, false, false]);
    // A call that has used up the time of an operation may have been carried out.
    expect(isUnknownOutcome(new DomainError("unavailable", "PostgreSQL does not answer"))).toBe(true);
  });
});

describe("a connection that cannot be had", () => {
  it.each<[string, unknown, string, boolean]>([
    ["no server", node("ECONNREFUSED"), "unavailable", true],
    ["no connection left", server("53300"), "unavailable", true],
    ["a server that starts", server("57P03"), "unavailable", true],
    ["a connection that breaks", new Error("Connection terminated unexpectedly"), "unavailable", true],
    ["a standby", new DomainError("unavailable", "PostgreSQL is a standby"), "unavailable", true],
    ["a wrong password", server("28P01"), "failed_precondition", false],
    ["no password", new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: client password"), "failed_precondition", false],
    ["no TLS", new Error("The server does not support SSL connections"), "failed_precondition", false],
    ["a foreign certificate", new Error("self-signed certificate"), "unavailable", true],
    ["no such database", server("3D000"), "failed_precondition", false],
  ])("never leaves the outcome unknown: %s", (_name, cause, code, isRefused) => {
    const mapped = postgresError(new NotConnected("none", { cause }));
    expect(mapped.code).toBe(code);
    expect([isUnknownOutcome(mapped), wasRefused(mapped)]).toEqual([false, isRefused]);
  });
});

describe("what a server has refused", () => {
  it("is told by the constraint of a taken key", () => {
    const taken = server("23505", { constraint: "sessions_by_id" });
    expect(takenKey(postgresError(taken))).toBe("sessions_by_id");
    expect(takenKey(postgresError(server("23505")))).toBe("");
    expect(takenKey(postgresError(server("23503")))).toBeNull();
    expect(takenKey(new Error("other"))).toBeNull();
  });

  it("is told by whether somebody has canceled it", () => {
    expect(wasCanceled(server("57014"))).toBe(true);
    expect(wasCanceled(postgresError(server("57014")))).toBe(true);
    expect(wasCanceled(server("57P01"))).toBe(false);
  });
});
