import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContext, Route } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { hashRandomKey, newKey } from "../../src/server/auth/key-hash.js";
import { builtPages } from "../support/console-pages.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser, openBrowser, PHONE } from "./browser.js";
import { ConsolePage, callRest, textMessage } from "./console-page.js";

interface Key {
  readonly name: string;
  readonly key: string;
  readonly scope: "read" | "write" | "admin";
  readonly owner?: string;
}

const makeKey = (scope: Key["scope"]): Key => ({ name: scope, key: newKey(), scope });

await describeWith("the states of the console", findBrowser, (browserPath) => {
  let folder: string;
  let server: TestServer;
  let browser: BrowserContext;
  let tabs: ConsolePage[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "session-pool-states-"));
    tabs = [];
  });

  afterEach(async () => {
    for (const tab of tabs) await tab.close();
    // The browser itself logs each error response and each failed request.
    const problems = tabs.flatMap((tab) => tab.problems);
    const uncaught = problems.filter((line) => !/Failed to load resource|net::ERR_/.test(line));
    await server.stop();
    await rm(folder, { recursive: true });
    expect(uncaught).toEqual([]);
  });

  /** Starts a server that keeps its sessions, so that it can be stopped and started again on the same port. */
  async function start(port = 0, keysFile?: string): Promise<void> {
    const config = {
      storage: `sqlite:${join(folder, "sessions.db")}`,
      httpAddress: { host: "127.0.0.1", port },
      hidesTodos: true,
      undeleteMs: 86_400_000,
      ...(keysFile && { keysFile }),
    };
    server = await startTestServer(config, undefined, await builtPages());
  }

  /** Opens a tab, which does not know the key that was entered in another one. */
  async function openConsole(): Promise<ConsolePage> {
    const tab = await ConsolePage.openTab(browser, server.httpUrl);
    tabs.push(tab);
    return tab;
  }

  async function writeKeys(keys: readonly Key[]): Promise<string> {
    const entries = keys.map(({ key, ...entry }) => ({ ...entry, hash: hashRandomKey(key), namespace: "n" }));
    const file = join(folder, "keys.json");
    await writeFile(file, JSON.stringify(entries));
    return file;
  }

  async function makeSession(id: string, key?: string): Promise<void> {
    await callRest(server.httpUrl, "POST", "/session", { sessionId: id, title: `Title of ${id}` }, key);
    await callRest(server.httpUrl, "POST", `/session/${id}/message`, textMessage("m0", "user", `Hello ${id}`), key);
  }

  describe.each([
    ["phone", PHONE],
    ["desktop", DESKTOP],
  ])("on a %s", (screenName, screen) => {
    const picture = (name: string, tab = tabs[0]) => tab?.picture(`${screenName}-${name}`);

    beforeAll(async () => {
      browser = await openBrowser(browserPath, screen);
      await browser.grantPermissions(["clipboard-read", "clipboard-write"]);
    });

    afterAll(() => browser.close());

    it("an empty store shows how to begin, and the first session appears by itself", async () => {
      await start();
      const shown = await openConsole();
      const { page } = shown;
      await shown.goTo("/");
      await page.getByRole("heading", { name: "No sessions yet" }).waitFor();
      await page.getByText("curl").waitFor();
      await page.getByRole("button", { name: "Copy" }).click();
      await shown.toast("The commands are copied").waitFor();
      const code = page.locator(".welcome pre");
      expect(await code.evaluate((element) => element.scrollWidth <= element.clientWidth)).toBe(true);
      await shown.expectNoSideways();
      await picture("empty-store");
      await makeSession("first");
      await page.getByRole("link", { name: "Title of first" }).first().waitFor();
    });

    it("the page says that the server is down, and continues by itself when it is back", async () => {
      await start();
      await makeSession("a");
      await makeSession("b");
      const shown = await openConsole();
      const { page } = shown;
      await shown.openSession("a");
      await shown.message(0).waitFor();
      const { httpPort } = server;
      await server.stop();
      await page.getByText("Reconnecting", { exact: true }).waitFor();
      await page.locator(".banner").getByText("The server cannot be reached").waitFor();
      await page.locator(".banner").getByRole("button", { name: "Try again" }).click();
      await shown.message(0).getByText("Hello a").waitFor();
      await shown.expectNoSideways();
      await picture("server-down");
      await start(httpPort);
      await shown.isLive();
      await page.locator(".banner").waitFor({ state: "detached" });
      await callRest(server.httpUrl, "POST", "/session/a/message", textMessage("m1", "user", "Back again"));
      await shown.message(1).getByText("Back again").waitFor();
    });

    it("what is opened while the server is down appears by itself when it is back", async () => {
      const places = [
        { address: "/session/b", heading: "Title of b" },
        { address: "/todos", heading: "Todos" },
        { address: "/", heading: screenName === "phone" ? "Sessions" : "Since yesterday" },
      ];
      await start();
      await makeSession("a");
      await makeSession("b");
      for (const _ of places) await (await openConsole()).openSession("a");
      const { httpPort } = server;
      await server.stop();
      for (const [i, { address, heading }] of places.entries()) {
        const { page } = tabs[i] as ConsolePage;
        await page.bringToFront();
        await page.evaluate(`location.hash = "${address}"`);
        if (address === "/")
          await page.locator(".session-list .panel-note.bad").getByText("The server cannot be reached").waitFor();
        else await page.getByRole("heading", { name: "The server cannot be reached" }).waitFor();
        await picture(`down-${heading}`, tabs[i]);
      }
      await start(httpPort);
      for (const [i, { heading }] of places.entries()) {
        const { page } = tabs[i] as ConsolePage;
        await page.bringToFront();
        await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
        await page.getByText("The server cannot be reached").first().waitFor({ state: "detached" });
      }
    });

    it("the outline says that nothing failed only after it has read the session", async () => {
      await start();
      await makeSession("a");
      const shown = await openConsole();
      const { page } = shown;
      const outline = page.getByRole("complementary", { name: "Outline" });
      const toggle = () => page.locator(".session-tools").getByRole("button", { name: "Outline", exact: true }).click();
      const allClear = outline.getByText("1 request, nothing failed");
      const expectNoClaim = async () => expect(await outline.innerText()).not.toMatch(/request|failed|asked/);
      let answer = (_: Route): void => undefined;
      const held = new Promise<Route>((resolve) => {
        answer = resolve;
      });
      await page.route(/message\?limit=200&newest_first=true/, (route) => answer(route));
      await shown.openSession("a");
      if (screenName === "phone") await toggle();
      const read = await held;
      await outline.getByText("Reading…").waitFor();
      await expectNoClaim();
      await read.fulfill({ status: 503, json: { code: 14, message: "The store cannot be reached" } });
      await outline.getByText("The store cannot be reached.").waitFor();
      await expectNoClaim();
      await picture("outline-failed");
      answer = (route) => void route.continue();
      await outline.getByRole("button", { name: "Try again" }).click();
      await allClear.waitFor();

      await toggle();
      const { httpPort } = server;
      await server.stop();
      await page.getByText("Reconnecting", { exact: true }).waitFor();
      await toggle();
      await outline.getByText("The server cannot be reached.").waitFor();
      await expectNoClaim();
      await start(httpPort);
      await allClear.waitFor();
    });

    it("the page asks for a key when the key is missing, wrong or removed", async () => {
      const [one, other] = [makeKey("write"), { ...makeKey("write"), name: "other" }];
      const keysFile = await writeKeys([one]);
      await start(0, keysFile);
      await makeSession("a", one.key);
      const shown = await openConsole();
      const { page, dialog } = shown;
      const enter = async (key: string) => {
        await dialog.getByLabel("API key").fill(key);
        await shown.confirm("Use it");
      };
      await shown.goTo("/");
      await page.getByRole("heading", { name: "This server wants a key" }).waitFor();
      await shown.expectNoSideways();
      await picture("no-key");
      await page.locator("main").getByRole("button", { name: "Enter a key" }).click();
      await enter(newKey());
      await page.getByRole("heading", { name: "The key is not accepted" }).waitFor();
      await picture("wrong-key");
      await page.locator("main").getByRole("button", { name: "Enter a key" }).click();
      await enter(one.key);
      await page.getByRole("navigation", { name: "Sessions" }).getByRole("link", { name: "Title of a" }).click();
      await shown.isLive();

      await writeKeys([other]);
      server.reload();
      await page.getByText("Ended", { exact: true }).waitFor();
      await shown.message(0).getByText("Hello a").waitFor();
      await shown.expectNoSideways();
      await picture("removed-key");
      await page.locator(".banner").getByRole("button", { name: "Enter a key" }).click();
      await enter(other.key);
      await shown.isLive();
      await shown.message(0).getByText("Hello a").waitFor();
      await page.locator(".banner").waitFor({ state: "detached" });
    });

    it("a dialog says that the key does not permit its action", async () => {
      const [reader, writer] = [makeKey("read"), makeKey("write")];
      await start(0, await writeKeys([reader, writer]));
      await makeSession("a", writer.key);
      const shown = await openConsole();
      const { page, dialog } = shown;
      const useKey = async (key: string) => {
        await shown.goTo("/");
        await page.getByRole("button", { name: "Key", exact: true }).click();
        await dialog.getByLabel("API key").fill(key);
        await shown.confirm("Use it");
      };
      await useKey(reader.key);
      await shown.openSession("a");
      await shown.useMenu("Rename");
      await dialog.getByRole("button", { name: "Rename" }).click();
      await dialog.getByRole("alert").getByText("This key does not allow it").waitFor();
      await page.keyboard.press("Escape");
      await useKey(writer.key);
      await shown.openSession("a");
      await shown.useTool(0, "Erase this message everywhere");
      await dialog.getByLabel("Type erase to go on").fill("erase");
      await dialog.getByRole("button", { name: "Erase", exact: true }).click();
      await dialog.getByRole("alert").getByText("This key does not allow it").waitFor();
      await picture("erase-refused");
      const { parts } = await callRest(server.httpUrl, "GET", "/session/a/message/m0", undefined, writer.key);
      expect(parts[0].text).toBe("Hello a");
    });

    it("the todos say that they are hidden for a key, and are shown for another one", async () => {
      const [bound, free] = [{ ...makeKey("write"), name: "bound", owner: "ada" }, makeKey("write")];
      await start(0, await writeKeys([bound, free]));
      const shown = await openConsole();
      const { page, dialog } = shown;
      /** The todos stay open while the key changes, where there is room for the button beside them. */
      const useKey = async (key: string) => {
        if (screenName === "phone") await page.evaluate("location.hash = '#/'");
        await page.getByRole("button", { name: "Key", exact: true }).click();
        await dialog.getByLabel("API key").fill(key);
        await shown.confirm("Use it");
        await page.evaluate("location.hash = '#/todos'");
      };
      await shown.goTo("/");
      await page.locator("main").getByRole("button", { name: "Enter a key" }).waitFor();
      await useKey(free.key);
      await page.getByText("No todos.", { exact: true }).waitFor();
      await useKey(bound.key);
      await page.getByText("The todo list is hidden for this key").waitFor();
      await page.getByRole("heading", { name: "Todos" }).waitFor();
      expect(await page.getByText("No todos.", { exact: true }).count()).toBe(0);
      expect(await dialog.count()).toBe(0);
      await shown.expectNoSideways();
      await picture("todos-hidden");
      await useKey(free.key);
      await page.getByText("No todos.", { exact: true }).waitFor();
    });

    it("what is deleted in the table comes back by Undo or from the bin, and is not offered twice", async () => {
      await start();
      for (const id of ["a", "b"]) await makeSession(id);
      const shown = await openConsole();
      const { page } = shown;
      const row = page.getByRole("row").filter({ hasText: "Title of a" });
      const remove = async () => {
        await row.getByRole("checkbox").click();
        await page.getByRole("button", { name: "Delete", exact: true }).click();
        await shown.confirm("Delete");
        await row.waitFor({ state: "detached" });
      };
      await shown.goTo("/sessions");
      await page.getByText("2 sessions", { exact: true }).waitFor();
      await remove();
      await shown.toast("1 session deleted").getByRole("button", { name: "Undo" }).click();
      await row.waitFor();
      await remove();
      await page.evaluate("location.hash = '#/bin'");
      await page.getByRole("button", { name: "Bring back Title of a" }).click();
      await shown.toast("1 session brought back").waitFor();
      expect(await shown.toast("1 session deleted").count()).toBe(0);
      await page.getByText("No deleted session is left.").waitFor();
      await shown.expectNoSideways();
      await picture("bin");
    });

    it("an address that leads nowhere shows what exists", async () => {
      await start();
      await makeSession("a");
      const shown = await openConsole();
      const { page } = shown;
      await shown.goTo("/session/nobody");
      await page.getByRole("heading", { name: "Not found" }).waitFor();
      await page.getByRole("link", { name: "All sessions" }).last().click();
      await page.getByRole("link", { name: "Title of a" }).first().waitFor();
      await shown.goTo("/session/a?m=gone");
      await shown.toast("That message cannot be shown").waitFor();
      await shown.openSession("a", "?at=999999");
      await shown.message(0).waitFor();
      await shown.goTo("/session/%E0%A4%A");
      await page.getByRole("link", { name: "Title of a" }).first().waitFor();
    });
  });
});
