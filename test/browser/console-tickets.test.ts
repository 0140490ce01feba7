import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContext, Request } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { hashRandomKey, newKey } from "../../src/server/auth/key-hash.js";
import { newTicketSecret } from "../../src/server/auth/ticket-secrets.js";
import { builtPages } from "../support/console-pages.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser, openBrowser, PHONE } from "./browser.js";
import { ConsolePage, callRest, textMessage } from "./console-page.js";

const KEYS = { read: newKey(), write: newKey() };
const HOUR_MS = 3_600_000;

const pathOf = (sessionId: string) => `/session/${encodeURIComponent(sessionId)}`;

await describeWith("links to one session", findBrowser, (browserPath) => {
  let folder: string;
  let server: TestServer;
  let browser: BrowserContext;
  let tabs: ConsolePage[] = [];
  const call = (method: string, path: string, body?: unknown) =>
    callRest(server.httpUrl, method, path, body, KEYS.write);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "session-pool-links-"));
    const [keysFile, ticketSecretFile] = [join(folder, "keys.json"), join(folder, "ticket-secret")];
    const keys = Object.entries(KEYS).map(([scope, key]) => ({
      name: scope,
      hash: hashRandomKey(key),
      namespace: "n",
      scope,
    }));
    await writeFile(keysFile, JSON.stringify(keys));
    await writeFile(ticketSecretFile, newTicketSecret());
    server = await startTestServer({ keysFile, ticketSecretFile, search: true }, undefined, await builtPages());
  });

  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  async function makeSession(id: string): Promise<void> {
    await call("POST", "/session", { sessionId: id, title: `Title of ${id}`, owner: "ada", labels: { team: "ops" } });
    await call("POST", `${pathOf(id)}/message`, textMessage("m0", "user", `Hello ${id}`));
  }

  async function makeLink(id: string, scope: string, validMs = HOUR_MS): Promise<string> {
    const expireTime = new Date(Date.now() + validMs).toISOString();
    return `/t/${(await call("POST", `${pathOf(id)}/ticket`, { scope, expireTime })).ticket}`;
  }

  /** Opens a tab, which does not know the key that was entered in another one. */
  async function openTab(): Promise<ConsolePage> {
    const tab = await ConsolePage.openTab(browser, server.httpUrl);
    tabs.push(tab);
    return tab;
  }

  async function openLink(link: string): Promise<ConsolePage> {
    const tab = await openTab();
    await tab.goTo(link);
    await tab.isLive();
    return tab;
  }

  async function openWithKey(key: string, sessionId: string): Promise<ConsolePage> {
    const tab = await openTab();
    await tab.goTo("/");
    await tab.page.locator("main").getByRole("button", { name: "Enter a key" }).click();
    await tab.dialog.getByLabel("API key").fill(key);
    await tab.confirm("Use it");
    await tab.openSession(sessionId);
    return tab;
  }

  describe.each([
    ["phone", PHONE],
    ["desktop", DESKTOP],
  ])("on a %s", (screenName, screen) => {
    const picture = (name: string, tab = tabs[0]) => tab?.picture(`${screenName}-link-${name}`);
    const id = (name: string) => `${name} ${screenName} ö/?#`;
    const path = (name: string) => pathOf(id(name));

    beforeAll(async () => {
      browser = await openBrowser(browserPath, screen);
      await browser.grantPermissions(["clipboard-read", "clipboard-write"]);
    });

    afterAll(() => browser.close());

    afterEach(async () => {
      const problems = tabs.flatMap((tab) => tab.problems);
      for (const tab of tabs) await tab.close();
      tabs = [];
      // The browser itself logs each error response and each stream that the server ends.
      expect(problems.filter((line) => !/Failed to load resource|net::ERR_/.test(line))).toEqual([]);
    });

    it("Share makes a link to read with, which shows the session alone, live, and sends nothing but the ticket", async () => {
      await makeSession(id("shared"));
      const sharing = await openWithKey(KEYS.write, id("shared"));
      await sharing.useMenu("Share");
      await sharing.dialog.getByLabel("How long").selectOption("7 days");
      await sharing.dialog.getByText("can read this session and what is added to it until").waitFor();
      await sharing.expectNoSideways();
      await picture("share");
      const end = new Date(Date.now() + 7 * 24 * HOUR_MS);
      await sharing.dialog.getByRole("button", { name: "Create a link" }).click();
      await sharing.dialog.getByRole("button", { name: "Copy", exact: true }).click();
      await sharing.dialog.getByText("The link is copied").waitFor();
      await sharing.expectNoSideways();
      await picture("made");
      const link = await sharing.dialog.getByRole("textbox", { name: "Link" }).inputValue();
      expect(await sharing.page.evaluate("navigator.clipboard.readText()")).toBe(link);

      const tab = await openTab();
      const { page } = tab;
      const requests: Request[] = [];
      page.on("request", (request) => requests.push(request));
      await page.goto(link);
      await tab.isLive();
      const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeZone: "UTC" }).format(end);
      await page.getByText(`Read only, until ${day}`).waitFor();
      await page.getByRole("heading", { name: id("shared"), level: 1 }).waitFor();
      await tab.message(0).getByText("Hello shared").waitFor();
      await call("POST", `${path("shared")}/draft`, { message: textMessage("d", "assistant", "I am still wri") });
      await page.locator(".draft").getByText("I am still wri").waitFor();
      await tab.expectNoSideways();
      await picture("read", tab);
      const delta = { appendText: { partId: "", text: "ting" } };
      await call("POST", `${path("shared")}/draft/d:extend`, { version: "1", deltas: [delta] });
      await page.locator(".draft").getByText("I am still writing").waitFor();
      await call("POST", `${path("shared")}/draft/d:finish`, { version: "2" });
      await tab.message(1).getByText("I am still writing").waitFor();

      await page.keyboard.press("s");
      await page.keyboard.press("f");
      await tab
        .message(1)
        .locator(".message-body")
        .click({ position: { x: 8, y: 12 } });
      await page.getByRole("button", { name: "Raw view" }).waitFor();
      const labels = await page.locator("button, a").evaluateAll((all) => all.map((one) => one.ariaLabel ?? ""));
      const shown = ["Outline", "Search in this session", "Timeline", "Files", "Details", "Go to a place or time"];
      expect(labels.filter((label) => label !== "")).toEqual([...shown, "Copy a link to this message", "Raw view"]);
      for (const label of shown.slice(0, 5)) {
        await page.locator(".session-tools").getByRole("button", { name: label, exact: true }).click();
        await page.getByRole("complementary", { name: label.split(" ")[0] as string }).waitFor();
        await tab.expectNoSideways();
      }
      await page.getByRole("complementary").getByText("team: ops").waitFor();

      const ticket = link.split("/t/")[1] as string;
      const kept =
        "JSON.stringify([document.title, history.state, {...localStorage}, {...sessionStorage}, document.cookie])";
      expect(await page.evaluate(kept)).not.toContain(ticket.slice(0, 20));
      expect(await page.title()).toBe(`Title of ${id("shared")} · session-pool`);
      for (const request of requests) {
        expect(new URL(request.url()).origin).toBe(server.httpUrl);
        expect(request.url().split("#")[0]).not.toContain("spt_");
        const { authorization, referer } = await request.allHeaders();
        expect(referer).toBeUndefined();
        const isFile = /^\/(console\/.*)?$/.test(new URL(request.url()).pathname);
        expect([request.url(), authorization]).toEqual([request.url(), isFile ? undefined : `Bearer ${ticket}`]);
      }
      const calls = requests
        .map((request) => new URL(request.url()).pathname)
        .filter((one) => /^\/(session|all|search)/.test(one));
      expect(calls.filter((one) => !one.startsWith(path("shared")))).toEqual([]);
    });

    it("a link to write with lets its reader write, edit, and end drafts", async () => {
      await makeSession(id("written"));
      const tab = await openLink(await makeLink(id("written"), "write"));
      const { page } = tab;
      await page.getByText("You can read and write here, until").waitFor();
      await page.getByLabel("Message", { exact: true }).fill("From the page\n\nin two lines");
      await tab.expectNoSideways();
      await picture("write");
      await page.keyboard.press("Control+Enter");
      await tab.message(1).getByText("in two lines").waitFor();
      // The watch may tell of the message before the request that has sent it is answered.
      await expect.poll(() => page.getByLabel("Message", { exact: true }).inputValue()).toBe("");
      await page.getByLabel("Message", { exact: true }).fill("And more");
      await page.getByRole("button", { name: "Send" }).click();
      await tab.message(2).getByText("And more").waitFor();
      expect((await call("GET", `${path("written")}/message`)).messages.at(-1).info.role).toBe("user");

      await tab.useTool(0, "Edit this message");
      await tab.dialog.getByLabel("Text", { exact: true }).fill("Hello again");
      await tab.confirm("Save");
      await tab.message(0).getByText("Hello again").waitFor();

      for (const [action, draft] of [
        ["Stop", "one"],
        ["Discard", "two"],
      ] as const) {
        await call("POST", `${path("written")}/draft`, { message: textMessage(draft, "assistant", `Draft ${draft}`) });
        await page.locator(".draft").getByRole("button", { name: action }).click();
        if (action === "Discard") await tab.confirm("Discard");
        await page.locator(".draft").waitFor({ state: "detached" });
      }
      await tab.message(3).getByText("Draft one").waitFor();
      const { messages } = await call("GET", `${path("written")}/message`);
      expect(messages.map(({ parts }: { parts: { text: string }[] }) => parts[0]?.text)).toEqual([
        "Hello again",
        "From the page\n\nin two lines",
        "And more",
        "Draft one",
      ]);
    });

    it("a message whose answer was lost is appended once", async () => {
      await makeSession(id("lost"));
      const tab = await openLink(await makeLink(id("lost"), "write"));
      const { page } = tab;
      await page.route(/\/message$/, async (route) => {
        await route.fetch();
        await route.abort();
      });
      await page.getByLabel("Message", { exact: true }).fill("Only once");
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByRole("alert").getByText("Not sent. The server cannot be reached.").waitFor();
      await page.unroute(/\/message$/);
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByRole("alert").waitFor({ state: "detached" });
      await expect.poll(() => page.getByLabel("Message", { exact: true }).inputValue()).toBe("");
      expect((await call("GET", `${path("lost")}/message`)).messages).toHaveLength(2);
    });

    it("a browser with a key keeps it, and sends it only without the ticket", async () => {
      await makeSession(id("keyed"));
      await makeSession(id("other"));
      const tab = await openWithKey(KEYS.write, id("other"));
      const { page } = tab;
      const sent: (string | undefined)[] = [];
      const link = await makeLink(id("keyed"), "read");
      await page.evaluate(`location.hash = "#${link}"`);
      await page.getByText("Read only, until").waitFor();
      await tab.isLive();
      page.on("request", (request) => sent.push(request.headers().authorization));
      await page.reload();
      await tab.isLive();
      await tab.message(0).getByText("Hello keyed").waitFor();
      expect(new Set(sent)).toEqual(new Set([undefined, `Bearer ${link.slice("/t/".length)}`]));

      await page.goBack();
      await tab.message(0).getByText("Hello other").waitFor();
      await page.getByRole("button", { name: "Actions", exact: true }).waitFor();
      await page.goForward();
      await page.getByText("Read only, until").waitFor();
      await tab.message(0).getByText("Hello keyed").waitFor();
      expect(page.url()).toContain(`#${link}`);
      await call("POST", `${path("keyed")}/ticket:revoke`, {});
      await page.getByRole("heading", { name: "This link is no longer valid" }).waitFor();
      await page.getByRole("link", { name: "All sessions, with your key" }).click();
      await page
        .getByRole("link", { name: id("other") })
        .first()
        .waitFor();
    });

    it("says that the link has expired, when that happens and later", async () => {
      await makeSession(id("short"));
      const tab = await openTab();
      const { page } = tab;
      // A link that expires before the page is there is replaced by a longer one.
      for (let validMs = 3000, isTyped = false; !isTyped; validMs *= 2) {
        await tab.goTo(await makeLink(id("short"), "write", validMs));
        const typed = page.getByLabel("Message", { exact: true }).fill("Too slow", { timeout: validMs });
        isTyped = await typed.then(
          () => true,
          () => false,
        );
      }
      await page.getByRole("heading", { name: "This link has expired" }).waitFor();
      expect(await page.getByLabel("What you had written was not sent").inputValue()).toBe("Too slow");
      await expect.poll(() => page.title()).toBe("session-pool");
      expect(await page.evaluate("document.activeElement.textContent")).toBe("This link has expired");
      await picture("expired");
      await page.reload();
      await page.getByRole("heading", { name: "This link has expired" }).waitFor();
    });

    it("says that all links were ended, which asks first", async () => {
      await makeSession(id("ended"));
      const reader = await openLink(await makeLink(id("ended"), "read"));
      const owner = await openWithKey(KEYS.write, id("ended"));
      await owner.useMenu("Share");
      await owner.dialog.getByRole("button", { name: "End all links of this session" }).click();
      await owner.dismiss();
      await reader.message(0).getByText("Hello ended").waitFor();
      await owner.useMenu("Share");
      await owner.dialog.getByRole("button", { name: "End all links of this session" }).click();
      await picture("end", owner);
      await owner.confirm("End all links");
      await owner.toast("have ended").waitFor();
      for (let visit = 0; visit < 2; visit++) {
        await reader.page.getByRole("heading", { name: "This link is no longer valid" }).waitFor();
        expect(await reader.page.getByText("Hello ended").count()).toBe(0);
        await reader.page.reload();
      }
      await picture("no-longer-valid");
      await openLink(await makeLink(id("ended"), "read"));
    });

    it("says that the session was deleted", async () => {
      await makeSession(id("deleted"));
      const { page } = await openLink(await makeLink(id("deleted"), "read"));
      await call("DELETE", path("deleted"));
      const over = page.getByRole("heading", { name: /This session is gone|This link is no longer valid/ });
      await over.waitFor();
      await picture("deleted");
      await page.reload();
      await over.waitFor();
      await page.getByText("deleted").waitFor();
    });

    it("says that a link is not complete, and opens the whole one", async () => {
      await makeSession(id("cut"));
      const link = await makeLink(id("cut"), "read");
      const tab = await openTab();
      const { page } = tab;
      for (const cut of [link.slice(0, link.length / 2), "/t/", `${link}.`]) {
        await tab.goTo(cut);
        await page.getByRole("heading", { name: "This link is not complete" }).waitFor();
        await tab.expectNoSideways();
      }
      await picture("not-complete");
      // The signature was cut, which only the server notices.
      await tab.goTo(link.slice(0, -3));
      await page.getByRole("heading", { name: "This link is no longer valid" }).waitFor();
      await page.evaluate(`location.hash = "#${link}"`);
      await tab.message(0).getByText("Hello cut").waitFor();
    });

    it("keeps the place in the session in the address, beside the ticket", async () => {
      await makeSession(id("long"));
      for (let i = 1; i < 60; i++) {
        await call("POST", `${path("long")}/message`, textMessage(`m${i}`, "user", `Number ${i}\n\n`.repeat(4)));
      }
      const link = await makeLink(id("long"), "read");
      const tab = await openLink(link);
      const { page } = tab;
      await page.keyboard.press("g");
      await tab.message(0).getByText("Hello long").waitFor();
      await expect.poll(() => page.url()).toBe(`${server.httpUrl}/#${link}?at=0`);
      await page.reload();
      await tab.message(0).getByText("Hello long").waitFor();
      await tab.useTool(0, "Copy a link to this message");
      await tab.toast("The link is copied").waitFor();
      const copied = (await page.evaluate("navigator.clipboard.readText()")) as string;
      expect(copied).toBe(`${server.httpUrl}/#${link}?m=m0`);
      await page.keyboard.press("G");
      await tab.message(59).waitFor();
      await page.goto(copied);
      await tab.message(0).getByText("Hello long").waitFor();
    });

    it("shows where a fork was made, and not from where", async () => {
      await makeSession(id("parent"));
      const { session } = await call("POST", `${path("parent")}/fork`, { title: "The fork" });
      const { page } = await openLink(await makeLink(session.sessionId, "read"));
      await page.getByText("Forked here from another session").waitFor();
      expect(await page.locator(".conversation a").count()).toBe(0);
    });

    it("says that making links needs another key", async () => {
      await makeSession(id("refused"));
      const tab = await openWithKey(KEYS.read, id("refused"));
      await tab.useMenu("Share");
      await tab.dialog.getByRole("button", { name: "Create a link" }).click();
      await tab.dialog.getByText("Making a link needs a key with the scope write").waitFor();
      expect(await tab.dialog.getByRole("alert").count()).toBe(0);
      await picture("read-key");
    });
  });
});
