import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { hashRandomKey, newKey } from "../../src/server/auth/key-hash.js";
import { builtPages } from "../support/console-pages.js";
import { findNginx, type Nginx, startNginx } from "../support/nginx.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";

const KEYS = { one: newKey(), other: newKey() };
const SESSION = "/session/secret-plan";
const GET_SESSION = "/sessionpool.v1.SessionService/GetSession";
const MESSAGE = encodeURIComponent('{"sessionId":"secret-plan"}');

/** Reads of the same session on every front that a cache understands. */
const READS = {
  REST: SESSION,
  "Connect by GET": `${GET_SESSION}?connect=v1&encoding=json&message=${MESSAGE}`,
  "OpenAI's API": "/v1/conversations/secret-plan",
};

await describeWith("a caching nginx in front of a server with keys", findNginx, (program) => {
  let folder: string;
  let server: TestServer;
  let other: Server;
  let nginx: Nginx;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "session-pool-cache-"));
    const entries = Object.entries(KEYS).map(([name, key]) => {
      return { name, hash: hashRandomKey(key), namespace: name, scope: "admin" };
    });
    await writeFile(join(folder, "keys.json"), JSON.stringify(entries), { mode: 0o600 });
    const config = { keysFile: join(folder, "keys.json"), openAi: true };
    server = await startTestServer(config, undefined, await builtPages());
    other = createServer((_request, response) => response.end("the same for everybody"));
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const cached = `
      proxy_cache answers;
      proxy_cache_valid any 10m;
      proxy_cache_methods GET HEAD POST;
      add_header X-Cache $upstream_cache_status always;`;
    nginx = await startNginx(
      program,
      `${cached}
      location / { proxy_pass ${server.httpUrl}; }
      location /other { proxy_pass http://127.0.0.1:${(other.address() as AddressInfo).port}; }`,
    );
    const init = { method: "POST", headers: headersOf(KEYS.one), body: '{"sessionId":"secret-plan","title":"Secret"}' };
    expect((await fetch(`${server.httpUrl}/session`, init)).status).toBe(200);
  });

  afterAll(async () => {
    await nginx.stop();
    await server.stop();
    other.close();
    await rm(folder, { recursive: true });
  });

  function headersOf(key: string | undefined): Record<string, string> {
    return { "content-type": "application/json", ...(key !== undefined && { authorization: `Bearer ${key}` }) };
  }

  async function ask(path: string, key: string | undefined, init: RequestInit = {}) {
    const answer = await fetch(nginx.url + path, { ...init, headers: headersOf(key) });
    return { status: answer.status, cache: answer.headers.get("x-cache"), text: await answer.text() };
  }

  it("keeps what another server answers without a word about caches", async () => {
    expect(await ask("/other", KEYS.one)).toMatchObject({ status: 200, cache: "MISS" });
    expect(await ask("/other", undefined)).toMatchObject({ status: 200, cache: "HIT" });
  });

  it.each(Object.entries(READS))("gives a session to its owner alone (%s)", async (_front, path) => {
    const own = await ask(path, KEYS.one);
    expect(own).toMatchObject({ status: 200, text: expect.stringContaining("secret-plan") });
    expect(await ask(path, KEYS.other)).toMatchObject({ status: 404, cache: "MISS" });
    expect(await ask(path, undefined)).toMatchObject({ status: 401, cache: "MISS" });
    expect(await ask(path, KEYS.one)).toEqual({ ...own, cache: "MISS" });
  });

  it("keeps no answer to a POST either", async () => {
    const init = { method: "POST", body: '{"sessionId":"secret-plan"}' };
    expect(await ask(GET_SESSION, KEYS.one, init)).toMatchObject({ status: 200, cache: "MISS" });
    expect(await ask(GET_SESSION, undefined, init)).toMatchObject({ status: 401, cache: "MISS" });
  });

  it("asks again for health, and for the files of the console", async () => {
    for (const path of ["/healthz", "/readyz", "/", "/docs", "/openapi.json"]) {
      await ask(path, undefined);
      expect(await ask(path, undefined), path).toMatchObject({ status: 200, cache: expect.not.stringMatching("HIT") });
    }
  });
});
