import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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

  it("is refused when it never expires, and names its end otherwise", async () => {
    const checker = makeChecker();
    const endless = await new SignJWT({ namespace: "a", scope: "read" })
      .setProtectedHeader({ alg: "ES256", kid: "k1" })
      .sign(pair.privateKey);
    expect(await checker.check(endless)).toBeUndefined();
    const exp = Math.floor(Date.now() / 1000) + 60;
    const token = await sign({ namespace: "a", scope: "read" }, pair, exp);
    expect(await checker.check(token)).toMatchObject({ expiresMs: exp * 1000 });
  });

  it("must have the issuer and the audience", async () => {
    const checker = makeChecker({ issuer: "https://issuer.test", audience: "session-pool" });
    const claims = { namespace: "a", scope: "read" };
    expect(await checker.check(await sign(claims))).toBeUndefined();
    expect(await checker.check(await sign({ ...claims, iss: "https://issuer.test", aud: "other" }))).toBeUndefined();
    const good = await sign({ ...claims, iss: "https://issuer.test", aud: "session-pool" });
    expect(await checker.check(good)).toMatchObject({ namespace: "a" });
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
});

describe("a key set behind a URL", () => {
  it("is fetched; while it cannot be, calls are unavailable rather than refused", async () => {
    let isUp = true;
    const keys = JSON.stringify({ keys: [await publicKey(pair)] });
    const server = createServer((_request, response) => {
      if (isUp) response.setHeader("content-type", "application/json").end(keys);
      else response.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const jwks = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
    const token = await sign({ namespace: "a", scope: "read" });
    expect(await makeChecker({ jwks }).check(token)).toBeDefined();
    isUp = false;
    await expect(makeChecker({ jwks }).check(token)).rejects.toMatchObject({ code: Code.Unavailable });
    await new Promise((resolve) => server.close(resolve));
  });
});

it("refuses a file that is not a key set with a one-line message", () => {
  const broken = join(folder, "broken.json");
  writeFileSync(broken, "{}");
  expect(() => makeChecker({ jwks: broken })).toThrow(/^JWKS file .* cannot be used/);
});

function makeChecker(changes: Partial<JwtConfig> = {}): JwtChecker {
  const checker = new JwtChecker(
    { jwks: path, namespaceClaim: "namespace", scopeClaim: "scope", ...changes },
    logger.pino,
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
