import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { TicketClaims } from "../../../../src/api/api-method.js";
import { JwtChecker } from "../../../../src/server/auth/jwt.js";
import { newTicketSecret } from "../../../../src/server/auth/ticket-secrets.js";
import { Tickets } from "../../../../src/server/auth/tickets.js";
import { TestLogger } from "../../../support/test-logger.js";

const SECRET = newTicketSecret();
const CLAIMS: TicketClaims = {
  namespace: "n",
  sessionId: "s",
  uid: "u",
  generation: 3,
  scope: "write",
  expiresMs: Math.floor(Date.now() / 1000) * 1000 + 3_600_000,
};

let folder: string;
let files = 0;
let tickets: Tickets;
const logger = new TestLogger("debug");
const open: { close(): void }[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-tickets-"));
  tickets = makeTickets(SECRET);
});

afterEach(() => {
  vi.useRealTimers();
});

afterAll(() => {
  for (const one of open) one.close();
  rmSync(folder, { recursive: true });
});

describe("a ticket", () => {
  it("says who its caller is", async () => {
    const ticket = await tickets.sign(CLAIMS);
    const principal = await tickets.check(ticket);
    expect(principal).toMatchObject({
      name: expect.stringMatching(/^ticket [\w-]{12}$/),
      namespace: "n",
      scope: "write",
      access: { ticket: { sessionId: "s", uid: "u", generation: 3 } },
      expiresMs: CLAIMS.expiresMs,
    });
    expect(principal?.revoked?.aborted).toBe(false);
    expect(ticket).not.toContain(principal?.name.slice("ticket ".length));
  });

  it("has a name of its own", async () => {
    const [one, other] = await Promise.all([tickets.sign(CLAIMS), tickets.sign(CLAIMS)]);
    expect((await tickets.check(one))?.name).not.toBe((await tickets.check(other))?.name);
  });

  it.each(["", "s", "ü".repeat(64), "a b\u{1f600}"])("keeps every session id: %j", async (suffix) => {
    const ticket = await tickets.sign({ ...CLAIMS, namespace: `ñ${suffix}`, sessionId: `s${suffix}` });
    expect(ticket).toMatch(/^spt_[\w-]+\.[\w-]+\.[\w-]+$/);
    const access = { ticket: { sessionId: `s${suffix}`, uid: "u", generation: 3 } };
    expect(await tickets.check(ticket)).toMatchObject({ namespace: `ñ${suffix}`, access });
  });

  it("says which owner its maker was bound to", async () => {
    const { access } = (await tickets.check(await tickets.sign({ ...CLAIMS, owner: "ada" })))!;
    expect(access).toEqual({ ticket: { sessionId: "s", uid: "u", generation: 3, owner: "ada" } });
  });

  it("is valid until it ends, and no longer, even when it was valid before", async () => {
    const ticket = await tickets.sign(CLAIMS);
    const other = await tickets.sign(CLAIMS);
    vi.useFakeTimers({ toFake: ["Date"], now: CLAIMS.expiresMs - 1 });
    expect(await tickets.check(ticket)).toBeDefined();
    vi.setSystemTime(CLAIMS.expiresMs);
    expect(await tickets.check(ticket)).toBeUndefined();
    expect(await tickets.check(other)).toBeUndefined();
  });

  it("is refused with any of its characters changed, left out or added", async () => {
    const ticket = await tickets.sign(CLAIMS);
    const characters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ \n%"];
    for (let i = 0; i < ticket.length; i += 1) {
      expect(await tickets.check(ticket.slice(0, i)), `cut at ${i}`).toBeUndefined();
      expect(await tickets.check(ticket.slice(0, i) + ticket.slice(i + 1)), `without ${i}`).toBeUndefined();
    }
    // The last character of a signature has bits that decoders ignore.
    for (const place of [0, 3, 4, 20, ticket.indexOf(".") + 5, ticket.length - 2, ticket.length - 1]) {
      for (const character of characters.filter((one) => one !== ticket[place])) {
        const changed = ticket.slice(0, place) + character + ticket.slice(place + 1);
        expect(await tickets.check(changed), `${character} at ${place}`).toBeUndefined();
      }
    }
    for (const character of characters) expect(await tickets.check(ticket + character)).toBeUndefined();
    expect(await tickets.check(ticket)).toBeDefined();
  });

  it("is refused under another secret", async () => {
    expect(await makeTickets(newTicketSecret()).check(await tickets.sign(CLAIMS))).toBeUndefined();
  });

  it("whatever a caller sends is no ticket, and never an error", async () => {
    const ticket = await tickets.sign(CLAIMS);
    const [head, payload, signature] = ticket.slice(4).split(".");
    const part = fc.oneof(
      fc.constantFrom(head!, payload!, signature!, ""),
      fc.base64String(),
      fc.json().map((text) => Buffer.from(text).toString("base64url")),
      fc.string({ unit: "binary" }),
    );
    const credential = fc.array(part, { maxLength: 5 }).map((parts) => `spt_${parts.join(".")}`);
    await fc.assert(
      fc.asyncProperty(credential, async (text) => {
        expect((await tickets.check(text)) !== undefined).toBe(text === ticket);
      }),
      { numRuns: 500 },
    );
  });
});

describe("nothing else is a ticket", () => {
  const KEY = new TextEncoder().encode(SECRET);
  const HEADER = { alg: "HS256", typ: "session-pool-ticket" };
  const PAYLOAD = {
    namespace: "n",
    session_id: "s",
    uid: "u",
    generation: 0,
    scope: "read",
    jti: "j",
    exp: 9_999_999_999,
  };

  it("but what has all claims, the type, and the signature", async () => {
    expect(await tickets.check(`spt_${await signed(PAYLOAD)}`)).toMatchObject({ name: "ticket j" });
    expect(await tickets.check(await signed(PAYLOAD))).toBeUndefined();
  });

  it.each(Object.keys(PAYLOAD))("without %s", async (name) => {
    expect(await tickets.check(`spt_${await signed({ ...PAYLOAD, [name]: undefined })}`)).toBeUndefined();
  });

  it.each([
    { namespace: "" },
    { namespace: "a\nb" },
    { namespace: 5 },
    { session_id: "" },
    { session_id: ["s"] },
    { uid: "" },
    { uid: null },
    { generation: "0" },
    { generation: 0.5 },
    { scope: "admin" },
    { scope: ["read"] },
    { owner: "" },
    { owner: ["ada"] },
    { jti: "" },
    { jti: 5 },
    { exp: "9999999999" },
    { exp: 1 },
    { nbf: 9_999_999_998 },
  ])("with the claims %j", async (claims) => {
    expect(await tickets.check(`spt_${await signed({ ...PAYLOAD, ...claims })}`)).toBeUndefined();
  });

  it.each([
    { typ: "JWT" },
    { typ: null },
    { alg: "HS512" },
    { alg: "none" },
    { crit: ["b64"], b64: false },
    { crit: ["other"], other: 1 },
  ])("with the header %j", async (fields) => {
    const head = encode({ ...HEADER, ...fields });
    const text = `${head}.${encode(PAYLOAD)}`;
    const hash = fields.alg === "HS512" ? "sha512" : "sha256";
    const signature = createHmac(hash, KEY).update(text).digest("base64url");
    expect(await tickets.check(`spt_${text}.${signature}`)).toBeUndefined();
    expect(await tickets.check(`spt_${text}.`)).toBeUndefined();
  });

  it("such as a token without a signature, or one of a key pair", async () => {
    expect(await tickets.check(`spt_${new UnsecuredJWT(PAYLOAD).encode()}`)).toBeUndefined();
    const { privateKey } = await generateKeyPair("ES256");
    const token = await new SignJWT(PAYLOAD).setProtectedHeader({ ...HEADER, alg: "ES256" }).sign(privateKey);
    expect(await tickets.check(`spt_${token}`)).toBeUndefined();
  });

  it("and a ticket is no JSON Web Token, even where the key set has its secret", async () => {
    const { publicKey } = await generateKeyPair("ES256", { extractable: true });
    const shared = { kty: "oct", k: Buffer.from(SECRET).toString("base64url"), alg: "HS256" };
    const jwks = join(folder, "jwks.json");
    writeFileSync(jwks, JSON.stringify({ keys: [shared, await exportJWK(publicKey)] }));
    const checker = new JwtChecker({ jwks, namespaceClaim: "namespace", scopeClaim: "scope" }, logger.pino);
    open.push(checker);
    const ticket = await tickets.sign(CLAIMS);
    expect(await checker.check(ticket)).toBeUndefined();
    expect(await checker.check(ticket.slice("spt_".length))).toBeUndefined();
  });

  function signed(claims: object): Promise<string> {
    return new SignJWT({ ...claims }).setProtectedHeader(HEADER).sign(KEY);
  }
});

describe("a change of the secret", () => {
  it("keeps tickets valid while the file has the secret that signed them, and ends their streams after that", async () => {
    const [first, second] = [newTicketSecret(), newTicketSecret()];
    const path = newPath();
    const changing = makeTickets(first, path);
    const before = await changing.sign(CLAIMS);
    const principal = await changing.check(before);

    writeFileSync(path, `${second}\n${first}\n`);
    changing.reload();
    const after = await changing.sign(CLAIMS);
    expect(await changing.check(before)).toMatchObject({ name: principal?.name });
    expect(await changing.check(after)).toBeDefined();
    expect(await makeTickets(first).check(after)).toBeUndefined();
    expect(principal?.revoked?.aborted).toBe(false);

    writeFileSync(path, second);
    changing.reload();
    expect(principal?.revoked?.aborted).toBe(true);
    expect(await changing.check(before)).toBeUndefined();
    expect((await changing.check(after))?.revoked?.aborted).toBe(false);
  });

  it.each([
    ["nothing", ""],
    ["three secrets", `${SECRET}\n${SECRET}\n${SECRET}`],
    ["a short secret", "a".repeat(42)],
    ["a secret with a space", `${"a".repeat(30)} ${"a".repeat(30)}`],
    ["a secret that is too long", "a".repeat(1025)],
  ])("to a file with %s is not made, and the file is refused at the start", async (_what, content) => {
    const secret = newTicketSecret();
    const path = newPath();
    const unchanged = makeTickets(secret, path);
    const ticket = await unchanged.sign(CLAIMS);
    writeFileSync(path, content);
    unchanged.reload();
    expect(await unchanged.check(ticket)).toBeDefined();
    const failure = logger.lines.findLast(({ level }) => level === 50);
    expect(failure).toMatchObject({ reason: expect.stringMatching(/^Ticket secret file .*secret/) });
    expect(() => makeTickets(content)).toThrow(/^Ticket secret file .*secret/);
  });

  it("never logs a secret or a ticket", async () => {
    const ticket = await tickets.sign(CLAIMS);
    await tickets.check(`${ticket}x`);
    const expired = await tickets.sign({ ...CLAIMS, expiresMs: 1000 });
    expect(await tickets.check(expired)).toBeUndefined();
    const log = JSON.stringify(logger.lines);
    expect(log).toContain("Ticket refused");
    for (const text of [SECRET, ticket, expired, ...ticket.split(".").slice(1)]) expect(log).not.toContain(text);
  });
});

function makeTickets(content: string, path = newPath()): Tickets {
  writeFileSync(path, content);
  const made = new Tickets(path, logger.pino);
  open.push(made);
  return made;
}

function newPath(): string {
  files += 1;
  return join(folder, `secret-${files}`);
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
