import axe from "axe-core";
import type { Locator } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser, PHONE } from "./browser.js";
import { ConsolePage } from "./console-page.js";
import { type DemoServer, startDemoServer } from "./demo-server.js";

/** How many clicks and fields an answer may take. */
const MAX_INPUTS = 4;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The number of a week, from Monday to Sunday. 1970 began on a Thursday. */
const weekOf = (timeMs: number) => Math.floor((timeMs / DAY_MS + 3) / 7);

/** A reader who begins with the list and has nothing but the page. Each click and each field counts. */
await describeWith("the questions of a reader of the console", findBrowser, (browserPath) => {
  let server: DemoServer;

  beforeAll(async () => {
    server = await startDemoServer();
  });

  afterAll(() => server.stop());

  describe.each([
    ["a desktop", "light", DESKTOP],
    ["a phone", "dark", PHONE],
  ] as const)("on %s, in %s colours", (name, colorScheme, screen) => {
    let open: ConsolePage;
    let inputs = 0;

    beforeAll(async () => {
      open = await ConsolePage.open(browserPath, server.httpUrl, screen);
      await open.page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await open.page.addInitScript({ content: axe.source });
    });

    afterAll(async () => {
      await open.close();
      expect(open.problems).toEqual([]);
    });

    beforeEach(async () => {
      await open.goTo("/");
      await open.page.locator(".session-item").first().waitFor();
      inputs = 0;
    });

    /** The answer is on the page, without scrolling sideways and without a violation. */
    afterEach(async ({ task }) => {
      expect(inputs).toBeLessThanOrEqual(MAX_INPUTS);
      await open.expectNoSideways();
      await open.picture(`${name.slice(2)}-question-${task.name.replaceAll(/\W+/g, "-")}`);
      const { violations } = (await open.page.evaluate("axe.run()")) as {
        readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
      };
      expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
    });

    const click = async (place: Locator) => {
      inputs += 1;
      await place.click();
    };
    const fill = async (place: Locator, text: string) => {
      inputs += 1;
      await place.fill(text);
    };
    const link = (text: string | RegExp) => open.page.getByRole("link", { name: text }).first();
    /** Those of the page; the list beside it has its own. */
    const chips = () => open.page.locator(".filter-chips");
    const button = (text: string) => chips().getByRole("button", { name: text, exact: true });
    const table = (title: string) => open.page.getByRole("region", { name: title, exact: true });
    const first = (title: string) => table(title).locator("tbody tr").first();
    const session = (title: string) => open.page.locator(".session-item").filter({ hasText: title }).first();

    it("how many tokens did a session use", async () => {
      await click(session("Move the billing service"));
      await open.page
        .locator(".totals")
        .getByText(/4\.9m tokens/i)
        .waitFor();
    });

    it("which sessions are slow", async () => {
      await click(link("Table of sessions"));
      inputs += 1;
      await open.page.getByRole("combobox", { name: "Order" }).selectOption({ label: "Longest time of models" });
      await open.page.locator("table.sessions tbody tr").first().getByText("Move the billing service").waitFor();
    });

    it("what did the calls cost this week", async () => {
      await click(link("Usage by day"));
      // The last call of the demo store is less than an hour old, which on a Monday can be in the last week.
      const week = weekOf(Date.now() - HOUR_MS) === weekOf(Date.now()) ? "This week" : "Last week";
      await click(button(week));
      await chips().getByRole("button", { name: week, pressed: true }).waitFor();
      await open.page.getByRole("img", { name: "Cost by day, in USD" }).waitFor();
      await open.page
        .locator(".tiles")
        .getByText(/US\$\d/)
        .waitFor();
    });

    it("which model costs most", async () => {
      await click(link("Usage by day"));
      await first("By model").getByText("claude-sonnet-4-5").waitFor();
    });

    it("which sessions changed within an hour", async () => {
      await click(open.page.getByRole("button", { name: "Last hour", exact: true }).first());
      await session("Move the billing service").waitFor();
      await expect.poll(() => open.page.locator(".session-item").count()).toBeLessThan(4);
    });

    it("which tool fails most", async () => {
      await click(link("Usage by day"));
      await first("Tools, those that fail most first").getByText("bash").waitFor();
    });

    it("what did ada ask last week", async () => {
      await click(link("Messages of all sessions"));
      await fill(open.page.getByLabel("Owner of the session"), "ada");
      inputs += 1;
      await open.page.getByRole("combobox", { name: "Which messages" }).selectOption("user");
      await click(button("Last week"));
      await open.page.getByText(/^\d messages in \d sessions/).waitFor();
      await open.page.locator(".hit").first().waitFor();
    });

    it("which fork is cheaper", async () => {
      await click(session("Nightly import: map the column"));
      await open.isLive();
      await click(open.page.locator(".session-tools").getByRole("button", { name: "Forks", exact: true }));
      await click(link("Compare them side by side"));
      const cheapest = open.page.locator(".compared .card").filter({ hasText: "cheaper of 2 forks" });
      await cheapest.getByText("Nightly import: ignore the column").waitFor();
    });

    it("a note on an answer", async () => {
      // Each screen has its own, because both belong to the same reader.
      await click(session(screen === PHONE ? "Nightly import: ignore the column" : "Release notes for 2.4"));
      await open.isLive();
      await open.isStill();
      const answer = open.page.locator('article[data-role="assistant"]').last();
      // Over a desktop's message, the pointer is enough; a phone needs a tap.
      if (screen === PHONE) await click(answer.locator(".message-body"));
      else await answer.hover();
      await click(answer.getByRole("button", { name: "Bad", exact: true }));
      await fill(open.page.getByLabel("Why is this bad?"), `Too long for ${name}`);
      // Enter ends the field.
      await open.page.keyboard.press("Enter");
      await open.page.locator(".note-said").getByText(`Too long for ${name}`).waitFor();
    });
  });
});
