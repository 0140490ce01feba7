import { createHash } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_SERVER_LIMITS, type ServeConfig } from "../../src/config/config.js";
import { hashRandomKey, newKey } from "../../src/server/auth/key-hash.js";
import { newTicketSecret } from "../../src/server/auth/ticket-secrets.js";
import { documentedProgram } from "../clients/documented.js";
import { freePort } from "../support/free-port.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith, ROOT } from "../support/toolchain.js";
import { DESKTOP, findBrowser, openBrowser } from "./browser.js";
import { serveScript } from "./other-origin-site.js";

interface Call {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Whether the body is one message of a stream. */
  readonly isFramed?: boolean;
  readonly credentials?: "include" | "omit";
  readonly at?: string;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The first piece of the body. */
  readonly text: string;
}

const LIMIT_BYTES = 20_000;
/** A name that the browser takes for this machine, and that the server does not serve. */
const UNSERVED = "sessions.example";
const KEYS = { ada: newKey(), bob: newKey(), reader: newKey() };
const JSON_TYPE = { "Content-Type": "application/json" };
const ATTACHMENT = "/session/s/attachment/p";
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="7" height="5"/>';
const GET_SESSION = "/sessionpool.v1.SessionService/GetSession";
const WATCH = "/sessionpool.v1.MessageService/WatchMessages";

/** The rows of the table in docs/api.md whose first column has this title. */
function tableOf(title: string): readonly (readonly string[])[] {
  const lines = readFileSync(join(ROOT, "docs/api.md"), "utf8").split("\n");
  const first = lines.findIndex((line) => line.startsWith(`| ${title} |`), lines.indexOf("## Pages of other origins"));
  const rows = lines.slice(first + 2);
  return rows.slice(0, rows.indexOf("")).map((row) =>
    row
      .slice(2, -2)
      .split(" | ")
      .map((cell) => cell.trim()),
  );
}

const codesOf = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);

await describeWith("what docs/api.md says of pages of other origins", findBrowser, (browserPath) => {
  const folder = mkdtempSync(join(tmpdir(), "session-pool-cors-"));
  const servers: TestServer[] = [];
  let site: Server;
  let origin: string;
  let server: TestServer;
  let browser: BrowserContext;
  let page: Page;
  let preflights = 0;
  let ticket: string;
  /** The servers are in this process, which tells of every request that they get. */
  const countPreflight = (message: unknown) => {
    if ((message as { request: IncomingMessage }).request.method === "OPTIONS") preflights++;
  };
  const bearer = (key = KEYS.ada) => ({ Authorization: `Bearer ${key}` });

  beforeAll(async () => {
    site = await serveScript();
    origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    const entries = [
      { name: "ada", hash: hashRandomKey(KEYS.ada), namespace: "n", scope: "write", owner: "ada" },
      { name: "bob", hash: hashRandomKey(KEYS.bob), namespace: "n", scope: "write", owner: "bob" },
      { name: "reader", hash: hashRandomKey(KEYS.reader), namespace: "n", scope: "read" },
    ];
    writeFileSync(join(folder, "keys.json"), JSON.stringify(entries));
    writeFileSync(join(folder, "secret"), newTicketSecret());
    server = await start({ ticketSecretFile: join(folder, "secret") });
    browser = await openBrowser(browserPath, DESKTOP, [`--host-resolver-rules=MAP ${UNSERVED} 127.0.0.1`]);
    page = await browser.newPage();
    await page.goto(origin);
    subscribe("http.server.request.start", countPreflight);
    const body = JSON.stringify({ sessionId: "s", metadata: { long: "t".repeat(2_000) } });
    expect((await call("/session", { method: "POST", headers: { ...bearer(), ...JSON_TYPE }, body })).status).toBe(200);
    const made = { method: "POST", headers: { ...bearer(), ...JSON_TYPE }, body: '{"scope":"read"}' };
    ticket = JSON.parse((await call("/session/s/ticket", made)).text).ticket;
    const upload = { method: "POST", headers: { ...bearer(), "Content-Type": "image/svg+xml" }, body: SVG };
    expect((await call("/session/s/attachment?attachment_id=p&name=p.svg", upload)).status).toBe(200);
  });

  afterAll(async () => {
    unsubscribe("http.server.request.start", countPreflight);
    await browser?.close();
    for (const one of servers) await one.stop();
    site?.close();
    rmSync(folder, { recursive: true });
  });

  /** Starts a server with the keys that allows the page's origin. */
  async function start(config: Partial<ServeConfig> = {}): Promise<TestServer> {
    const started = await startTestServer({
      keysFile: join(folder, "keys.json"),
      corsOrigins: [origin],
      allowedHosts: ["127.0.0.1"],
      openAi: true,
      serverLimits: { ...DEFAULT_SERVER_LIMITS, bodyBytes: LIMIT_BYTES },
      ...config,
    });
    servers.push(started);
    return started;
  }

  /** What the page reads of an answer. Rejects if the browser does not let it. */
  function call(path: string, { at = server.httpUrl, ...options }: Call = {}): Promise<Answer> {
    return page.evaluate(
      async ([url, { method = "GET", headers = {}, body, isFramed = false, credentials = "omit" }]) => {
        const bytes = new TextEncoder().encode(body ?? "");
        const frame = new Uint8Array([0, 0, 0, bytes.length >> 8, bytes.length & 255, ...bytes]);
        const sent = body === undefined ? {} : { body: isFramed ? frame : bytes };
        const stop = new AbortController();
        const answer = await fetch(url, { method, headers: { ...headers }, credentials, signal: stop.signal, ...sent });
        const piece = await answer.body?.getReader().read();
        stop.abort();
        return {
          status: answer.status,
          headers: Object.fromEntries(answer.headers),
          text: new TextDecoder().decode(piece?.value),
        };
      },
      [at + path, options] as const,
    );
  }

  /** Counts the preflights of what the page does. */
  async function preflightsOf(run: () => Promise<unknown>): Promise<number> {
    const before = preflights;
    await run();
    return preflights - before;
  }

  const connect = (path: string, key: string, options: Call = {}) =>
    call(path, { method: "POST", headers: { ...bearer(key), ...JSON_TYPE }, body: '{"sessionId":"s"}', ...options });

  const listening = (url: string) =>
    page.evaluate(
      (address) =>
        new Promise<string>((resolve) => {
          const source = new EventSource(address);
          const end = (text: string) => {
            source.close();
            resolve(text);
          };
          source.addEventListener("appended", (event) => end((event as Event & { data: string }).data));
          source.addEventListener("error", () => end("error"));
        }),
      url,
    );

  /** The width of a picture, which is 0 if the browser does not show it. */
  const widthOf = (url: string) =>
    page.evaluate<number>(`new Promise((resolve) => {
      const picture = new Image();
      picture.onload = picture.onerror = () => resolve(picture.naturalWidth);
      picture.src = ${JSON.stringify(url)};
    })`);

  describe("the ways to call", () => {
    const watch = "/session/s/message:watch?from_position=0";
    const ways: Record<string, { withKey?: () => Promise<unknown>; without?: () => Promise<unknown> }> = {
      "REST with `fetch`": {
        withKey: () => call("/session/s", { headers: bearer() }),
        without: () => call(`/session/s?ticket=${ticket}`),
      },
      "Connect with `connect-web`, `session-pool-client`": {
        withKey: () => errorOf("connect", KEYS.ada),
        without: () =>
          call(`${GET_SESSION}?encoding=json&message=${encodeURIComponent('{"sessionId":"s"}')}&ticket=${ticket}`),
      },
      "gRPC-Web with `connect-web`": { withKey: () => errorOf("grpc-web", KEYS.ada) },
      "a stream of `fetch`": {
        withKey: () => call(watch, { headers: bearer() }),
        without: () => call(`${watch}&ticket=${ticket}`),
      },
      "`EventSource`": { without: () => listening(`${server.httpUrl}${watch}&ticket=${ticket}`) },
      "`<img>`, `<audio>`, `<video>` of [an attachment](#attachments)": {
        without: () => widthOf(`${server.httpUrl}${ATTACHMENT}?ticket=${ticket}`),
      },
    };

    it("are those of the table", () => {
      expect(tableOf("way").map(([way]) => way)).toEqual(Object.keys(ways));
    });

    it.each(tableOf("way"))("%s by %s, preflight: %s", async (way, _credential, preflight = "") => {
      const message = { info: { id: way.length.toString(), role: "user" }, parts: [{ type: "text", text: "Hello" }] };
      await connect("/session/s/message", KEYS.ada, { body: JSON.stringify(message) });
      const { withKey, without } = ways[way] ?? {};
      expect(withKey !== undefined).toBe(preflight.startsWith("yes"));
      expect(without !== undefined).toBe(preflight.includes("none"));
      if (withKey) expect(await preflightsOf(withKey)).toBe(1);
      // The browser keeps the answer to a preflight.
      if (withKey) expect(await preflightsOf(withKey)).toBe(0);
      if (without) expect(await preflightsOf(without)).toBe(0);
    });

    it("give what was asked for", async () => {
      expect((await call(watch, { headers: bearer() })).text).toContain("Hello");
      expect((await call(`${watch}&ticket=${ticket}`)).text).toContain("Hello");
      expect(await listening(`${server.httpUrl}${watch}&ticket=${ticket}`)).toContain("Hello");
      expect(await listening(`${server.httpUrl}${watch}`)).toBe("error");
      expect(await errorOf("grpc-web", KEYS.ada)).toBe("none");
      expect(await widthOf(`${server.httpUrl}${ATTACHMENT}?ticket=${ticket}`)).toBe(7);
      expect(await widthOf(server.httpUrl + ATTACHMENT)).toBe(0);
    });

    it("show a page of an origin that is not allowed no picture", async () => {
      const own = await start({ corsOrigins: [], ticketSecretFile: join(folder, "secret") });
      const headers = bearer();
      await fetch(`${own.httpUrl}/session/s/attachment?attachment_id=p&create_session=true`, {
        method: "POST",
        headers: { ...headers, "content-type": "image/svg+xml" },
        body: SVG,
      });
      const made = { method: "POST", headers: { ...headers, ...JSON_TYPE }, body: '{"scope":"read"}' };
      const { ticket: other } = (await (await fetch(`${own.httpUrl}/session/s/ticket`, made)).json()) as {
        ticket: string;
      };
      const url = `${own.httpUrl}${ATTACHMENT}?ticket=${other}`;
      expect((await fetch(url)).status).toBe(200);
      expect(await widthOf(url)).toBe(0);
    });

    it("are what docs/api.md shows for tickets", async () => {
      const program = documentedProgram("js", "new EventSource(").replace(
        "https://sessions.example.com",
        server.httpUrl,
      );
      const kind = await page.evaluate(
        ([source, id, used]) =>
          new Promise((resolve) => {
            const events = new Function("id", "ticket", `return ${source}`)(id, used) as EventSource;
            for (const name of ["heartbeat", "error"]) events.addEventListener(name, () => resolve(name));
            events.addEventListener("open", () => {
              events.close();
              resolve("open");
            });
          }),
        [program.trim(), "s", ticket] as const,
      );
      expect(kind).toBe("open");
    });

    it("may include credentials, if the origin is named", async () => {
      const all = await start({ corsOrigins: ["*"] });
      const including = { headers: bearer(), credentials: "include" } as const;
      expect((await call("/session/s", including)).status).toBe(200);
      expect((await call("/session/s", { headers: bearer(), at: all.httpUrl })).status).toBe(404);
      await expect(call("/session/s", { ...including, at: all.httpUrl })).rejects.toThrow(/Failed to fetch/);
    });
  });

  const errorOf = (protocol: "connect" | "grpc-web", key: string, at = server.httpUrl, id = "s") =>
    page.evaluate(([url, by, bearerKey, sessionId]) => globalThis.connectTo(url, by, bearerKey).errorOf(sessionId), [
      at,
      protocol,
      key,
      id,
    ] as const);

  describe("the headers that a page may send", () => {
    const EXAMPLES: Record<string, string> = { "X-Stainless-*": "X-Stainless-Os", "OpenAI-*": "OpenAI-Beta" };

    it.each(tableOf("sent header"))("%s, for %s", async (names = "") => {
      for (const name of codesOf(names)) {
        const path = name.includes("*") ? "/v1/conversations" : "/session";
        const answer = await call(path, { method: "POST", headers: { [EXAMPLES[name] ?? name]: "1" }, body: "{}" });
        expect(answer.status).toBeGreaterThanOrEqual(400);
      }
    });

    it("are all", async () => {
      await expect(call("/session", { headers: { "X-Other": "1" } })).rejects.toThrow(/Failed to fetch/);
      await expect(call("/session/s", { method: "PUT", headers: bearer() })).rejects.toThrow(/Failed to fetch/);
      for (const method of ["HEAD", "PATCH", "DELETE"])
        expect((await call("/session/nobody", { method, headers: bearer() })).status).toBe(404);
    });
  });

  describe("the headers that a page may read", () => {
    const compressed = { headers: { ...bearer(), ...JSON_TYPE, "Connect-Protocol-Version": "1" } };
    const framed = { method: "POST", isFramed: true, body: '{"sessionId":"s","fromPosition":"0"}' };
    const reading: Record<string, () => Promise<Answer>> = {
      "X-Request-Id": () => call("/session/s", { headers: bearer() }),
      "Retry-After": async () => {
        const busy = await start({ quotas: { key: { callsPerMinute: 1 } } });
        await call("/session", { headers: bearer(), at: busy.httpUrl });
        return call("/session", { headers: bearer(), at: busy.httpUrl });
      },
      "WWW-Authenticate": () => call("/session"),
      Allow: () => call("/session", { method: "DELETE", headers: bearer() }),
      ETag: () => call("/openapi.json"),
      "Accept-Ranges": () => call(ATTACHMENT, { headers: bearer() }),
      "Content-Disposition": () => call(ATTACHMENT, { headers: bearer() }),
      "Content-Length": () => call(ATTACHMENT, { headers: bearer() }),
      "Content-Range": () => call(ATTACHMENT, { headers: { ...bearer(), Range: "bytes=0-1", "If-Range": tag } }),
      "Content-Encoding": () => call("/session/s", { headers: bearer() }),
      "Accept-Encoding": () =>
        connect(GET_SESSION, KEYS.ada, { headers: { ...compressed.headers, "Content-Encoding": "zstd" } }),
      "Connect-Content-Encoding": () =>
        call(WATCH, {
          ...framed,
          headers: { ...bearer(), "Content-Type": "application/connect+json", "Connect-Accept-Encoding": "gzip" },
        }),
      "Grpc-Encoding": () =>
        call(WATCH, {
          ...framed,
          headers: { ...bearer(), "Content-Type": "application/grpc-web+json", "Grpc-Accept-Encoding": "gzip" },
        }),
      "Grpc-Status": () =>
        call("/sessionpool.v1.No/Rpc", { ...framed, headers: { "Content-Type": "application/grpc-web" } }),
    };
    const tag = `"${createHash("sha256").update(SVG).digest("hex")}"`;
    reading["Grpc-Message"] = reading["Grpc-Status"] as () => Promise<Answer>;
    // The server itself sends it only in bodies, but a proxy may move it.
    const unread = ["Grpc-Status-Details-Bin"];

    it.each(tableOf("read header"))("%s, of %s", async (names = "") => {
      for (const name of codesOf(names)) {
        if (unread.includes(name)) continue;
        const answer = await (reading[name] as () => Promise<Answer>)();
        expect(answer.headers).toHaveProperty(name.toLowerCase());
      }
    });
  });

  describe("the errors that a page may read", () => {
    const rest = (path: string, options: Call = {}) =>
      call(path, { ...options, headers: { ...bearer(), ...options.headers } });
    const post = (path: string, body: string, options: Call = {}) =>
      rest(path, { method: "POST", body, ...options, headers: { ...JSON_TYPE, ...options.headers } });
    /** For each status, the requests that it answers: of REST, and where they have one of Connect. */
    const failing: Record<string, () => Promise<readonly Answer[]>> = {
      400: async () => [
        await rest("/session/%zz"),
        await rest(`/session/s?ticket=${ticket}`),
        await call("/session/s?ticket=a&ticket=b"),
        await post(GET_SESSION, "{"),
      ],
      401: async () => [
        await call("/session/s"),
        await call("/session/s?ticket=a.b"),
        await connect(GET_SESSION, "no"),
      ],
      403: async () => [
        await rest("/session/s", { method: "DELETE", headers: bearer(KEYS.reader) }),
        await call(`/session?ticket=${ticket}`),
        await connect("/sessionpool.v1.SessionService/DeleteSession", KEYS.reader),
      ],
      404: async () => [
        await rest("/session/nobody"),
        await rest("/nowhere"),
        await rest("/session/s", { headers: bearer(KEYS.bob) }),
        await connect(GET_SESSION, KEYS.bob),
        await connect("/sessionpool.v1.No/Rpc", KEYS.ada, {
          headers: { ...JSON_TYPE, "Connect-Protocol-Version": "1" },
        }),
      ],
      405: async () => [await rest("/session", { method: "DELETE" }), await rest(GET_SESSION, { method: "DELETE" })],
      406: async () => [await rest("/session/s/message:watch", { headers: { Accept: "text/plain" } })],
      409: async () => [
        await post("/session", '{"sessionId":"s","title":"other"}'),
        await post("/sessionpool.v1.SessionService/CreateSession", '{"sessionId":"s","title":"other"}'),
      ],
      412: async () => [await rest(ATTACHMENT, { headers: { "If-Match": '"other"' } })],
      413: async () => [await post("/session", JSON.stringify({ title: "t".repeat(2 * LIMIT_BYTES) }))],
      415: async () => [
        await post("/session", "<a/>", { headers: { "Content-Type": "text/xml" } }),
        await post(GET_SESSION, "<a/>", { headers: { "Content-Type": "text/xml" } }),
        await post("/session/s/attachment", "a", { headers: { "Content-Encoding": "gzip" } }),
      ],
      416: async () => {
        // The browser's cache has read the other attachment, and keeps no body of this answer for it.
        await post("/session/s/attachment?attachment_id=unread", "a");
        return [await rest("/session/s/attachment/unread", { headers: { Range: "bytes=900-" } })];
      },
      421: async () => {
        const at = server.httpUrl.replace("127.0.0.1", UNSERVED);
        const headers = { ...bearer(), ...JSON_TYPE, "Connect-Protocol-Version": "1" };
        return [await rest("/session/s", { at }), await connect(GET_SESSION, KEYS.ada, { at, headers })];
      },
      429: async () => {
        const at = (await start({ quotas: { key: { callsPerMinute: 1 } } })).httpUrl;
        expect(await errorOf("grpc-web", KEYS.ada, at)).toMatch(/^ConnectError: \[not_found\]/);
        expect(await errorOf("grpc-web", KEYS.ada, at)).toMatch(
          /^ConnectError: \[resource_exhausted\] .*; after \d+ s$/,
        );
        expect(await errorOf("connect", KEYS.ada, at)).toMatch(
          /^ConnectError: \[resource_exhausted\] .*; after \d+ s$/,
        );
        return [await rest("/session/s", { at }), await connect(GET_SESSION, KEYS.ada, { at })];
      },
      431: async () => [
        await rest("/session/s", { headers: bearer("k".repeat(17_000)) }),
        await connect(GET_SESSION, "k".repeat(17_000)),
      ],
      501: async () => [
        await rest("/search?q=word"),
        await post("/sessionpool.v1.MessageService/SearchMessages", '{"q":"word"}'),
      ],
      503: async () => {
        const jwks = `http://127.0.0.1:${await freePort()}/`;
        const jwt = { jwks, namespaceClaim: "namespace", scopeClaim: "scope" };
        const at = (await start({ jwt })).httpUrl;
        // It looks like a JSON Web Token, so the server needs its key set, which cannot be fetched.
        const token = [{ alg: "EdDSA" }, {}, {}]
          .map((part) => btoa(JSON.stringify(part)))
          .join(".")
          .replaceAll("=", "");
        expect(await errorOf("grpc-web", token, at)).toMatch(/^ConnectError: \[unavailable\] .*; after \d+ s$/);
        return [await rest("/session/s", { at, headers: bearer(token) }), await connect(GET_SESSION, token, { at })];
      },
    };

    it("are those of the table", () => {
      expect(tableOf("status").map(([status]) => status)).toEqual(Object.keys(failing));
    });

    it.each(tableOf("status"))("%s: %s", async (status = "") => {
      const answers = (await failing[status]?.()) ?? [];
      expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => Number(status)));
      for (const { headers, text } of answers) {
        expect(headers["x-request-id"]).toBeTruthy();
        // Connect's answers to what is not Connect have no body.
        if (text !== "")
          expect(JSON.parse(text)).toMatchObject({ code: expect.anything(), message: expect.anything() });
      }
      expect(answers[0]?.text).toMatch(/"message":/);
    });

    it("have the same codes and texts over Connect and gRPC-Web", async () => {
      for (const protocol of ["connect", "grpc-web"] as const) {
        expect(await errorOf(protocol, KEYS.ada, server.httpUrl, "nobody")).toMatch(/\[not_found\] Session "nobody"/);
        expect(await errorOf(protocol, KEYS.bob)).toMatch(/\[not_found\] Session "s"/);
        expect(await errorOf(protocol, "wrong")).toMatch(/\[unauthenticated\] The key is not known/);
        const at = server.httpUrl.replace("127.0.0.1", UNSERVED);
        expect(await errorOf(protocol, KEYS.ada, at)).toMatch(/\[permission_denied\] The host/);
      }
    });
  });
});
