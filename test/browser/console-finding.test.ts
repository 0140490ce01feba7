import { afterAll, beforeAll, expect, it } from "vitest";
import { builtPages } from "../support/console-pages.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser } from "./browser.js";
import { ConsolePage, callRest, textMessage } from "./console-page.js";

/** A search reads 1,000 sessions at a time, so searching this many takes more than two requests. */
const COUNT = 2100;
const DAY_MS = 24 * 3600 * 1000;

await describeWith("finding sessions in the console", findBrowser, (browserPath) => {
  let server: TestServer;
  let open: ConsolePage;
  const call = (method: string, path: string, body?: unknown) => callRest(server.httpUrl, method, path, body);

  beforeAll(async () => {
    server = await startTestServer({}, undefined, await builtPages());
    await call("POST", "/session", {
      sessionId: "oldest",
      title: "The needle",
      labels: { team: "ops" },
      owner: "Ada Lovelace",
    });
    for (let i = 0; i < COUNT; i++) await call("POST", "/session", { sessionId: `s${i}`, title: `Hay ${i}` });
    await call("PATCH", `/session/s${COUNT - 1}`, { owner: "Grace" });
    open = await ConsolePage.open(browserPath, server.httpUrl, DESKTOP);
  });

  afterAll(async () => {
    await open.close();
    await server.stop();
    expect(open.problems).toEqual([]);
  });

  const items = () => open.page.locator(".session-item");
  const filter = (text: string) => open.page.getByLabel("Filter sessions").fill(text);

  it("filters by words among sessions that are not loaded yet, and shows its progress", async () => {
    let searched = 0;
    let goOn = () => {};
    const isSeen = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    await open.page.route(/session\?limit=1000/, async (route) => {
      searched += 1;
      if (searched === 2) await isSeen;
      await route.continue();
    });
    await open.goTo("/");
    await items().nth(20).waitFor();
    await filter("needle");
    await open.page.getByText(/^Searched 1,050 sessions, back to (Today|Yesterday)…$/).waitFor();
    expect(await items().count()).toBe(0);
    goOn();
    await items().getByText("The needle").waitFor();
    await open.page.getByText("All matches in 2,101 sessions").waitFor();
    expect(await items().count()).toBe(1);
    await open.page.unroute(/session\?limit=1000/);
  });

  it("says that nothing matches only after all sessions were searched", async () => {
    await open.goTo("/");
    await items().nth(20).waitFor();
    await filter("nowhere to be found");
    await open.page.getByText("No match in 2,101 sessions").waitFor();
    await filter("");
    await items().nth(20).waitFor();
  });

  it("stops at 500 matches, and asks for more words", async () => {
    await filter("hay");
    await open.page.getByText("The newest 500 matches").waitFor();
    await filter("hay 1234");
    await items().getByText("Hay 1234", { exact: true }).waitFor();
    await open.page.getByText("All matches in 2,101 sessions").waitFor();
  });

  it("filters by label through the service", async () => {
    await filter("team=ops");
    await expect.poll(() => items().count()).toBe(1);
    await items().getByText("The needle").waitFor();
    await filter("team=nobody");
    await open.page.getByText("No sessions yet").or(open.page.getByText("No session matches")).first().waitFor();
    await filter("");
    await items().nth(20).waitFor();
  });

  it("filters by owner through the service, and shows owners where there are several", async () => {
    await items().locator(".chip", { hasText: "Grace" }).waitFor();
    await filter('owner:"Ada Lovelace"');
    await expect.poll(() => items().count()).toBe(1);
    await items().getByText("The needle").click();
    await open.page.locator(".session-facts").getByText("Ada Lovelace").waitFor();
    expect(await items().locator(".chip", { hasText: "Ada Lovelace" }).count()).toBe(0);
    await filter("");
    await items().nth(20).waitFor();
    await open.page.locator(".session-tools").getByRole("button", { name: "Details", exact: true }).click();
    await open.page.getByRole("complementary").getByRole("button", { name: "Ada Lovelace" }).click();
    await expect.poll(() => items().count()).toBe(1);
    await filter('owner:""');
    await items().nth(20).waitFor();
    await filter("owner:grace");
    await open.page.getByText("No session matches").waitFor();
    await filter("");
    await items().nth(20).waitFor();
  });

  it("shows new sessions, new messages, new titles and deletions without being asked", async () => {
    const first = items().first();
    await call("POST", "/session", { sessionId: "new", title: "Just made" });
    await first.getByText("Just made").waitFor();
    await call("POST", "/session/s7/message", textMessage("m", "user", "Awake again"));
    await first.getByText("Awake again").waitFor();
    await call("PATCH", "/session/s7", { title: "Hay no more" });
    await first.getByText("Hay no more").waitFor();
    await call("DELETE", "/session/new");
    await open.page.locator('a[href="#/session/new"]').first().waitFor({ state: "detached" });
  });

  it("filters by the time of the last change", async () => {
    await open.page.clock.setFixedTime(Date.now() + 3 * DAY_MS);
    await open.goTo("/");
    await items().nth(20).waitFor();
    await open.page.getByRole("button", { name: "Since yesterday" }).click();
    await open.page.getByText("No session matches").waitFor();
    await filter("needle");
    // The list reads no further pages, because they are all older.
    await open.page.getByText(/No match in (50|100) sessions/).waitFor();
    await open.page.getByRole("button", { name: "7 days" }).click();
    await items().getByText("The needle").waitFor();
    await open.page.getByRole("button", { name: "Last hour" }).click();
    await open.page.getByText(/No match in (50|100) sessions/).waitFor();
    await open.page.clock.setFixedTime(Date.now() + 7 * DAY_MS);
    await open.page.getByRole("button", { name: "This week" }).click();
    await open.page.getByText(/No match in (50|100) sessions/).waitFor();
    await open.page.getByRole("button", { name: "Last week" }).click();
    await items().getByText("The needle").waitFor();
  });

  it("shows forks below their parents, with links from one to the other", async () => {
    await call("POST", "/session", { sessionId: "root", title: "Root" });
    const messages = ["a", "b", "c"].map((id) => textMessage(id, "user", `Message ${id}`));
    await call("POST", "/session/root/message:batch", { messages });
    await call("POST", "/session/root/fork", { newSessionId: "child", title: "Child", upToMessageId: "b" });
    await call("POST", "/session/child/fork", { newSessionId: "grandchild", title: "Grandchild" });
    await open.openSession("child");
    await open.page.getByRole("link", { name: "fork of Root" }).waitFor();
    await open.page.locator(".session-tools").getByRole("button", { name: "Forks", exact: true }).click();
    const tree = open.page.getByRole("complementary", { name: "Forks" });
    await expect.poll(() => tree.locator(".tree-node > a").allTextContents()).toEqual(["Root", "Child", "Grandchild"]);
    await tree.getByRole("link", { name: "left at #1" }).first().click();
    await open.page.getByRole("heading", { name: "Root", level: 1 }).waitFor();
    await open.message(1).waitFor();
    await open.page.locator(".child-forks").getByRole("link", { name: "Child" }).click();
    await open.page.getByText("Forked here from").getByRole("link", { name: "Root" }).waitFor();
  });
});
