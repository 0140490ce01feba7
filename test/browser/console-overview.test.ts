import { afterAll, beforeAll, expect, it } from "vitest";
import { builtPages } from "../support/console-pages.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser } from "./browser.js";
import { ConsolePage, callRest, textMessage } from "./console-page.js";

await describeWith("what is new in the console", findBrowser, (browserPath) => {
  let server: TestServer;
  let open: ConsolePage;
  const call = (method: string, path: string, body?: unknown) => callRest(server.httpUrl, method, path, body);
  const append = (sessionId: string, id: string, text = id) =>
    call("POST", `/session/${sessionId}/message`, textMessage(id, "user", text));

  beforeAll(async () => {
    server = await startTestServer({}, undefined, await builtPages());
    for (const sessionId of ["known", "busy", "long"]) {
      await call("POST", "/session", { sessionId, title: `Title of ${sessionId}` });
      await append(sessionId, "m0");
    }
    open = await ConsolePage.open(browserPath, server.httpUrl, DESKTOP);
  });

  afterAll(async () => {
    await open.close();
    await server.stop();
    expect(open.problems).toEqual([]);
  });

  const item = (sessionId: string) => open.page.locator(`.session-item[href="#/session/${sessionId}"]`);

  it("counts the messages that came since the last visit, until they are opened or marked as seen", async () => {
    const { page } = open;
    await open.goTo("/");
    await item("known").waitFor();
    expect(await page.locator(".item-new").count()).toBe(0);
    await page.goto("about:blank");
    await append("known", "m1");
    await append("known", "m2");
    const fork = await call("POST", "/session/known/fork", { newSessionId: "made", title: "Title of made" });
    expect(fork.copiedCount).toBe("3");
    await append("made", "m3");
    await open.goTo("/");
    await item("known").getByText("+2", { exact: true }).waitFor();
    await item("made").getByText("+1", { exact: true }).waitFor();
    await page.getByText("3 messages since your last visit").waitFor();
    await item("known").click();
    await open.isLive();
    await expect.poll(() => item("known").locator(".item-new").count()).toBe(0);
    await open.goTo("/");
    await page.getByText("1 message since your last visit").waitFor();
    expect(await item("known").locator(".item-new").count()).toBe(0);
    await page.getByRole("button", { name: "Mark as seen" }).click();
    await expect.poll(() => page.locator(".item-new").count()).toBe(0);
    await open.goTo("/");
    await item("made").waitFor();
    expect(await page.locator(".item-new").count()).toBe(0);
  });

  it("shows a page as often as it is opened", async () => {
    const { page } = open;
    await open.goTo("/");
    const headings = { sessions: "Sessions", usage: "Usage", todos: "Todos" };
    for (const name of ["sessions", "usage", "sessions", "usage", "todos", "usage"] as const) {
      await page.locator(`a[href="#/${name}"]`).first().click();
      await page.getByRole("heading", { name: headings[name], exact: true }).waitFor();
    }
  });

  it("keeps the tools of a message in view, however far it is scrolled", async () => {
    const { page } = open;
    await append("long", "m1", "A line.\n\n".repeat(200));
    await append("long", "m2", "the end");
    await open.openSession("long");
    await open.message(2).hover();
    const scroller = page.locator(".scroller");
    await scroller.evaluate((element) => element.scrollBy(0, -400));
    await open.message(1).hover({ position: { x: 100, y: (await open.message(1).boundingBox())!.height - 20 } });
    const tools = open.message(1).locator(".message-tools");
    const isInView = async () => {
      const [box, list] = [await tools.boundingBox(), await scroller.boundingBox()];
      return box !== null && list !== null && box.y >= list.y && box.y + box.height <= list.y + list.height;
    };
    await expect.poll(isInView).toBe(true);
    await scroller.evaluate((element) => element.scrollBy(0, -300));
    await expect.poll(isInView).toBe(true);
  });

  it("asks for the list at most once a second, however much changes", async () => {
    const { page } = open;
    await page.clock.install();
    await open.goTo("/");
    await item("busy").waitFor();
    let asked = 0;
    page.on("request", (request) => {
      if (/\/session\?/.test(request.url())) asked += 1;
    });
    for (let second = 1; second <= 10; second++) {
      await append("busy", `s${second}`);
      await page.clock.runFor(1000);
      expect(asked).toBeLessThanOrEqual(second);
    }
    await expect
      .poll(async () => {
        await page.clock.runFor(1000);
        return item("busy").getByText("s10").count();
      })
      .toBe(1);
  });
});
