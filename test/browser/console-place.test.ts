import { afterAll, beforeAll, expect, it } from "vitest";
import { builtPages } from "../support/console-pages.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser, PHONE, type Screen } from "./browser.js";
import { ConsolePage, callRest, textMessage } from "./console-page.js";

const COUNT = 40;

const CALL = {
  info: { id: "call", role: "assistant" },
  parts: [{ type: "tool_use", data: { id: "t", name: "bash", input: { lines: Array.from({ length: 30 }, String) } } }],
};

await describeWith("places in the console", findBrowser, (browserPath) => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer({}, undefined, await builtPages());
    const texts = Array.from({ length: COUNT }, (_, i) => textMessage(`m${i}`, "assistant", `Message ${i}`));
    for (const sessionId of ["s", "other"]) {
      await callRest(server.httpUrl, "POST", "/session", { sessionId, title: sessionId });
      await callRest(server.httpUrl, "POST", `/session/${sessionId}/message:batch`, { messages: [...texts, CALL] });
    }
    await callRest(server.httpUrl, "POST", "/session/s/fork", { newSessionId: "fork", upToMessageId: "m7" });
  });

  afterAll(() => server.stop());

  async function onScreen(screen: Screen, run: (open: ConsolePage) => Promise<void>): Promise<void> {
    const open = await ConsolePage.open(browserPath, server.httpUrl, screen);
    await run(open);
    expect(open.problems).toEqual([]);
    await open.close();
  }

  it("shows the tools of a message while the pointer is over it, and covers no text of it", () =>
    onScreen(DESKTOP, async (open) => {
      const tools = open.page.locator(".message-tools");
      await open.openSession("s");
      await open.isStill();
      await open.message(COUNT - 1).hover();
      await tools.waitFor();
      const text = await open
        .message(COUNT - 1)
        .locator(".message-body")
        .boundingBox();
      const bar = await tools.boundingBox();
      expect(bar!.y + bar!.height).toBeLessThanOrEqual(text!.y + 1);
      await open.page.locator(".session-item").first().hover();
      await tools.waitFor({ state: "detached" });
      await open.message(COUNT - 1).hover();
      await tools.waitFor();
      await open.page.evaluate("location.hash = '#/session/other'");
      await open.page.getByRole("heading", { name: "other", level: 1 }).waitFor();
      await open.message(COUNT - 1).waitFor();
      await open.page.locator(".session-item").first().hover();
      await tools.waitFor({ state: "detached" });
    }));

  it("shows the tools of a message on a phone where they can be seen, and says that there are some", () =>
    onScreen(PHONE, async (open) => {
      const { page } = open;
      const tools = page.locator(".message-tools");
      const expectInView = async () => {
        await expect
          .poll(async () => {
            const box = (await tools.boundingBox())!;
            const scroller = (await page.locator(".scroller").boundingBox())!;
            return box.y >= scroller.y && box.y + box.height <= scroller.y + scroller.height;
          })
          .toBe(true);
      };
      await open.openSession("other");
      await open.isStill();
      // Near the lower edge of the screen, not at the end of the list.
      await page.evaluate("document.querySelector('.scroller').scrollTop -= 300");
      await open.isStill();
      const boxes = await page.locator("article.message").evaluateAll((all) =>
        all.map((one) => {
          const { dataset } = one as unknown as { dataset: { position: string } };
          return { position: Number(dataset.position), bottom: one.getBoundingClientRect().bottom };
        }),
      );
      const lowest = boxes.filter(({ bottom }) => bottom <= PHONE.height).at(-1)!.position;
      await open.message(lowest).locator(".message-body").click();
      await tools.waitFor();
      await expectInView();
      await tools.getByRole("button", { name: "More", exact: true }).click();
      await tools.getByRole("button", { name: "Erase this message everywhere" }).waitFor();
      await expectInView();
      await open.picture("phone-tools");
      await page.getByRole("button", { name: `What to do with message ${lowest - 1}`, exact: true }).click();
      await open
        .message(lowest - 1)
        .locator(".message-tools")
        .waitFor();
      await expectInView();
      expect(await tools.count()).toBe(1);
      const focused = await page.evaluate("document.activeElement.getAttribute('data-position')");
      expect(focused).toBe(`${lowest - 1}`);
    }));

  it.each([
    ["desktop", DESKTOP],
    ["phone", PHONE],
  ])("does not move a tool call at the end of the list that is opened and closed, on a %s", (_, screen) =>
    onScreen(screen, async (open) => {
      await open.openSession("s");
      const head = open.message(COUNT).locator(".call-head");
      await head.waitFor();
      const top = async () => Math.round((await head.boundingBox())!.y);
      await open.isStill();
      // On a phone the tools of the message take up room above the call, and they go when the call is tapped.
      await open.message(COUNT - 2).click();
      await open
        .message(COUNT - 2)
        .locator(".message-tools")
        .waitFor();
      await open.isStill();
      await open.page.evaluate("document.querySelector('.scroller').scrollTop = 1e6");
      // The place is measured once the list is at its end and the rows have their final sizes.
      await open.isStill();
      const before = await top();
      await head.click();
      await open.message(COUNT).getByText("Arguments").waitFor();
      await open.isStill();
      expect(Math.abs((await top()) - before)).toBeLessThanOrEqual(1);
      await head.click();
      await open.message(COUNT).getByText("Arguments").waitFor({ state: "detached" });
      await open.isStill();
      expect(Math.abs((await top()) - before)).toBeLessThanOrEqual(1);
    }),
  );

  it.each([
    ["another session", "#/session/other", 'h1:text-is("other")'],
    ["a message of the same session", "#/session/s?m=m20", 'article[data-position="20"][aria-current="true"]'],
  ])("never overwrites the requested address of %s with that of what is being left", (_of, requested, shown) =>
    onScreen(DESKTOP, async (open) => {
      // Delays hashchange, so that the page gets the new address only after the old view would have written its own.
      await open.page.addInitScript(`addEventListener("hashchange", (event) => {
        if (!event.isTrusted) return;
        event.stopImmediatePropagation();
        setTimeout(() => dispatchEvent(new HashChangeEvent("hashchange")), 600);
      })`);
      await open.openSession("s");
      await open.message(COUNT).waitFor();
      await open.page.evaluate(`document.querySelector('.scroller').scrollTop = 0; location.hash = "${requested}"`);
      await open.page.locator(shown).waitFor();
    }),
  );

  it("keeps a permalink in the address while its message is being looked up", () =>
    onScreen(DESKTOP, async (open) => {
      let answer: () => void = () => {};
      const isHeld = new Promise<void>((resolve) => {
        answer = resolve;
      });
      await open.page.route("**/session/s/message/m20", async (route) => {
        await isHeld;
        await route.continue();
      });
      await open.openSession("s", "?m=m20");
      await open.page.locator("article").first().waitFor();
      // Three times as long as the list waits before it writes its place to the address.
      await open.page.evaluate("new Promise((resolve) => setTimeout(resolve, 750))");
      expect(new URL(open.page.url()).hash).toBe("#/session/s?m=m20");
      answer();
      await open.page.locator('article[data-position="20"][aria-current="true"]').waitFor();
      expect(new URL(open.page.url()).hash).toMatch(/^#\/session\/s\?(m=m20|at=20)$/);
    }));

  it("never names another place in the address while the list is on its way to a message", () =>
    onScreen(DESKTOP, async (open) => {
      // The timers that write the place to the address fire at the worst moment: when the message has been marked, and
      // the list has not drawn itself at its new place.
      await open.page.addInitScript(`{
        const { setTimeout, clearTimeout } = window;
        const timers = new Map();
        window.setTimeout = (work, ms, ...rest) => {
          if (ms !== 250) return setTimeout(work, ms, ...rest);
          const id = setTimeout(() => { timers.delete(id); work(); }, ms);
          timers.set(id, work);
          return id;
        };
        window.clearTimeout = (id) => { timers.delete(id); clearTimeout(id); };
        const fire = () => {
          for (const [id, work] of [...timers]) {
            window.clearTimeout(id);
            work();
          }
        };
        window.noted = [];
        const replace = history.replaceState.bind(history);
        history.replaceState = (state, title, address) => { noted.push(address); replace(state, title, address); };
        new MutationObserver(() => document.querySelector('article[aria-current="true"]') && fire())
          .observe(document, { subtree: true, childList: true, attributeFilter: ["aria-current"] });
      }`);
      for (const [address, position] of [
        ["?m=m20", 20],
        ["?at=20", 20],
        [`?at=${COUNT}`, COUNT],
      ] as const) {
        await open.openSession("s", address);
        await open.page.locator(`article[data-position="${position}"][aria-current="true"]`).waitFor();
        await open.isStill();
        await expect.poll(() => open.page.url()).toBe(`${server.httpUrl}/#/session/s?at=${position}`);
        await expect.poll(() => open.page.evaluate("noted.length")).toBeGreaterThan(0);
        const noted = await open.page.evaluate("noted");
        expect(new Set(noted as string[])).toEqual(new Set([`#/session/s?at=${position}`]));
      }
    }));

  it("marks the message that an address or the panel of forks leads to, and names it in the address", () =>
    onScreen(DESKTOP, async (open) => {
      const isMarked = async (position: number) => {
        await open.page.locator(`article[data-position="${position}"][aria-current="true"]`).waitFor();
        await expect.poll(() => open.page.url()).toBe(`${server.httpUrl}/#/session/s?at=${position}`);
      };
      await open.openSession("s", "?at=5");
      await isMarked(5);
      // This message is so near the end that it cannot be the first one on the screen.
      await open.openSession("s", `?at=${COUNT}`);
      await isMarked(COUNT);
      await open.isStill();
      await isMarked(COUNT);
      await open.page.locator(".session-tools").getByRole("button", { name: "Forks", exact: true }).click();
      const link = open.page.getByRole("complementary", { name: "Forks" }).getByRole("link", { name: "left at #7" });
      await link.click();
      await isMarked(7);
      await open.page.keyboard.press("Escape");
      await open.page.locator("article[aria-current]").waitFor({ state: "detached" });
      await link.click();
      await isMarked(7);
    }));
});
