import { afterEach, expect, it, vi } from "vitest";

interface Page {
  readonly ticketText: string | undefined;
  readonly ticket: unknown;
  readonly canWrite: boolean;
  ticketIn(hash: string): string | undefined;
}

afterEach(() => void vi.unstubAllGlobals());

/** The page as it is after it was loaded at this address. */
async function loadedAt(hash: string): Promise<Page> {
  vi.resetModules();
  vi.stubGlobal("location", { hash });
  // A name that the compiler does not follow, because it checks the page with the types of browsers.
  const page = "../../../../../src/console/app/api/ticket.js";
  return import(page);
}

const CLAIMS = { session_id: "Wörter über alles?", scope: "read", exp: 1_800_000_000 };

function ticketWith(claims: unknown): string {
  return `spt_e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.c2lnbmVk`;
}

const WHOLE = ticketWith(CLAIMS);

it("reads what a ticket opens, for what and until when", async () => {
  const { session_id: sessionId, scope } = CLAIMS;
  const ticket = { sessionId, scope, expireTime: "2027-01-15T08:00:00.000Z" };
  expect(await loadedAt(`#/t/${WHOLE}`)).toMatchObject({ ticketText: WHOLE, ticket, canWrite: false });
  const writing = await loadedAt(`#/t/${ticketWith({ ...CLAIMS, scope: "write" })}`);
  expect(writing).toMatchObject({ ticket: { ...ticket, scope: "write" }, canWrite: true });
  const bound = await loadedAt(`#/t/${ticketWith({ ...CLAIMS, owner: "ada" })}`);
  expect(bound.ticket).toEqual({ ...ticket, owner: "ada" });
});

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
])("reads nothing of a ticket with %s", async (_, text) => {
  expect(await loadedAt(`#/t/${text}`)).toMatchObject({ ticketText: text, ticket: undefined, canWrite: false });
});

it("finds the ticket in an address, wherever in the session that leads", async () => {
  const { ticketText, canWrite, ticketIn } = await loadedAt("#/session/t");
  expect([ticketText, canWrite]).toEqual([undefined, true]);
  for (const rest of ["", "?at=3", "?m=a.b"]) expect(ticketIn(`#/t/${WHOLE}${rest}`)).toBe(WHOLE);
  expect(ticketIn("#/t/")).toBe("");
  for (const hash of ["", "#/", "#/session/t", "#/search?q=/t/x"]) expect(ticketIn(hash)).toBeUndefined();
});
