import { afterAll, beforeAll, expect, it, vi } from "vitest";

let readTicket: (text: string) => unknown;
let ticketIn: (hash: string) => string | undefined;

beforeAll(async () => {
  vi.stubGlobal("location", { hash: "" });
  // A name that the compiler does not follow, because it checks the page with the types of browsers.
  const page = "../../../../../src/console/app/api/ticket.js";
  ({ readTicket, ticketIn } = await import(page));
});
afterAll(() => void vi.unstubAllGlobals());

const CLAIMS = { session_id: "Wörter über alles?", scope: "read", exp: 1_800_000_000 };

function ticketWith(claims: unknown): string {
  return `spt_e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.c2lnbmVk`;
}

it("reads what a ticket opens, for what and until when", () => {
  const { session_id: sessionId, scope } = CLAIMS;
  expect(readTicket(ticketWith(CLAIMS))).toEqual({ sessionId, scope, expireTime: "2027-01-15T08:00:00.000Z" });
  expect(readTicket(ticketWith({ ...CLAIMS, scope: "write" }))).toMatchObject({ scope: "write" });
});

const WHOLE = ticketWith(CLAIMS);

it.each([
  ["no prefix", WHOLE.slice(4)],
  ["nothing after the claims", WHOLE.slice(0, WHOLE.lastIndexOf("."))],
  ["something after the signature", `${WHOLE}.`],
  ["a character that was encoded on its way", WHOLE.replace("spt_", "spt%5F")],
  ["claims that were cut", WHOLE.replace(/\.(.*)(.{9})\./, ".$1.")],
  ["claims that are no JSON", "spt_e30.bm8.c2lnbmVk"],
  ["claims that are null", ticketWith(null)],
  ["another scope", ticketWith({ ...CLAIMS, scope: "admin" })],
  ["no session", ticketWith({ ...CLAIMS, session_id: undefined })],
  ["no end", ticketWith({ ...CLAIMS, exp: undefined })],
  ["an end that no calendar has", ticketWith({ ...CLAIMS, exp: 1e300 })],
])("reads nothing of a ticket with %s", (_, text) => {
  expect(readTicket(text)).toBeUndefined();
});

it("finds the ticket in an address, wherever in the session that leads", () => {
  for (const rest of ["", "?at=3", "?m=a.b"]) expect(ticketIn(`#/t/${WHOLE}${rest}`)).toBe(WHOLE);
  expect(ticketIn("#/t/")).toBe("");
  for (const hash of ["", "#/", "#/session/t", "#/search?q=/t/x"]) expect(ticketIn(hash)).toBeUndefined();
});
