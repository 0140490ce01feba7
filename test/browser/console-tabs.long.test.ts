import type { BrowserContext, Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { builtPages } from "../support/console-pages.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser, openBrowser } from "./browser.js";
import { ConsolePage, callRest, textMessage } from "./console-page.js";

/** More than the six connections that browsers open to one server over HTTP/1.1. */
const TABS = 8;

await describeWith("the console in many tabs", findBrowser, (browserPath) => {
  let server: TestServer;
  let browser: BrowserContext;

  beforeAll(async () => {
    server = await startTestServer({}, undefined, await builtPages());
    browser = await openBrowser(browserPath, DESKTOP);
  });

  afterAll(async () => {
    await browser.close();
    await server.stop();
  });

  const add = (sessionId: string, id: string, text: string) =>
    callRest(server.httpUrl, "POST", `/session/${sessionId}/message`, textMessage(id, "user", text));

  async function openTab(sessionId: string): Promise<ConsolePage> {
    await callRest(server.httpUrl, "POST", "/session", { sessionId, title: `Title of ${sessionId}` });
    await add(sessionId, "m0", "The first message");
    const tab = await ConsolePage.openTab(browser, server.httpUrl);
    await tab.openSession(sessionId);
    return tab;
  }

  it("works in more tabs than a browser has connections", async () => {
    const tabs: ConsolePage[] = [];
    // In a browser without a window, each tab counts as shown. The page is told what it would see in a window.
    for (let i = 0; i < TABS; i++) {
      const previous = tabs.at(-1);
      if (previous !== undefined) await hide(previous.page);
      tabs.push(await openTab(`tab-${i}`));
    }
    await add("tab-0", "m1", "It came while the tab was hidden");
    await hide(tabs.at(-1)!.page);
    await show(tabs[0]!.page);
    await tabs[0]!.isLive();
    await tabs[0]!.message(1).getByText("It came while the tab was hidden").waitFor();
    await closeAll(tabs);
  });

  it.each([
    ["changed", "PATCH", "?update_mask=parts", { parts: [{ type: "text", text: "m1, edited" }] }, "m1, edited"],
    ["removed", "DELETE", "", undefined, "The first message"],
  ])("shows a session whose last message was %s after it was loaded and before the watch began", async (...row) => {
    const [edit, method, query, body, last] = row;
    await callRest(server.httpUrl, "POST", "/session", { sessionId: edit, title: edit });
    await add(edit, "m0", "The first message");
    await add(edit, "m1", "The second message");
    const tab = await ConsolePage.openTab(browser, server.httpUrl);
    const loads = (url: URL) => url.pathname === `/session/${edit}/load`;
    const editMeanwhile = async (route: Route) => {
      const response = await route.fetch();
      await callRest(server.httpUrl, method, `/session/${edit}/message/m1${query}`, body);
      await route.fulfill({ response });
    };
    await tab.page.route(loads, editMeanwhile, { times: 1 });
    await tab.openSession(edit);
    await tab.page.locator("article").last().getByText(last).waitFor();
    await tab.isLive();
    await tab.close();
    // The browser itself logs the error response to a watch from a position past the end.
    expect(tab.problems.filter((line) => !line.includes("Failed to load resource"))).toEqual([]);
  });

  describe("a tab that was hidden", () => {
    it("shows what came meanwhile", async () => {
      const tab = await openTab("catches-up");
      await add("catches-up", "m1", "Before");
      await tab.message(1).waitFor();
      await hide(tab.page);
      await callRest(server.httpUrl, "DELETE", "/session/catches-up/message/m0");
      await add("catches-up", "m2", "Meanwhile");
      await show(tab.page);
      await tab.message(0).getByText("Before").waitFor();
      await tab.message(1).getByText("Meanwhile").waitFor();
      await tab.message(2).waitFor({ state: "detached" });
      await tab.isLive();
      await closeAll([tab]);
    });

    it("loads a session again that was edited before any event had come", async () => {
      const tab = await openTab("edited");
      await hide(tab.page);
      const parts = [{ type: "text", text: "The first message, edited" }];
      await callRest(server.httpUrl, "PATCH", "/session/edited/message/m0?update_mask=parts", { parts });
      await show(tab.page);
      await tab.message(0).getByText("The first message, edited").waitFor();
      await tab.isLive();
      await closeAll([tab]);
    });
  });
});

/** Tells the page that another tab is in front of it, and waits until it has given up its connection. */
async function hide(page: Page): Promise<void> {
  const disconnected = page.waitForEvent("requestfailed", (request) => request.url().includes("/message:watch"));
  await setHidden(page, true);
  await disconnected;
}

function show(page: Page): Promise<void> {
  return setHidden(page, false);
}

function setHidden(page: Page, hidden: boolean): Promise<void> {
  return page.evaluate(`
    Object.defineProperty(document, "hidden", { value: ${hidden}, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  `);
}

async function closeAll(tabs: readonly ConsolePage[]): Promise<void> {
  for (const tab of tabs) {
    await tab.close();
    expect(tab.problems).toEqual([]);
  }
}
