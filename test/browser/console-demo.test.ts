import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser, PHONE } from "./browser.js";
import { ConsolePage } from "./console-page.js";
import { type DemoServer, startDemoServer } from "./demo-server.js";

const DAY_MS = 86_400_000;

/** The page answers the questions of docs/console.md without scrolling through a session. */
await describeWith("the demo store in the console", findBrowser, (browserPath) => {
  let server: DemoServer;

  beforeAll(async () => {
    server = await startDemoServer();
  });

  afterAll(() => server.stop());

  /** What users asked in the sessions of an owner, in a time in microseconds, in the order of the alphabet. */
  function questionsOf(owner: string, [since, until]: readonly [number, number]): readonly string[] {
    const messages = server.lines.flatMap(({ message }) => message ?? []);
    return server.lines
      .flatMap(({ session }) => (session?.owner === owner ? session.messages : []))
      .flatMap(([first, last]: [number, number]) => messages.slice(first - 1, last))
      .filter(({ role, timestampMicros }) => role === "user" && timestampMicros >= since && timestampMicros < until)
      .map(({ parts }) => parts[0].text)
      .sort();
  }

  /** From a Monday to the next, in microseconds. */
  function lastWeek(): readonly [number, number] {
    const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    const monday = today - ((new Date().getUTCDay() + 6) % 7) * DAY_MS;
    return [(monday - 7 * DAY_MS) * 1000, monday * 1000];
  }

  describe.each([
    ["phone", PHONE],
    ["desktop", DESKTOP],
  ])("on a %s", (screenName, screen) => {
    let open: ConsolePage;

    beforeAll(async () => {
      open = await ConsolePage.open(browserPath, server.httpUrl, screen);
    });

    afterAll(async () => {
      await open.close();
      expect(open.problems).toEqual([]);
    });

    async function openPanel(name: string): Promise<void> {
      const button = open.page.locator(".session-tools").getByRole("button", { name, exact: true });
      if ((await button.getAttribute("aria-pressed")) !== "true") await button.click();
      await open.page.getByRole("complementary", { name }).waitFor();
    }

    it("says which call failed, and why", async () => {
      await open.openSession("import-map");
      await openPanel("Outline");
      const failed = open.page.locator(".entry-failed");
      await failed.getByText("expected orders.reference to be 'C-1009', received undefined").waitFor();
      expect(await failed.count()).toBe(1);
      await open.picture(`${screenName}-demo-failed`);
    });

    it("says where a fork left its parent", async () => {
      await open.openSession("import-map");
      await openPanel("Forks");
      await open.page.getByRole("complementary").getByText("left at #3").first().waitFor();
      await open.picture(`${screenName}-demo-forks`);
      await open.page.getByRole("complementary").getByRole("link", { name: "left at #3" }).first().click();
      await open.page.getByRole("heading", { name: "Nightly import fails", level: 1 }).waitFor();
      await open.message(3).getByText("There are two ways out").waitFor();
    });

    it("says what was asked first in a long session", async () => {
      await open.openSession("billing");
      await openPanel("Outline");
      await open.page.getByRole("complementary").getByText("move from MySQL to Postgres without downtime").waitFor();
      await open.picture(`${screenName}-demo-long`);
    });

    it("says what has changed since yesterday", async () => {
      await open.goTo("/");
      await open.page.locator(".session-item").first().waitFor();
      await open.page.getByText("4 sessions changed since yesterday, 3 of them new.").waitFor();
      const failed = open.page.locator(".session-item", { hasText: "map the column" }).locator(".item-failure");
      await failed.getByText("bash: AssertionError: expected orders.reference to be 'C-1009'").waitFor();
      if (screenName === "phone") await open.page.getByRole("button", { name: "Since yesterday" }).click();
      await open.picture(`${screenName}-demo-changed`);
      if (screenName === "phone") await expect.poll(() => open.page.locator(".session-item").count()).toBe(4);
    });

    it.runIf(screenName === "phone")("says over the list what has changed in the time that is chosen", async () => {
      const from = Math.floor(Date.now() / DAY_MS - 6) * DAY_MS * 1000;
      const sessions = server.lines.flatMap(({ session }) => session ?? []);
      const changed = sessions.filter(({ updateTimeMicros }) => updateTimeMicros >= from);
      const made = changed.filter(({ createTimeMicros }) => createTimeMicros >= from);
      await open.goTo("/");
      await open.page.getByRole("button", { name: "7 days" }).click();
      await open.page.getByText(`${changed.length} sessions changed in 7 days, ${made.length} of them new.`).waitFor();
    });

    it("says how many tokens a session used, what its turns took, and what people say of it", async () => {
      await open.openSession("billing");
      await open.page
        .locator(".totals")
        .getByText(/4\.9m tokens · US\$15\.84$/i)
        .waitFor();
      await openPanel("Timeline");
      await open.page.locator(".bar-line").first().waitFor();
      await open.openSession("import-map");
      await open.page.locator(".notes").getByText("Found it by the test").waitFor();
      await open.expectNoSideways();
      await open.picture(`${screenName}-demo-usage`);
    });

    it("says which fork is cheaper", async () => {
      await open.openSession("import");
      await openPanel("Forks");
      await open.page.getByRole("link", { name: "Compare them side by side" }).click();
      await open.page.getByText("the first 4 messages in common").waitFor();
      const cards = open.page.locator(".compared .card");
      const cheapest = cards.filter({ hasText: "cheaper of 2 forks" });
      await cheapest.getByRole("link", { name: "Nightly import: ignore the column" }).waitFor();
      const amounts = (await cards.allInnerTexts()).map((text) => Number(/US\$([\d.]+)/.exec(text)?.[1]));
      expect(await cheapest.count()).toBe(1);
      expect(await cheapest.innerText()).toContain(`US$${Math.min(...amounts.slice(0, 2))}`);
      const by = Number(/cheaper of 2 forks, by US\$([\d.]+)/.exec(await cheapest.innerText())?.[1]);
      expect(by).toBeCloseTo(Math.abs(amounts[0]! - amounts[1]!), 4);
      // The answer is on the first screen.
      for (const card of (await cards.all()).slice(0, 2)) {
        const box = (await card.boundingBox())!;
        expect(box.x + box.width).toBeLessThanOrEqual(screen.width);
        expect(box.y + box.height).toBeLessThanOrEqual(screen.height);
      }
      await open.expectNoSideways();
      // Where the table has no room for all columns, it says so.
      await expect.poll(() => open.page.getByText("more to the side").count()).toBe(screenName === "phone" ? 1 : 0);
      await open.picture(`${screenName}-demo-compare`);
    });

    it("says what a week cost, which tool fails most, and which session is slow", async () => {
      await open.goTo("/usage");
      const section = (name: string) => open.page.getByRole("region", { name, exact: true });
      await section("By session").getByRole("link").first().waitFor();
      await open.page
        .locator(".tiles")
        .getByText(/US\$1\d\.\d\d/)
        .waitFor();
      const first = (name: string) => section(name).locator("tbody tr").first().innerText();
      expect(await first("By model")).toContain("claude-sonnet-4-5");
      expect(await first("Tools, those that fail most first")).toMatch(/^bash\s+7\s/);
      await section("By session").getByRole("button", { name: "95 % within" }).click();
      await expect.poll(() => first("By session")).toContain("Review the slow report query");
      await open.page.getByRole("img", { name: "Cost by day, in USD" }).waitFor();
      await open.expectNoSideways();
      const tools = section("Tools, those that fail most first").getByRole("group");
      expect(await tools.evaluate((table) => table.scrollWidth <= table.clientWidth)).toBe(true);
      await open.picture(`${screenName}-demo-plots`);
      const table = section("By session").getByRole("group");
      const isCut = async () => (await table.getAttribute("class"))?.includes("is-cut");
      // It fits on a desktop, and fades on a phone until its end is in view.
      await table.evaluate((box) => box.scrollTo({ left: 0 }));
      await expect.poll(isCut).toBe(screenName === "phone");
      await table.evaluate((box) => box.scrollTo({ left: box.scrollWidth }));
      await expect.poll(isCut).toBe(false);
      await section("By session").getByRole("button", { name: "Owner", exact: true }).click();
      await section("By owner").getByRole("link", { name: "nobody" }).waitFor();
      await section("By owner").getByRole("link", { name: "ada" }).click();
      await open.page.locator(".hit").first().waitFor();
      expect(await open.page.getByLabel("Owner of the session").inputValue()).toBe("ada");
    });

    it("says over a bar what its number is, and whose", async () => {
      await open.goTo("/usage");
      const tipOf = async (name: string) => {
        const plot = open.page.getByRole("img", { name });
        await plot.scrollIntoViewIfNeeded();
        const bar = (await plot.locator("rect").last().boundingBox())!;
        await open.page.mouse.move(bar.x + bar.width / 2, bar.y + bar.height / 2);
        await plot.locator("tspan").first().waitFor({ state: "attached" });
        return (await plot.locator("tspan").allTextContents()).join(" ");
      };
      await open.page.getByRole("img", { name: "Failed calls by tool" }).waitFor();
      const cost = await tipOf("Cost by day, in USD");
      for (const word of ["Day", "Cost", "US$", "Model"]) expect(cost).toContain(word);
      const failed = await tipOf("Failed calls by tool");
      for (const word of ["Failed calls", "Tool", "bash"]) expect(failed).toContain(word);
      for (const text of [cost, failed]) expect(text).not.toMatch(/value|series|name/);
      await open.picture(`${screenName}-demo-tip`);
    });

    it("says which sessions changed since a time, and what a user asked in a week", async () => {
      await open.goTo(`/sessions?since=${new Date(Date.now() - 6 * 3_600_000).toISOString().slice(0, 16)}`);
      await open.page.getByText("4 sessions", { exact: true }).waitFor();
      await open.goTo("/sessions");
      await open.page.getByLabel("Owner of the session").fill("ada");
      await open.page.locator(".filter-chips").getByRole("button", { name: "7 days" }).click();
      const rows = open.page.locator("table.sessions tbody tr");
      const owned = async () => (await rows.allInnerTexts()).map((text) => text.includes("ada"));
      await expect.poll(async () => [...new Set(await owned())]).toEqual([true]);
      await open.expectNoSideways();
      await open.picture(`${screenName}-demo-table`);
    });

    it("scrolls the table inside the window, in every order, and the other pages as well", async () => {
      const { page } = open;
      // Each step brings rows into view, which then look for what failed.
      const scroll = async (box: string) => {
        await page.locator(box).last().waitFor();
        await page.evaluate(`(async () => {
          const box = document.querySelector(${JSON.stringify(box)});
          for (let top = 0; top < box.scrollHeight; top += box.clientHeight) {
            box.scrollTop = top;
            await new Promise(requestAnimationFrame);
          }
        })()`);
        await open.expectNoScroll();
      };
      await open.goTo("/sessions");
      const order = page.getByLabel("Order");
      await order.waitFor();
      const names = await order.locator("option").allInnerTexts();
      expect(names).toContain("Longest time of models");
      for (const name of names) {
        await order.selectOption(name);
        await page.locator(".sessions tbody tr").first().waitFor();
        await scroll(".home");
        await page.locator(".sessions .item-failure .unseen").first().waitFor({ state: "attached" });
        await open.expectNoScroll();
      }
      await open.goTo("/");
      await page.locator(".item-failure .unseen").first().waitFor({ state: "attached" });
      await scroll(screenName === "phone" ? ".session-list" : ".home");
      await open.goTo("/usage");
      await page.getByRole("region", { name: "By session" }).getByRole("link").first().waitFor();
      await scroll(".home");
      await open.openSession("import-map");
      await openPanel("Timeline");
      await page.locator(".bar-line").first().waitFor();
      await scroll(".panel-body");
    });

    it("lists what a user asked last week, without words and without an index", async () => {
      const { page } = open;
      await open.goTo("/");
      await page.getByRole("link", { name: "Messages of all sessions" }).click();
      await page.getByLabel("Owner of the session").fill("ada");
      await page.getByRole("combobox", { name: "Which messages" }).selectOption("user");
      await page.locator(".filter-chips").getByRole("button", { name: "Last week" }).click();
      const expected = questionsOf("ada", lastWeek());
      await page.getByText(new RegExp(`^${expected.length} messages in ${expected.length} sessions`)).waitFor();
      expect((await page.locator(".hit-text").allInnerTexts()).sort()).toEqual(expected);
      await open.expectNoSideways();
      await open.picture(`${screenName}-demo-asked`);
      await page.locator(".hit").first().click();
      await page.locator('article[data-role="user"][aria-current="true"]').waitFor();
    });

    it("leads from an owner in the table to what that owner asked", async () => {
      const { page } = open;
      await open.goTo("/sessions?owner=ada");
      await page.locator(".filter-chips").getByRole("button", { name: "Last week" }).click();
      await page.getByRole("link", { name: "What users asked" }).click();
      // The list grows until it says how much it has.
      await page
        .getByRole("status")
        .filter({ hasText: /messages? in / })
        .waitFor();
      expect((await page.locator(".hit-text").allInnerTexts()).sort()).toEqual(questionsOf("ada", lastWeek()));
    });
  });
});
