import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { DESKTOP, findBrowser, openBrowser } from "../browser/browser.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith, needPrograms, ROOT } from "../support/toolchain.js";

const PROGRAM = join(ROOT, "examples/streaming/stream.py");
/** Seconds between two words. A whole answer takes longer than the test needs to stop it. */
const SLOW = "0.2";

await describeWith(
  "the streaming example",
  async () => {
    needPrograms("python3");
    return await findBrowser();
  },
  (browserPath) => {
    let server: TestServer;
    let program: ChildProcess;
    let browser: BrowserContext;
    let page: Page;
    let lines: AsyncIterator<string>;

    beforeAll(async () => {
      // Allows any origin, because the example's page has a port that is not known before the server starts.
      server = await startTestServer({ corsOrigins: ["*"] });
      program = spawn("python3", [PROGRAM, server.httpUrl, "0", SLOW], { stdio: ["ignore", "pipe", "inherit"] });
      lines = createInterface({ input: program.stdout as NonNullable<ChildProcess["stdout"]> })[Symbol.asyncIterator]();
      browser = await openBrowser(browserPath, DESKTOP);
      page = await browser.newPage();
    });

    afterAll(async () => {
      await browser?.close();
      program?.kill();
      await server?.stop();
    });

    it("shows an answer while it grows, can be reloaded in the middle of it, and can stop it", async () => {
      const { value: greeting } = await lines.next();
      await page.goto(/http:\S+/.exec(greeting as string)?.[0] ?? "");
      await page.getByRole("button", { name: "Ask" }).click();
      await page.locator(".draft", { hasText: "A piece table keeps" }).waitFor();
      await page.reload();
      await page.locator(".draft", { hasText: "A piece table keeps the text that was" }).waitFor();
      expect(await page.locator("p").count()).toBe(2);
      await page.getByRole("button", { name: "Stop" }).click();
      await page.locator("p.assistant", { hasText: "A piece table keeps the text that was" }).waitFor();
      expect(await page.locator(".draft").count()).toBe(0);
      expect((await lines.next()).value).toMatch(/^Draft ".+" is finished$/);
    });
  },
);
