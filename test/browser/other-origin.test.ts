import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { poll } from "../support/poll.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser, openBrowser } from "./browser.js";
import type { PageClient } from "./other-origin-page.js";
import { serveScript } from "./other-origin-site.js";

await describeWith("a page of another origin", findBrowser, (browserPath) => {
  let site: Server;
  let server: TestServer;
  let browser: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    site = await serveScript();
    const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    server = await startTestServer({ corsOrigins: [origin] });
    browser = await openBrowser(browserPath, DESKTOP);
    page = await browser.newPage();
    await page.goto(origin);
  });

  afterAll(async () => {
    await browser.close();
    await server.stop();
    site.close();
  });

  describe.each(["connect", "grpc-web"] as const)("over %s", (protocol) => {
    const sessionId = `page-${protocol}`;
    const client = () =>
      page.evaluateHandle(([url, by]) => globalThis.connectTo(url, by), [server.httpUrl, protocol] as const);
    const call = async <T>(run: (client: PageClient, id: string) => T, id = sessionId) =>
      (await client()).evaluate(run, id);

    it("makes a session and reads todos", async () => {
      expect(await call((one, id) => one.create(id))).toBe(sessionId);
      expect(await call((one) => one.todoCount())).toBe(0);
    });

    it("sees the code and message of an error", async () => {
      expect(await call((one, id) => one.errorOf(id), "nobody")).toBe(
        'ConnectError: [not_found] Session "nobody" not found',
      );
    });

    it("follows the session live", async () => {
      const handle = await client();
      await handle.evaluate((one, id) => one.append(id, "first"), sessionId);
      const texts = await handle.evaluateHandle((one, id) => one.follow(id), sessionId);
      await poll(async () => (await texts.jsonValue()).length === 1, "the first message has arrived");
      await appendByRest(sessionId, "京都 live");
      await poll(async () => (await texts.jsonValue()).length === 2, "the message of another client has arrived");
      expect(await texts.jsonValue()).toEqual(["first", "京都 live"]);
    });
  });

  it("is refused when its origin is not allowed", async () => {
    const other = await startTestServer({ corsOrigins: ["https://example.com"] });
    const failure = page.evaluate(([url]) => globalThis.connectTo(url, "connect").todoCount(), [
      other.httpUrl,
    ] as const);
    await expect(failure).rejects.toThrow(/Failed to fetch/);
    await other.stop();
  });

  async function appendByRest(id: string, text: string): Promise<void> {
    const response = await fetch(`${server.httpUrl}/session/${id}/message`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ info: { role: "user" }, parts: [{ type: "text", text }] }),
    });
    expect(response.status).toBe(200);
  }
});
