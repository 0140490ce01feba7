import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { builtPages } from "../support/console-pages.js";
import { type KeyedServer, startKeyedServer } from "../support/keyed-server.js";
import { describeWith, needPrograms, ROOT, run } from "../support/toolchain.js";
import { DESKTOP, findBrowser, openBrowser, PHONE } from "./browser.js";

/** The folder for screenshots of the last run, which people can look at. */
const PICTURES = join(ROOT, "node_modules/.cache/console");

async function findPrograms(): Promise<string> {
  needPrograms("sh", "curl");
  return findBrowser();
}

await describeWith("the API reference at /docs", findPrograms, (browserPath) => {
  let server: KeyedServer;

  beforeAll(async () => {
    await mkdir(PICTURES, { recursive: true });
    server = await startKeyedServer("write", {}, await builtPages());
  });

  afterAll(() => server.stop());

  /** Opens the page with a key stored where the console stores it. */
  async function openWithKey(page: Page): Promise<void> {
    await page.goto(`${server.httpUrl}/docs`);
    await page.evaluate(`sessionStorage.setItem("session-pool-key", ${JSON.stringify(server.key)})`);
    await page.reload();
    await page.getByRole("heading", { name: "session-pool" }).waitFor();
  }

  describe.each([
    ["phone", PHONE],
    ["desktop", DESKTOP],
  ])("on a %s", (name, screen) => {
    let browser: BrowserContext;
    let page: Page;
    let problems: string[];
    let foreign: string[];

    beforeAll(async () => {
      browser = await openBrowser(browserPath, screen);
      await browser.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.httpUrl });
    });

    afterAll(() => browser.close());

    beforeEach(async () => {
      [problems, foreign] = [[], []];
      page = await browser.newPage();
      page.on("pageerror", (error) => problems.push(String(error)));
      page.on("console", (line) => line.type() === "error" && problems.push(line.text()));
      page.on("request", (request) => {
        if (!request.url().startsWith(`${server.httpUrl}/`) && !request.url().startsWith("data:"))
          foreign.push(request.url());
      });
      await page.goto(`${server.httpUrl}/docs`);
      await page.getByRole("heading", { name: "session-pool" }).waitFor();
    });

    afterEach(async () => {
      await page.close();
      // The page must log no errors and load nothing from other hosts.
      expect({ problems, foreign }).toEqual({ problems: [], foreign: [] });
    });

    /** Opens an operation, and resolves to the box that shows it. */
    async function open(operation: string): Promise<Locator> {
      const box = page.locator(`[id$="-${operation}"].opblock`);
      await box.locator(".opblock-summary-control").click();
      await box.locator(".curl-command").waitFor();
      return box;
    }

    /** Copies the curl line of an operation until it names this path, and resolves to it. */
    async function curlLine(box: Locator, path: string): Promise<string> {
      let line = "";
      const copied = async () => {
        await box.getByRole("button", { name: "Copy cURL command to clipboard" }).click();
        line = await page.evaluate("navigator.clipboard.readText()");
        return line;
      };
      await expect.poll(copied).toContain(path);
      return line;
    }

    it("finds operations by the words of their descriptions", async () => {
      const shown = page.locator(".opblock");
      await shown.first().waitFor();
      const all = await shown.count();
      await page.getByPlaceholder("Filter by tag or path").fill("POST draft deltas");
      await page.locator('[id$="-extendDraft"].opblock').waitFor();
      await page.locator('[id$="-createSession"].opblock').waitFor({ state: "detached" });
      expect(await shown.count()).toBeLessThan(5);
      await page.getByPlaceholder("Filter by tag or path").fill("");
      await page.locator('[id$="-createSession"].opblock').waitFor();
      expect(await shown.count()).toBe(all);
    });

    it("sends a request with a key", async () => {
      const sessionId = `made-on-a-${name}`;
      await page.getByRole("button", { name: "Authorize" }).click();
      const dialog = page.locator(".modal-ux");
      await dialog.locator("input").fill(server.key);
      await dialog.getByRole("button", { name: "Apply credentials" }).click();
      await dialog.getByRole("button", { name: "Close", exact: true }).click();
      const box = await open("createSession");
      await box.locator("textarea").fill(JSON.stringify({ sessionId, title: "Kyoto in May" }));
      await box.getByRole("button", { name: "Execute" }).click();
      const answer = box.locator(".live-responses-table .response");
      await answer.waitFor();
      expect(await answer.getAttribute("data-code")).toBeNull();
      expect(await answer.locator(".response-col_status").textContent()).toContain("200");
      expect(await answer.textContent()).toContain(sessionId);
      await page.screenshot({ path: join(PICTURES, `docs-${name}.png`) });
    });

    it("has a curl line that does what the form says, with the key", async () => {
      const sessionId = `appended-to-on-a-${name}`;
      const headers = { "content-type": "application/json", authorization: `Bearer ${server.key}` };
      const made = await fetch(`${server.httpUrl}/session`, {
        method: "POST",
        headers,
        body: JSON.stringify({ sessionId }),
      });
      expect(made.status).toBe(200);
      await openWithKey(page);
      const box = await open("appendMessage");
      await box.locator('[data-param-name="sessionId"] input').fill(sessionId);
      const line = await curlLine(box, `/session/${sessionId}/message`);
      expect(JSON.parse(await run("sh", ["-c", line.replace("curl ", "curl --silent --show-error ")]))).toEqual({
        messageId: "m1",
        position: "0",
      });
    });

    it("describes parameters that the document only refers to", async () => {
      const box = await open("getSession");
      expect(await box.locator('[data-param-name="Grpc-Timeout"]').textContent()).toContain(
        "How long the client waits",
      );
    });

    it("sends no request for a stream, which has no end", async () => {
      const box = await open("watchMessages");
      await curlLine(box, "/session/trip/message:watch");
      expect(await box.getByRole("button", { name: "Execute" }).count()).toBe(0);
    });

    it("stays inside the screen", async () => {
      await open("appendMessage");
      const width = await page.evaluate("document.documentElement.scrollWidth");
      expect(width).toBeLessThanOrEqual(screen.width);
    });
  });

  it("takes the key of the console, and has a curl line for one operation in five", async () => {
    const browser = await openBrowser(browserPath, DESKTOP);
    const page = await browser.newPage();
    await openWithKey(page);
    const boxes = page.locator(".opblock");
    await boxes.first().waitFor();
    // Each takes most of a second. All lines are made in the same way.
    for (const box of (await boxes.all()).filter((_box, i) => i % 5 === 0)) {
      await box.locator(".opblock-summary-control").click();
      await expect.poll(() => box.locator(".curl-command code").textContent()).toContain(server.key);
      await box.locator(".opblock-summary-control").click();
    }
    await browser.close();
  });
});
