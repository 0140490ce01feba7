import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { JsonValue } from "@bufbuild/protobuf";
import axe from "axe-core";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { builtPages } from "../support/console-pages.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith, ROOT } from "../support/toolchain.js";
import { DESKTOP, findBrowser, openBrowser, PHONE } from "./browser.js";

/** The folder for screenshots of the last run, which people can look at. */
const PICTURES = join(ROOT, "node_modules/.cache/console");
const HOSTILE = '<img src="x" onerror="document.title=1"> maples <b>bold</b>';

await describeWith("the console's search in all sessions", findBrowser, (browserPath) => {
  let server: TestServer;
  let without: TestServer;

  beforeAll(async () => {
    await mkdir(PICTURES, { recursive: true });
    const pages = await builtPages();
    server = await startTestServer({ search: true }, undefined, pages);
    without = await startTestServer({}, undefined, pages);
    await post("/session", { sessionId: "kyoto", title: "Kyoto in May" });
    await post("/session", { sessionId: "hostile" });
    await say("kyoto", "m0", "When do the azaleas bloom?");
    await say("kyoto", "m1", `${"A long answer first. ".repeat(20)}\u{1F341} And the maples turn red in November.`);
    await say("hostile", "m2", HOSTILE);
    for (let i = 0; i < 40; i++) await say("kyoto", `x${i}`, `filler number ${i}`);
    // Appends of the same second leave the update time, by which sessions are listed.
    await send("PATCH", "/session/kyoto", { labels: { place: "kyoto" } });
  });

  afterAll(async () => {
    await server.stop();
    await without.stop();
  });

  async function send(method: "POST" | "PATCH", path: string, body: JsonValue): Promise<void> {
    const headers = { "content-type": "application/json" };
    const response = await fetch(server.httpUrl + path, { method, headers, body: JSON.stringify(body) });
    expect(response.status).toBe(200);
  }

  const post = (path: string, body: JsonValue) => send("POST", path, body);

  async function say(sessionId: string, id: string, text: string): Promise<void> {
    await post(`/session/${sessionId}/message`, { info: { id, role: "user" }, parts: [{ type: "text", text }] });
  }

  describe.each([
    ["a phone", PHONE, "light"],
    ["a desktop", DESKTOP, "dark"],
  ] as const)("on %s", (name, screen, colorScheme) => {
    let browser: BrowserContext;
    let page: Page;
    const problems: string[] = [];

    beforeAll(async () => {
      browser = await openBrowser(browserPath, screen);
      page = await browser.newPage();
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.addInitScript({ content: axe.source });
      page.on("pageerror", (error) => problems.push(String(error)));
      page.on(
        "console",
        (line) => line.type() === "error" && !/status of 400/.test(line.text()) && problems.push(line.text()),
      );
    });

    afterAll(async () => {
      await browser.close();
      expect(problems).toEqual([]);
    });

    const field = () => page.getByRole("searchbox", { name: "Search the messages of all sessions" });
    const hits = () => page.locator(".hit");
    const open = async (address: string, of = server) => {
      await page.goto("about:blank");
      await page.goto(`${of.httpUrl}/${address}`);
    };

    it("finds messages, marks the words, and goes to one by its permalink", async () => {
      await open("#/");
      await page.getByRole("link", { name: "Search all sessions" }).click();
      await field().fill("MAPLES");
      await page.getByText("2 messages, the newest first").waitFor();
      expect(await hits().locator("mark").allTextContents()).toEqual(["maples", "maples"]);
      expect(await hits().first().textContent()).toContain(HOSTILE.slice(HOSTILE.indexOf("onerror")));
      expect(await page.locator(".hit img, .hit b").count()).toBe(0);
      expect(page.url()).toMatch(/#\/search\?q=MAPLES$/);
      expect(await page.title()).toBe("Search · session-pool");
      expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
      await page.screenshot({ path: join(PICTURES, `${name.slice(2)}-search-all.png`) });
      await hits().filter({ hasText: "Kyoto in May" }).click();
      await page.locator('article[data-id="m1"][aria-current="true"]').waitFor();
      expect(page.url()).toMatch(/#\/session\/kyoto\?(m=m1|at=1)$/);
      await page.goBack();
      await page.getByText("2 messages, the newest first").waitFor();
      expect(await field().inputValue()).toBe("MAPLES");
    });

    it("can be used by keyboard", async () => {
      await open("#/");
      await page.getByRole("link", { name: "Search all sessions" }).waitFor();
      await page.keyboard.press("s");
      await field().waitFor();
      await page.keyboard.type('"long answer" azal* ');
      await page.getByText("No message has all of these words").waitFor();
      await field().fill("azal*");
      await page.getByText("1 message, the newest first").waitFor();
      await page.keyboard.press("Escape");
      await page.keyboard.press("j");
      await page.keyboard.press("Enter");
      await page.locator('article[data-id="m0"][aria-current="true"]').waitFor();
      await page.keyboard.press("?");
      await page.getByText("Search the messages of all sessions").waitFor();
    });

    it("keeps what was typed before the browser drew the page", async () => {
      await open("#/todos");
      await page.getByRole("heading", { name: "Todos" }).waitFor();
      await page.evaluate(`new Promise((resolve) => {
        addEventListener("hashchange", async () => {
          await Promise.resolve().then().then();
          const field = document.getElementById("message-search");
          field.value = "azal*";
          field.dispatchEvent(new Event("input", { bubbles: true }));
          resolve();
        }, { once: true });
        location.hash = "#/search";
      })`);
      await page.getByText("1 message, the newest first").waitFor();
      expect(await field().inputValue()).toBe("azal*");
      await page.evaluate('location.hash = "#/search?q=maples"');
      await page.getByText("2 messages, the newest first").waitFor();
      expect(await field().inputValue()).toBe("maples");
    });

    it("says what is not searched, whether it finds something or nothing", async () => {
      await open("#/search?q=maples");
      await page.getByText("2 messages, the newest first. Only what was said is searched").waitFor();
      await open("#/search?q=nowhere");
      await page.getByText("No message has all of these words. Only what was said is searched").waitFor();
    });

    it("loads further hits, and says when the service refuses a query", async () => {
      await open("#/search?q=filler");
      await page.getByText("30 messages, the newest first; there may be more").waitFor();
      await page.getByRole("button", { name: "Look further" }).click();
      await page.getByText("40 messages, the newest first").waitFor();
      expect(await hits().count()).toBe(40);
      await field().fill("a*");
      await page.getByText("at least 3 are required").waitFor();
    });

    it("has no violation that axe finds", async () => {
      for (const address of ["#/search", "#/search?q=maples"]) {
        await open(address);
        await page
          .getByRole("status")
          .filter({ hasText: /Only what was said|2 messages/ })
          .waitFor();
        const { violations } = (await page.evaluate("axe.run()")) as {
          violations: readonly { id: string; nodes: unknown }[];
        };
        expect(violations.map(({ id, nodes }) => `${id}: ${JSON.stringify(nodes)}`)).toEqual([]);
      }
    });

    it("lists messages by conditions alone, and each time they change", async () => {
      await open("#/search");
      await page.getByRole("combobox", { name: "Which messages" }).selectOption("user");
      await page.getByText("42 messages in one session, the newest first; there may be more").waitFor();
      await page.getByRole("button", { name: "Look further" }).click();
      await page.getByText("43 messages in 2 sessions, those that changed last first").waitFor();
      expect(page.url()).toMatch(/#\/search\?role=user$/);
      await page.getByRole("combobox", { name: "Which messages" }).selectOption("assistant");
      await page.getByText("No message matches.").waitFor();
      await page.locator(".filter-chips").getByRole("button", { name: "Last hour" }).click();
      await page.getByRole("combobox", { name: "Which messages" }).selectOption("user");
      await field().fill("MAPLES");
      await page.getByText("2 messages, the newest first").waitFor();
      await field().fill("");
      await page.getByText("42 messages in one session").waitFor();
    });

    it("offers words only where the service searches, and lists messages everywhere", async () => {
      await open("#/", without);
      await page.getByRole("link", { name: "Messages of all sessions" }).waitFor();
      expect(await page.getByRole("link", { name: "Search all sessions" }).count()).toBe(0);
      await page.keyboard.press("s");
      await page.getByRole("heading", { name: "Messages of all sessions" }).waitFor();
      await page.getByText("Choose whose sessions, which messages or a time").waitFor();
      expect(await field().count()).toBe(0);
      await page.locator(".filter-chips").getByRole("button", { name: "Today" }).click();
      await page.getByText("No message matches.").waitFor();
    });
  });
});
