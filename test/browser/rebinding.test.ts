import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser, openBrowser } from "./browser.js";

const EVIL = "evil.example";

await describeWith("a page whose host name resolves to this machine", findBrowser, (browserPath) => {
  let site: Server;
  let server: TestServer;
  let browser: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    site = createServer((_request, response) => response.setHeader("content-type", "text/html").end("<p>evil</p>"));
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    server = await startTestServer();
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: '{"sessionId":"s"}' };
    expect((await fetch(`${server.httpUrl}/session`, init)).status).toBe(200);
    browser = await openBrowser(browserPath, DESKTOP, [`--host-resolver-rules=MAP ${EVIL} 127.0.0.1`]);
    page = await browser.newPage();
  });

  afterAll(async () => {
    await browser.close();
    await server.stop();
    site.close();
  });

  it("can read and delete nothing, although the browser takes page and server for one origin", async () => {
    const answer = await page.goto(`http://${EVIL}:${server.httpPort}/healthz`);
    expect(answer?.status()).toBe(421);
    const statuses = await page.evaluate(async () => {
      const list = await fetch("/session");
      const deleted = await fetch("/session/s", { method: "DELETE" });
      return [list.status, await list.text(), deleted.status];
    });
    expect(statuses).toEqual([421, expect.stringContaining("is not served"), 421]);
    await expectUnchanged();
  });

  it("can change nothing with a request that it may send but whose answer it may not read", async () => {
    await page.goto(`http://${EVIL}:${(site.address() as AddressInfo).port}/`);
    for (const host of [EVIL, "127.0.0.1"]) {
      const url = `http://${host}:${server.httpPort}/session/s/share`;
      const type = await page.evaluate(async (target) => {
        return (await fetch(target, { method: "POST", mode: "no-cors" })).type;
      }, url);
      expect(type).toBe("opaque");
    }
    await expectUnchanged();
  });

  async function expectUnchanged(): Promise<void> {
    const { sessions } = (await (await fetch(`${server.httpUrl}/session`)).json()) as { sessions: unknown[] };
    expect(sessions).toMatchObject([{ sessionId: "s", revision: "1" }]);
  }
});
