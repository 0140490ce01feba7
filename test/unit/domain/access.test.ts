import { describe, expect, it } from "vitest";
import {
  type Access,
  checkOwner,
  checkOwnerChange,
  ownerOfNew,
  ownersSeen,
  permits,
  permitsRemembered,
} from "../../../src/domain/access.js";
import { withoutAccess } from "../../../src/domain/call.js";

const ADA: { readonly access: Access } = { access: { owner: "ada" } };
const TICKET: { readonly access: Access } = { access: { ticket: { sessionId: "s", uid: "u", generation: 2 } } };
const DENIED = expect.objectContaining({ code: "permission_denied" });
const ENDED = expect.objectContaining({ code: "unauthenticated", message: "The ticket is no longer valid" });

const session = { sessionId: "s", uid: "u", owner: "ada", ticketGeneration: 2 };

describe("permits", () => {
  it.each([
    ["a caller without limits", {}, session, true],
    ["no call at all", undefined, { ...session, owner: undefined }, true],
    ["the owner", ADA, session, true],
    ["another owner", ADA, { ...session, owner: "adam" }, false],
    ["a bound caller, of a session without an owner", ADA, { ...session, owner: undefined }, false],
    ["an empty owner, of a session without one", { access: { owner: "" } }, { ...session, owner: undefined }, false],
    ["a ticket for it, whoever owns it", TICKET, { ...session, owner: "bob" }, true],
    ["a ticket for another session", TICKET, { ...session, sessionId: "t" }, false],
    ["a ticket for another session with the same uid", TICKET, { ...session, sessionId: "S" }, false],
  ] as const)("is right for %s", (_, call, seen, expected) => {
    expect(permits(call, seen)).toBe(expected);
  });

  it.each([
    ["was revoked", { ...session, ticketGeneration: 3 }],
    ["is newer than the session says", { ...session, ticketGeneration: undefined }],
    ["is for an earlier session with the id", { ...session, uid: "v" }],
  ])("throws when the ticket %s", (_, seen) => {
    expect(() => permits(TICKET, seen)).toThrow(ENDED);
  });

  it("takes an absent generation for the first", () => {
    const first = { access: { ticket: { sessionId: "s", uid: "u", generation: 0 } } };
    expect(permits(first, { ...session, ticketGeneration: undefined })).toBe(true);
  });
});

it.each([
  ["a caller without limits", {}, true],
  ["no call at all", undefined, true],
  ["the owner", ADA, true],
  ["another owner", { access: { owner: "bob" } }, false],
  ["a ticket, which may have been revoked since", TICKET, false],
] as const)("permitsRemembered is right for %s", (_, call, expected) => {
  expect(permitsRemembered(call, session)).toBe(expected);
});

describe("ownerOfNew", () => {
  it.each([
    [{}, undefined, undefined],
    [{}, "", undefined],
    [{}, "bob", "bob"],
    [ADA, undefined, "ada"],
    [ADA, "", "ada"],
    [ADA, "ada", "ada"],
  ] as const)("is right for %j and %j", (call, asked, expected) => {
    expect(ownerOfNew(call, asked)).toBe(expected);
  });

  it("refuses another owner than the caller's, and tickets", () => {
    expect(() => ownerOfNew(ADA, "bob")).toThrow(DENIED);
    expect(() => ownerOfNew(TICKET, undefined)).toThrow(DENIED);
  });
});

it("checkOwnerChange permits no change, the caller's own owner, and any to callers without limits", () => {
  for (const [call, owner] of [
    [ADA, undefined],
    [ADA, "ada"],
    [TICKET, undefined],
    [{}, "bob"],
    [{}, ""],
  ] as const) {
    expect(() => checkOwnerChange(call, owner)).not.toThrow();
  }
  for (const [call, owner] of [
    [ADA, "bob"],
    [ADA, ""],
    [TICKET, "bob"],
  ] as const) {
    expect(() => checkOwnerChange(call, owner)).toThrow(DENIED);
  }
});

it("ownersSeen narrows a list to the caller's owner, and refuses tickets", () => {
  expect(ownersSeen({}, undefined)).toEqual({ owner: undefined });
  expect(ownersSeen({}, "")).toEqual({ owner: "" });
  expect(ownersSeen({}, "bob")).toEqual({ owner: "bob" });
  expect(ownersSeen(ADA, undefined)).toEqual({ owner: "ada" });
  expect(ownersSeen(ADA, "ada")).toEqual({ owner: "ada" });
  expect(ownersSeen(ADA, "bob")).toBeNull();
  expect(ownersSeen(ADA, "")).toBeNull();
  expect(() => ownersSeen(TICKET, undefined)).toThrow(DENIED);
});

it("checkOwner takes at most 128 bytes of text without control characters", () => {
  for (const owner of [undefined, "", "ada", "é".repeat(64), "o".repeat(128)]) {
    expect(() => checkOwner("owner", owner)).not.toThrow();
  }
  for (const owner of ["é".repeat(65), "o".repeat(129), "a\u0000b", "a\nb", "\ud800"]) {
    expect(() => checkOwner("owner", owner)).toThrow(expect.objectContaining({ code: "invalid_argument" }));
  }
  expect(() => checkOwner("owner", "o".repeat(129))).toThrow(/owner.*128/);
});

it("withoutAccess keeps everything else of a call", () => {
  const signal = new AbortController().signal;
  expect(withoutAccess({ ...ADA, deadlineMs: 7, signal, key: "k" })).toEqual({ deadlineMs: 7, signal, key: "k" });
  expect(withoutAccess(undefined)).toBeUndefined();
});
