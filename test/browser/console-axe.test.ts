import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonValue } from "@bufbuild/protobuf";
import axe from "axe-core";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newTicketSecret } from "../../src/server/auth/ticket-secrets.js";
import { builtPages } from "../support/console-pages.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { SAMPLES } from "../unit/parts/samples.js";
import { DESKTOP, findBrowser, openBrowser, PHONE } from "./browser.js";
import type { Answer } from "./console-page.js";

const MARKDOWN = `# Heading\n\nA **text** with \`code\`, [a link](https://example.com) and a table:\n
| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] done\n- [ ] open\n\n\`\`\`ts\nconst a: string = "b"; // why\n\`\`\`\n\n> quoted`;

const text = (role: string, content: string): JsonValue => ({
  info: { role },
  parts: [{ type: "text", text: content }],
});

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

await describeWith("the console, checked by axe", findBrowser, (browserPath) => {
  let folder: string;
  let server: TestServer;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "session-pool-axe-"));
    const ticketSecretFile = join(folder, "ticket-secret");
    await writeFile(ticketSecretFile, newTicketSecret());
    server = await startTestServer(
      { ticketSecretFile, search: true, undeleteMs: 86_400_000 },
      undefined,
      await builtPages(),
    );
    await post("/session", {
      sessionId: "all",
      title: "Every kind of part",
      owner: "ada",
      labels: { team: "ops" },
      metadata: { a: 1 },
    });
    await post("/session/all/message", text("user", "Show me everything"));
    await post("/session/all/message", text("assistant", MARKDOWN));
    for (const { part } of SAMPLES) {
      const { type, text: content, data } = part;
      const parts = [
        { type, ...(content && { text: content }), ...(data && { data: data as JsonValue }) },
      ] as JsonValue;
      await post("/session/all/message", { info: { role: "assistant" }, parts });
    }
    await post("/session/all/message", { info: { role: "assistant", metadata: { interrupted: true } }, parts: [] });
    await post("/session/all/fork", { newSessionId: "fork", title: "A fork" });
    await post("/session/fork/message", text("user", "Go on"));
    const usage = {
      model: "large",
      inputTokens: "1200",
      outputTokens: "80",
      cost: "0.0125",
      currency: "USD",
      duration: "3s",
    };
    await post("/session/fork/message", {
      info: { id: "used", role: "assistant", usage },
      parts: [{ type: "text", text: "Done" }],
    });
    await post("/session", { sessionId: "binned", title: "Deleted by mistake" });
    await fetch(`${server.httpUrl}/session/binned`, { method: "DELETE" });
    await post("/session/fork/annotation", { messageId: "used", thumb: "down", text: "Too slow", author: "ada" });
  });

  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  async function post(path: string, body: JsonValue): Promise<Answer> {
    const headers = { "content-type": "application/json" };
    const response = await fetch(server.httpUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
    expect(response.status).toBe(200);
    return response.json();
  }

  describe.each([
    ["a desktop", DESKTOP],
    ["a phone", PHONE],
  ])("on %s, light and dark", (_, screen) => {
    let browser: BrowserContext;
    let page: Page;

    beforeAll(async () => {
      browser = await openBrowser(browserPath, screen);
      page = await browser.newPage();
      await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
      await page.addInitScript({ content: axe.source });
    });

    afterAll(() => browser.close());

    async function open(address: string): Promise<void> {
      await page.goto("about:blank");
      await page.goto(`${server.httpUrl}/${address}`);
    }

    interface Checked {
      /**
       * The part of the page that has changed since the whole page was checked. When absent, the whole page is checked.
       */
      readonly within?: string;
      readonly without?: readonly string[];
      /** Resolves when the page has changed its colours. */
      readonly recoloured?: (isDark: boolean) => Promise<unknown>;
    }

    /**
     * Checks all rules in light colours, and in dark colours those that depend on colours, because nothing else
     * differs.
     */
    async function expectNoViolation({ within = "html", without = [], recoloured }: Checked = {}): Promise<void> {
      const rules = Object.fromEntries(without.map((rule) => [rule, { enabled: false }]));
      expect(await violationsOf(within, { rules })).toEqual([]);
      await page.emulateMedia({ colorScheme: "dark" });
      await recoloured?.(true);
      expect(await violationsOf(within, { runOnly: ["color-contrast", "link-in-text-block"] })).toEqual([]);
      await page.emulateMedia({ colorScheme: "light" });
      await recoloured?.(false);
    }

    async function violationsOf(within: string, options: object): Promise<readonly string[]> {
      const run = `axe.run(${JSON.stringify(within)}, ${JSON.stringify({ ...options, resultTypes: ["violations"] })})`;
      const { violations } = (await page.evaluate(run)) as { violations: readonly Violation[] };
      return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
    }

    it("the list of sessions", async () => {
      await open("#/");
      await page
        .getByRole("navigation", { name: "Sessions" })
        .getByRole("link", { name: "Every kind of part" })
        .first()
        .waitFor();
      await expectNoViolation();
    });

    it("every kind of part", async () => {
      await open("#/session/all?at=0");
      await page.getByText("Live updates", { exact: true }).waitFor();
      for (let at = 0; at < SAMPLES.length; at += 12) {
        await page.evaluate(`location.hash = "#/session/all?at=${at}"`);
        await page.locator(`article[data-position="${at}"]`).waitFor();
        await page.keyboard.press("j");
        await expectNoViolation(at === 0 ? {} : { within: ".messages" });
        await page.keyboard.press("e");
        await expectNoViolation({ within: ".messages" });
      }
    });

    it("every panel", async () => {
      await open("#/session/fork");
      for (const name of ["Outline", "Search in this session", "Timeline", "Forks", "Details"]) {
        const button = page.locator(".session-tools").getByRole("button", { name, exact: true });
        if ((await button.getAttribute("aria-pressed")) !== "true") await button.click();
        await page.getByRole("complementary").waitFor();
        await expectNoViolation(name === "Outline" ? {} : { within: "aside" });
      }
    });

    it("every dialog", async () => {
      await open("#/session/fork");
      await page.getByText("Live updates", { exact: true }).waitFor();
      for (const key of ["?", "t", "f"]) {
        await page.keyboard.press(key);
        await page.getByRole("dialog").waitFor();
        await expectNoViolation(key === "?" ? {} : { within: "dialog" });
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
      }
      for (const name of ["Rename", "Labels", "Fork", "Share", "Export", "Delete"]) {
        await page.getByRole("button", { name: "Actions" }).click();
        await page.getByRole("menuitem", { name, exact: true }).click();
        await page.getByRole("dialog").waitFor();
        await expectNoViolation({ within: "dialog" });
        await page.keyboard.press("Escape");
      }
      await page.getByRole("button", { name: "Actions" }).click();
      await expectNoViolation();
      await page.keyboard.press("Escape");
      const last = page.locator("article.message").last();
      for (const name of ["Edit this message", "Add a note", "Erase this message everywhere"]) {
        await last.locator(".message-body").click({ position: { x: 8, y: 12 } });
        await last.locator(".message-tools").waitFor();
        const more = last.getByRole("button", { name: "More", exact: true, expanded: false });
        if (await more.isVisible()) {
          await more.click();
          await last.getByRole("button", { name: "Raw view" }).waitFor();
          await expectNoViolation({ within: ".messages" });
        }
        await last.getByRole("button", { name }).click();
        await page.getByRole("dialog").getByRole("textbox").first().waitFor();
        await expectNoViolation({ within: "dialog" });
        await page.keyboard.press("Escape");
      }
    });

    it("the reason of a thumb that was just given", async () => {
      await open("#/session/all");
      await page.getByText("Live updates", { exact: true }).waitFor();
      const last = page.locator("article.message").last();
      await last.locator(".message-body").click({ position: { x: 8, y: 12 } });
      await last.getByRole("button", { name: "Bad", exact: true }).click();
      await page.getByLabel("Why is this bad?").waitFor();
      await expectNoViolation({ within: ".messages" });
      await last.getByRole("button", { name: "Bad", exact: true }).click();
      await page.getByLabel("Why is this bad?").waitFor({ state: "detached" });
    });

    it("the dialog with a link that was made", async () => {
      await open("#/session/fork");
      await page.getByRole("button", { name: "Actions" }).click();
      await page.getByRole("menuitem", { name: "Share", exact: true }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Create a link" }).click();
      await page.getByRole("dialog").getByRole("textbox", { name: "Link" }).waitFor();
      await expectNoViolation({ within: "dialog" });
    });

    it.each(["read", "write"])("a session that a link opens, with the scope %s", async (scope) => {
      const linked = `linked-${scope}-${screen.width}`;
      await post("/session/fork/fork", { newSessionId: linked, title: "Opened by a link" });
      const { ticket } = await post(`/session/${linked}/ticket`, { scope });
      await post(`/session/${linked}/draft`, { message: text("assistant", "I am still writing") });
      await open(`#/t/${ticket}`);
      await page.getByText("Live updates", { exact: true }).waitFor();
      await page.locator(".draft").waitFor();
      await expectNoViolation();
      if (scope === "read") return;
      await page.getByLabel("Message", { exact: true }).fill("Not sent");
      await page.route(/\/message$/, (route) => route.abort());
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByRole("alert").waitFor();
      await expectNoViolation({ within: ".composer" });
      await page.unroute(/\/message$/);
      await post(`/session/${linked}/ticket:revoke`, {});
      await page.getByLabel("What you had written was not sent").waitFor();
      await expectNoViolation();
    });

    it("every kind of button while the mouse is over it", async () => {
      const hover = async (within: string, name: string) => {
        const button = page.locator(`${within} .button`, { hasText: name });
        await button.hover();
        expect(await button.evaluate((element) => element.matches(".button:hover"))).toBe(true);
        await expectNoViolation({ within });
      };
      await open("#/session/nobody");
      for (const name of ["Try again", "All sessions"]) await hover(".problem", name);
      await open("#/session/fork");
      for (const name of ["Fork", "Delete"]) {
        await page.getByRole("button", { name: "Actions" }).click();
        await page.getByRole("menuitem", { name, exact: true }).click();
        for (const shown of ["Cancel", name]) await hover("dialog", shown);
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
      }
    });

    it("usage with its plots and tables, and the choice of a data set", async () => {
      await open("#/usage");
      await page.getByRole("img", { name: "Cost by day, in USD" }).waitFor();
      await page.getByRole("region", { name: "By session", exact: true }).getByRole("link").first().waitFor();
      await expectNoViolation();
      await open("#/session/fork");
      await page.locator(".notes").getByText("Too slow").waitFor();
      await page.getByRole("button", { name: "Actions" }).click();
      await page.getByRole("menuitem", { name: "Export" }).click();
      await page.getByRole("button", { name: "Data set…" }).click();
      await page.getByText("Which messages").waitFor();
      await expectNoViolation({ within: "dialog" });
    });

    it("the table with sessions that are chosen, and what it asks", async () => {
      await open("#/sessions?order=cost");
      // On a phone the head of the table, with the box for all, is not shown.
      await page.getByLabel("Choose all that are shown").dispatchEvent("click");
      await page.getByText(/sessions chosen/).waitFor();
      await expectNoViolation();
      for (const name of ["Label", "Export", "Data set", "Delete"]) {
        await page.getByRole("button", { name, exact: true }).click();
        await page.getByRole("dialog").waitFor();
        await expectNoViolation({ within: "dialog" });
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
      }
    });

    it("the search in all sessions with its filters", async () => {
      await open("#/search?q=everything");
      await page.locator(".hit").first().waitFor();
      await expectNoViolation();
    });

    it("the bin with a session, and the files of a session", async () => {
      await open("#/bin");
      await page.getByRole("button", { name: "Bring back Deleted by mistake" }).waitFor();
      await expectNoViolation();
      await open("#/session/fork");
      await page.locator(".session-tools").getByRole("button", { name: "Files", exact: true }).click();
      await page.getByRole("complementary", { name: "Files" }).waitFor();
      await expectNoViolation({ within: "aside" });
    });

    it("what is said while a page is read, when there is nothing, and when it fails", async () => {
      await open("#/sessions?title=nothing-has-this-title");
      await page.getByText("No session matches.").waitFor();
      await expectNoViolation({ within: "main" });
      await page.route(/\/usage\?/, () => undefined);
      await open("#/usage");
      await page.getByText("Adding up…").waitFor();
      await expectNoViolation({ within: "main" });
      await page.unroute(/\/usage\?/);
      await page.route(/\/usage\?/, (route) => route.fulfill({ status: 400, json: { code: 3, message: "Refused" } }));
      await open("#/usage");
      await page.getByRole("alert").getByText("Refused").waitFor();
      await expectNoViolation({ within: "main" });
      await page.unroute(/\/usage\?/);
    });

    it.each([
      "#/search",
      "#/search?role=user",
      "#/todos",
      "#/session/nobody",
      "#/t/cut",
      "#/sessions",
      "#/bin",
      "#/compare?s=all&s=fork",
    ])("the address %s", async (address) => {
      await open(address);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await expectNoViolation();
    });

    it("the API reference, except for names and nesting that Swagger UI makes", async () => {
      const without = ["heading-order", "nested-interactive", "label", "select-name", "region"];
      const recoloured = async (isDark: boolean) => {
        await page.locator(isDark ? "html.dark-mode" : "html:not(.dark-mode)").waitFor();
        await page.evaluate("Promise.allSettled(document.getAnimations().map(({ finished }) => finished))");
      };
      await open("docs");
      await page.locator('[id$="-appendMessage"] .opblock-summary-control').click();
      await page.locator(".curl-command").waitFor();
      await expectNoViolation({ without, recoloured });
    });
  });
});
