import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { JwtConfig } from "../../../../src/config.js";
import { JwtChecker } from "../../../../src/server/auth/jwt.js";
import { poll } from "../../../support/poll.js";
import { TestLogger } from "../../../support/test-logger.js";

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;

let folder: string;
let path: string;
let pair: KeyPair;
const logger = new TestLogger();
const open: JwtChecker[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-jwks-"));
  path = join(folder, "jwks.json");
  pair = await generateKeyPair("ES256", { extractable: true });
  await writeKeys(pair);
});

afterEach(() => {
  vi.useRealTimers();
});

afterAll(() => {
  for (const checker of open) checker.close();
  rmSync(folder, { recursive: true });
});

describe("a token", () => {
  it.each([
    ["read", "read"],
    ["openid session-pool:write read", "write"],
    [["session-pool:admin"], "admin"],
  ])("with the scope %j may %s", async (scope, expected) => {
    const token = await sign({ namespace: "a", scope, sub: "robot" });
    expect(await makeChecker().check(token)).toMatchObject({ name: "robot", namespace: "a", scope: expected });
  });

  it("is refused without namespace or scope", async () => {
    const checker = makeChecker();
    expect(await checker.check(await sign({ scope: "read" }))).toBeUndefined();
    expect(await checker.check(await sign({ namespace: "a" }))).toBeUndefined();
    expect(await checker.check(await sign({ namespace: "a", scope: "openid" }))).toBeUndefined();
    expect(await checker.check(await sign({ namespace: 5, scope: "read" }))).toBeUndefined();
  });

  it("is refused when expired, signed by another key, or no token at all", async () => {
    const checker = makeChecker();
    const other = await generateKeyPair("ES256", { extractable: true });
    expect(await checker.check(await sign({ namespace: "a", scope: "read" }, pair, "-1m"))).toBeUndefined();
    expect(await checker.check(await sign({ namespace: "a", scope: "read" }, other))).toBeUndefined();
    expect(await checker.check("a.b.c")).toBeUndefined();
    expect(await checker.check("sp_key")).toBeUndefined();
    const [head, body] = (await sign({ namespace: "a", scope: "read" })).split(".");
    expect(await checker.check(`${head}.${body}.`)).toBeUndefined();
  });

  it("is refused when it never expires; otherwise the answer says when it does", async () => {
    const checker = makeChecker();
    const endless = await new SignJWT({ namespace: "a", scope: "read" })
      .setProtectedHeader({ alg: "ES256", kid: "k1" })
      .sign(pair.privateKey);
    expect(await checker.check(endless)).toBeUndefined();
    const exp = Math.floor(Date.now() / 1000) + 60;
    const token = await sign({ namespace: "a", scope: "read" }, pair, exp);
    expect(await checker.check(token)).toMatchObject({ expiresMs: exp * 1000 });
  });

  it("must have the configured issuer and audience", async () => {
    const checker = makeChecker({ issuer: "https://issuer.test", audience: "session-pool" });
    const claims = { namespace: "a", scope: "read" };
    expect(await checker.check(await sign(claims))).toBeUndefined();
    expect(await checker.check(await sign({ ...claims, iss: "https://issuer.test", aud: "other" }))).toBeUndefined();
    const good = await sign({ ...claims, iss: "https://issuer.test", aud: "session-pool" });
    expect(await checker.check(good)).toMatchObject({ namespace: "a" });
  });

  it.each([
    ["a subject that is not a string", { sub: { a: 1 } }],
    ["a scope in a nested list", { scope: [["admin"]] }],
    ["scopes that are not strings", { scope: [{ toString: 1 }, 1, null] }],
    ["a lone surrogate in its namespace", { namespace: "a\ud800" }],
    ["a control character in its namespace", { namespace: "a\nb" }],
    ["a namespace that is too long", { namespace: "a".repeat(129) }],
    ["an expiry that is a string", { exp: "9999999999" }],
    ["a start time in the future", { nbf: Math.floor(Date.now() / 1000) + 600 }],
  ])("is refused with %s", async (_what, changes) => {
    const claims = { namespace: "a", scope: "read", exp: Math.floor(Date.now() / 1000) + 60, ...changes };
    const token = await new SignJWT(claims as JWTPayload)
      .setProtectedHeader({ alg: "ES256", kid: "k1" })
      .sign(pair.privateKey);
    expect(await makeChecker().check(token)).toBeUndefined();
  });

  it("is refused when it is unsigned, or signed with the public key as if that were a shared secret", async () => {
    const secret = new TextEncoder().encode(JSON.stringify(await publicKey(pair)));
    const forged = new SignJWT({ namespace: "a", scope: "admin" }).setExpirationTime("5m");
    const unsigned = new UnsecuredJWT({ namespace: "a", scope: "admin" }).setExpirationTime("5m").encode();
    const checker = makeChecker();
    expect(await checker.check(await forged.setProtectedHeader({ alg: "HS256", kid: "k1" }).sign(secret))).toBe(
      undefined,
    );
    expect(await checker.check(unsigned)).toBeUndefined();
    expect(await checker.check(`${unsigned}AAAA`)).toBeUndefined();
  });

  it("may use other names for its claims", async () => {
    const checker = makeChecker({ namespaceClaim: "https://x.test/tenant", scopeClaim: "roles" });
    const token = await sign({ "https://x.test/tenant": "t", roles: ["write"] });
    expect(await checker.check(token)).toMatchObject({ namespace: "t", scope: "write" });
  });

  it("is no longer accepted once the file has other keys", async () => {
    const own = join(folder, "own.json");
    await writeKeys(pair, own);
    const checker = makeChecker({ jwks: own });
    const token = await sign({ namespace: "a", scope: "read" });
    expect(await checker.check(token)).toBeDefined();
    await writeKeys(await generateKeyPair("ES256", { extractable: true }), own);
    await poll(async () => (await checker.check(token)) === undefined, "the token is refused");
  });

  it("is refused if its key is removed while it is being verified", async () => {
    const own = join(folder, "removed.json");
    await writeKeys(pair, own);
    const checker = makeChecker({ jwks: own });
    const others = JSON.stringify({ keys: [await publicKey(await generateKeyPair("ES256", { extractable: true }))] });
    const checking = checker.check(await sign({ namespace: "a", scope: "read" }));
    writeFileSync(own, others);
    checker.reload();
    expect(await checking).toBeUndefined();
  });
});

describe("a key set", () => {
  it("may hold several keys that match a token, and accepts the token if any of them signed it", async () => {
    const other = await generateKeyPair("ES256", { extractable: true });
    const weak = { kty: "EC", crv: "P-256", x: "AA", y: "AA", kid: "k1" };
    const jwks = join(folder, "several.json");
    writeFileSync(jwks, JSON.stringify({ keys: [weak, await publicKey(other), await publicKey(pair)] }));
    const checker = makeChecker({ jwks });
    const claims = { namespace: "a", scope: "read" };
    expect(await checker.check(await sign(claims))).toBeDefined();
    expect(await checker.check(await sign(claims, other))).toBeDefined();
    expect(await checker.check(await sign(claims, pair, "-1m"))).toBeUndefined();
    const unknown = await generateKeyPair("ES256", { extractable: true });
    expect(await checker.check(await sign(claims, unknown))).toBeUndefined();
  });

  const unusable: Record<string, () => Promise<object>> = {
    "is on no curve": async () => ({ kty: "EC", crv: "P-256", x: "AA", y: "AA" }),
    "lacks a part": async () => ({ kty: "EC", crv: "P-256", x: "AA" }),
    "is private": () => exportJWK(pair.privateKey),
  };
  const places = ["in a file", "at a URL"] as const;
  const cases = places.flatMap((place) => Object.entries(unusable).map(([what, make]) => [place, what, make] as const));

  it.each(cases)("%s refuses a token whose key %s, and logs why", async (place, _what, make) => {
    const keys = JSON.stringify({ keys: [{ ...(await make()), kid: "k1" }] });
    const file = join(folder, "unusable.json");
    writeFileSync(file, keys);
    const server = await KeyServer.start((response) => response.end(keys));
    const own = new TestLogger();
    const checker = makeChecker({ jwks: place === "in a file" ? file : server.url }, own);
    for (let i = 0; i < 3; i++)
      expect(await checker.check(await sign({ namespace: "a", scope: "read" }))).toBeUndefined();
    expect(own.lines).toMatchObject([{ level: 40, msg: expect.stringContaining("cannot be used") }]);
    await server.stop();
  });
});

describe("a key that is removed from its set", () => {
  it.each(["RS256", "PS256", "ES512", "EdDSA"])("revokes the tokens that it signed, and no others: %s", async (alg) => {
    const [removed, kept] = [await generateKeyPair(alg, { extractable: true }), pair];
    const own = join(folder, "rotated.json");
    const keptKey = await publicKey(kept);
    writeFileSync(own, JSON.stringify({ keys: [{ ...(await exportJWK(removed.publicKey)), alg }, keptKey] }));
    const checker = makeChecker({ jwks: own });
    const claims = { namespace: "a", scope: "read" };
    const old = new SignJWT(claims).setProtectedHeader({ alg }).setExpirationTime("5m").sign(removed.privateKey);
    const principals = [await checker.check(await old), await checker.check(await sign(claims, kept))];
    expect(principals.map((one) => one?.revoked?.aborted)).toEqual([false, false]);
    writeFileSync(own, JSON.stringify({ keys: [{ kty: "EC", crv: "P-256", x: "AA", y: "AA" }, keptKey] }));
    checker.reload();
    expect(principals.map((one) => one?.revoked?.aborted)).toEqual([true, false]);
    expect(await checker.check(await old)).toBeUndefined();
  });

  it("does so at a URL once the set is fetched again", async () => {
    const claims = { namespace: "a", scope: "read" };
    const next = await generateKeyPair("ES256", { extractable: true });
    let keys = [await publicKey(pair)];
    const server = await KeyServer.start((response) => response.end(JSON.stringify({ keys })));
    const checker = makeChecker({ jwks: server.url });
    const token = await sign(claims);
    const principal = await checker.check(token);
    expect(principal?.revoked?.aborted).toBe(false);
    keys = [{ ...(await publicKey(next)), kid: "k2" }];
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 31_000 });
    const signed = new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "k2" }).setExpirationTime("5m");
    expect(await checker.check(await signed.sign(next.privateKey))).toBeDefined();
    expect(principal?.revoked?.aborted).toBe(true);
    expect(await checker.check(token)).toBeUndefined();
    await server.stop();
  });
});

describe("a key set at a URL", () => {
  const ways: Record<string, (response: ServerResponse) => void> = {
    "does not answer": (response) => response.destroy(),
    "answers 500": (response) => response.writeHead(500).end(),
    "answers with a page": (response) => response.end("<html></html>"),
    "answers with something else": (response) => response.end("{}"),
  };

  it.each(Object.entries(ways))(
    "is fetched; if the server %s, calls fail with unavailable and not as unauthenticated",
    async (_what, fail) => {
      let isUp = true;
      const keys = JSON.stringify({ keys: [await publicKey(pair)] });
      const server = await KeyServer.start((response) => {
        if (isUp) response.setHeader("content-type", "application/json").end(keys);
        else fail(response);
      });
      const jwks = server.url;
      const token = await sign({ namespace: "a", scope: "read" });
      expect(await makeChecker({ jwks }).check(token)).toBeDefined();
      isUp = false;
      await expect(makeChecker({ jwks }).check(token)).rejects.toMatchObject({ code: Code.Unavailable });
      await server.stop();
    },
  );
});

it("refuses a file that is not a key set with a one-line message", () => {
  const broken = join(folder, "broken.json");
  writeFileSync(broken, "{}");
  expect(() => makeChecker({ jwks: broken })).toThrow(/^JWKS file .* cannot be used/);
});

class KeyServer {
  readonly url: string;
  readonly #server: Server;

  private constructor(server: Server) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
    this.#server = server;
  }

  static async start(answer: (response: ServerResponse) => void): Promise<KeyServer> {
    const server = createServer((_request, response) => answer(response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new KeyServer(server);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function makeChecker(changes: Partial<JwtConfig> = {}, log = logger): JwtChecker {
  const checker = new JwtChecker(
    { jwks: path, namespaceClaim: "namespace", scopeClaim: "scope", ...changes },
    log.pino,
  );
  open.push(checker);
  return checker;
}

async function sign(claims: JWTPayload, by: KeyPair = pair, expires: string | number = "5m"): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: "ES256", kid: "k1" })
    .setExpirationTime(expires)
    .sign(by.privateKey);
}

async function publicKey(of: KeyPair): Promise<object> {
  return { ...(await exportJWK(of.publicKey)), kid: "k1", alg: "ES256" };
}

async function writeKeys(of: KeyPair, to = path): Promise<void> {
  writeFileSync(to, JSON.stringify({ keys: [await publicKey(of)] }));
}
