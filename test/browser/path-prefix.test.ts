import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { newTicketSecret } from "../../src/server/auth/ticket-secrets.js";
import { documentedProgram } from "../clients/documented.js";
import { builtPages } from "../support/console-pages.js";
import { type KeyedServer, startKeyedServer } from "../support/keyed-server.js";
import { findNginx, type Nginx, startNginx } from "../support/nginx.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser, openBrowser } from "./browser.js";
import { ConsolePage, callRest, textMessage } from "./console-page.js";

interface Programs {
  readonly nginx: string;
  readonly browser: string;
}

async function findPrograms(): Promise<Programs> {
  return { nginx: await findNginx(), browser: await findBrowser() };
}

await describeWith("behind a proxy that puts servers below paths of its own", findPrograms, (programs) => {
  let folder: string;
  let open: TestServer;
  let keyed: KeyedServer;
  let nginx: Nginx;
  let browser: BrowserContext;
  let page: Page;
  let problems: string[];
  let outside: string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "session-pool-prefix-"));
    const ticketSecretFile = join(folder, "ticket-secret");
    await writeFile(ticketSecretFile, newTicketSecret());
    open = await startTestServer({ ticketSecretFile }, undefined, await builtPages());
    keyed = await startKeyedServer("write", {}, await builtPages());
    const locations = Object.entries({ "/pool/": open, "/deep/er/": keyed }).map(([path, { httpUrl }]) => {
      const documented = documentedProgram("nginx", "location /pool/");
      return documented.replace("/pool/", path).replace("http://127.0.0.1:8080", httpUrl);
    });
    nginx = await startNginx(programs.nginx, locations.join("\n"));
    await callRest(open.httpUrl, "POST", "/session", { sessionId: "a b", title: "Behind a proxy" });
    await callRest(open.httpUrl, "POST", "/session/a%20b/message", textMessage("m0", "user", "The first words"));
    await callRest(keyed.httpUrl, "POST", "/session", { sessionId: "k", title: "Behind a key" }, keyed.key);
    browser = await openBrowser(programs.browser, DESKTOP);
    await browser.grantPermissions(["clipboard-read", "clipboard-write"], { origin: nginx.url });
  });

  afterAll(async () => {
    await browser.close();
    await nginx.stop();
    await open.stop();
    await keyed.stop();
    await rm(folder, { recursive: true });
  });

  beforeEach(async () => {
    page = await browser.newPage();
    [problems, outside] = [[], []];
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (line) => line.type() === "error" && problems.push(line.text()));
    page.on("request", (request) => {
      if (!/^(data:|http:\/\/127\.0\.0\.1:\d+\/(pool|deep\/er)\/)/.test(request.url())) outside.push(request.url());
    });
  });

  afterEach(async () => {
    await page.close();
    expect(outside).toEqual([]);
  });

  it("the console opens a session, follows it, and changes it", async () => {
    const tab = await ConsolePage.openTab(browser, `${nginx.url}/pool`);
    await tab.goTo("/");
    await tab.page.locator(".sidebar").getByText("Behind a proxy").first().click();
    await tab.isLive();
    await tab.message(0).getByText("The first words").waitFor();
    await callRest(`${nginx.url}/pool`, "POST", "/session/a%20b/message", textMessage("m1", "user", "And more"));
    await tab.message(1).getByText("And more").waitFor();
    await tab.picture("path-prefix");
    // A deep link names the message, below the path of the proxy.
    await tab.useTool(1, "Copy a link to this message");
    await tab.toast("The link is copied").waitFor();
    const link = await tab.page.evaluate("navigator.clipboard.readText()");
    expect(link).toBe(`${nginx.url}/pool/#/session/a%20b?m=m1`);
    await tab.page.goto("about:blank");
    await tab.page.goto(link as string);
    await tab.message(1).getByText("And more").waitFor();
    expect(tab.problems).toEqual([]);
    await tab.close();
  });

  it("a link to one session leads below the path of its server", async () => {
    const tab = await ConsolePage.openTab(browser, `${nginx.url}/pool`);
    await tab.openSession("a b");
    await tab.useMenu("Share");
    await tab.dialog.getByRole("button", { name: "Create a link" }).click();
    const link = await tab.dialog.getByRole("textbox", { name: "Link" }).inputValue();
    expect(link.startsWith(`${nginx.url}/pool/#/t/spt_`)).toBe(true);
    await tab.page.goto(link);
    await tab.message(0).getByText("The first words").waitFor();
    await tab.page.getByText("Read only, until").waitFor();
    expect(tab.problems).toEqual([]);
    await tab.close();
  });

  it("the console leads to the API reference, which leads back, and calls the server", async () => {
    await page.goto(`${nginx.url}/pool/`);
    await page.getByRole("link", { name: "API reference" }).first().click();
    await page.getByRole("heading", { name: "session-pool" }).waitFor();
    expect(page.url()).toMatch(/\/pool\/docs$/);
    const box = page.locator('[id$="-getSession"].opblock');
    await box.locator(".opblock-summary-control").click();
    await box.locator('[data-param-name="sessionId"] input').fill("a b");
    await expect
      .poll(() => box.locator(".curl-command code").textContent())
      .toContain(`${nginx.url}/pool/session/a%20b`);
    await box.getByRole("button", { name: "Execute" }).click();
    await box.locator(".live-responses-table .response-col_status").getByText("200").waitFor();
    expect(await box.locator(".live-responses-table").textContent()).toContain("Behind a proxy");
    await page.screenshot({ path: "node_modules/.cache/console/path-prefix-docs.png" });
    await page.getByRole("link", { name: "Console" }).click();
    await page.locator(".sidebar").getByText("Behind a proxy").first().waitFor();
    expect(new URL(page.url()).pathname).toBe("/pool/");
    expect(problems).toEqual([]);
  });

  it("each server has a key of its own", async () => {
    await page.goto(`${nginx.url}/deep/er/`);
    await page.locator("main").getByRole("button", { name: "Enter a key" }).click();
    await page.getByRole("dialog").getByLabel("API key").fill(keyed.key);
    await page.getByRole("button", { name: "Use it" }).click();
    await page.locator(".sidebar").getByText("Behind a key").first().waitFor();
    await page.goto(`${nginx.url}/deep/er/docs`);
    await page.locator('[id$="-getSession"].opblock .opblock-summary-control').click();
    await expect.poll(() => page.locator(".curl-command code").first().textContent()).toContain(keyed.key);
    const sent = page.waitForRequest((request) => new URL(request.url()).pathname.startsWith("/pool/session"));
    await page.goto(`${nginx.url}/pool/`);
    expect((await sent).headers().authorization).toBeUndefined();
    await page.locator(".sidebar").getByText("Behind a proxy").first().waitFor();
  });

  it("the OpenAPI document names the server by an address relative to its own", async () => {
    const address = `${nginx.url}/pool/openapi.json`;
    const { servers } = (await (await fetch(address)).json()) as { servers: { url: string }[] };
    expect(servers.map(({ url }) => new URL(url, address).href)).toEqual([`${nginx.url}/pool/`]);
  });
});
