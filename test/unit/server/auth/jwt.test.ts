import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGzip, type Gzip, gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { JwtConfig } from "../../../../src/config/config.js";
import { fetchKeySet } from "../../../../src/server/auth/fetch-key-set.js";
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
    expect(await makeChecker().check(token)).toMatchObject({
      name: "robot",
      id: "token robot",
      namespace: "a",
      scope: expected,
    });
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

  it.each([
    ["read", "ada"],
    ["write", "ö".repeat(64)],
    ["write", "a@b c"],
  ])("with the scope %s is bound to the owner in its claim: %j", async (scope, owner) => {
    const checker = makeChecker({ ownerClaim: "sub" });
    const token = await sign({ namespace: "a", scope, sub: owner });
    for (let i = 0; i < 2; i++) expect(await checker.check(token)).toMatchObject({ scope, access: { owner } });
    const other = await sign({ namespace: "a", scope, sub: "bob" });
    expect(await checker.check(other)).toMatchObject({ access: { owner: "bob" } });
    expect(await checker.check(token)).toMatchObject({ access: { owner } });
  });

  it.each([
    ["is missing", {}],
    ["is empty", { user: "" }],
    ["is a number", { user: 7 }],
    ["is null", { user: null }],
    ["is a list", { user: ["ada"] }],
    ["is longer than 128 bytes", { user: `${"ö".repeat(64)}a` }],
    ["has a control character", { user: "a\nb" }],
    ["has a lone surrogate", { user: "a\ud800" }],
  ])("whose owner claim %s is denied, with a text that names the claim", async (_what, claims) => {
    const checker = makeChecker({ ownerClaim: "user" });
    const token = await sign({ namespace: "a", scope: "openid write", sub: "ada", ...claims });
    for (let i = 0; i < 2; i++) {
      await expect(checker.check(token)).rejects.toMatchObject({
        code: Code.PermissionDenied,
        message: expect.stringContaining('The claim "user"'),
      });
    }
    expect(await makeChecker().check(token)).toMatchObject({ access: undefined });
  });

  it.each<object>([{ sub: 7 }, { sub: ["ada"] }, { sub: { name: "ada" } }])(
    "whose owner is its subject, which is no text, is denied, too: %j",
    async (claims) => {
      const checker = makeChecker({ ownerClaim: "sub" });
      const token = await sign({ namespace: "a", scope: "write", ...claims });
      await expect(checker.check(token)).rejects.toMatchObject({ code: Code.PermissionDenied });
    },
  );

  it.each([{}, { user: "ada" }, { user: 7 }])("with the scope admin is never bound: %j", async (claims) => {
    const checker = makeChecker({ ownerClaim: "user" });
    const token = await sign({ namespace: "a", scope: "admin", ...claims });
    expect(await checker.check(token)).toMatchObject({ scope: "admin", access: undefined });
  });

  it("that is no token for this server is refused as such, whatever its owner", async () => {
    const checker = makeChecker({ ownerClaim: "user" });
    const other = await generateKeyPair("ES256", { extractable: true });
    expect(await checker.check(await sign({ namespace: "a", scope: "read" }, other))).toBeUndefined();
    expect(await checker.check(await sign({ scope: "read" }))).toBeUndefined();
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
  const ways: readonly [string, RegExp, (response: ServerResponse) => void][] = [
    ["does not answer", /fetch failed/, (response) => response.destroy()],
    ["answers 500", /the status 500/, (response) => response.writeHead(500).end()],
    ["answers with a page", /JSON/, (response) => response.end("<html></html>")],
    ["answers with something else", /JSON Web Key Set/, (response) => response.end("{}")],
    ["leads elsewhere", /the status 302/, (response) => response.writeHead(302, { location: "/elsewhere" }).end()],
    ["answers 500 without end", /the status 500/, (response) => sendEndlessly(response.writeHead(500))],
    ["sends without end", /more than 1048576 bytes/, (response) => sendEndlessly(response)],
    ["sends compressed zeros without end", /1048576 bytes/, (response) => sendEndlessly(response, createGzip())],
    ["sends deeply nested lists", /./, (response) => response.end(`{"keys":[],"more":${nested(400_000)}}`)],
    ["sends very many keys", /1000 keys/, (response) => response.end(`{"keys":[{}${",{}".repeat(300_000)}]}`)],
    ["sends one byte more than a mebibyte", /1048576 bytes/, (response) => response.end(emptySet(1024 * 1024 + 1))],
  ];

  it.each(ways)(
    "is fetched; if the server %s, calls fail with unavailable and not as unauthenticated",
    async (_what, message, fail) => {
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
      await expect(makeChecker({ jwks }).check(token)).rejects.toMatchObject({
        code: Code.Unavailable,
        cause: { message: expect.stringMatching(message) },
      });
      await poll(() => server.open() === 0, "the connection is free or closed");
      await server.stop();
    },
  );

  it("is given up when it does not arrive in time, however much of it has", async () => {
    const server = await KeyServer.start((response) => void response.write('{"keys":['));
    const timedOut = new AbortController();
    const reading = fetchKeySet(server.url, { signal: timedOut.signal });
    await poll(() => server.open() === 1, "the answer has begun");
    timedOut.abort(new Error("too late"));
    await expect(reading).rejects.toMatchObject({ code: Code.Unavailable, cause: { message: "too late" } });
    await poll(() => server.open() === 0, "the connection is closed");
    await server.stop();
  });

  it("may be compressed, and up to a mebibyte large", async () => {
    const key = JSON.stringify(await publicKey(pair));
    const set = `{"keys":[${key}]${" ".repeat(1024 * 1024 - key.length - 11)}}`;
    const server = await KeyServer.start((response) =>
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(set)),
    );
    const token = await sign({ namespace: "a", scope: "read" });
    expect(await makeChecker({ jwks: server.url }).check(token)).toBeDefined();
    await server.stop();
  });
});

it("refuses a file that is not a key set with a one-line message", () => {
  const broken = join(folder, "broken.json");
  writeFileSync(broken, "{}");
  expect(() => makeChecker({ jwks: broken })).toThrow(/^JWKS file .* cannot be used/);
});

function nested(levels: number): string {
  return "[".repeat(levels) + "]".repeat(levels);
}

/** A key set of exactly this many bytes. */
function emptySet(bytes: number): string {
  return `{"keys":[]}`.padEnd(bytes);
}

/** Sends until the other side closes the connection. */
function sendEndlessly(response: ServerResponse, gzip?: Gzip): void {
  if (gzip !== undefined) response.setHeader("content-encoding", "gzip");
  const out = gzip ?? response;
  gzip?.pipe(response);
  const zeros = Buffer.alloc(64 * 1024, " ");
  const send = () => {
    while (!response.destroyed && out.write(zeros));
  };
  response.on("error", () => {});
  out.write('{"keys":[');
  out.on("drain", send);
  send();
}

class KeyServer {
  readonly url: string;
  #open = 0;
  readonly #server: Server;

  private constructor(server: Server) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
    this.#server = server;
  }

  static async start(answer: (response: ServerResponse) => void): Promise<KeyServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const started = new KeyServer(server);
    server.on("request", (_request, response) => {
      started.#open += 1;
      response.on("close", () => {
        started.#open -= 1;
      });
      answer(response);
    });
    return started;
  }

  /** The number of answers that are not finished and whose connection is open. */
  open(): number {
    return this.#open;
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
