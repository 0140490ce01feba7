import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { exportSessions } from "../../src/commands/transfer/export-sessions.js";
import { describeWith } from "../support/toolchain.js";
import { DESKTOP, findBrowser } from "./browser.js";
import { type Answer, ConsolePage, jsonLines } from "./console-page.js";
import { type DemoServer, startDemoServer } from "./demo-server.js";

/** What a script adds up from the lines of an export. */
interface Sums {
  readonly messages: number;
  readonly calls: number;
  readonly read: number;
  readonly written: number;
  /** In billionths, which add up without rounding errors. */
  readonly cost: number;
}

const BILLION = 1e9;

interface Exported {
  readonly session: Answer;
  /** The messages that the session shows, in their order. */
  readonly messages: readonly Answer[];
}

function sumsOf(messages: readonly Answer[]): Sums {
  const usages = messages.flatMap(({ usage }) => usage ?? []);
  const sum = (of: (usage: Answer) => number) => usages.reduce((total, usage) => total + of(usage), 0);
  return {
    messages: messages.length,
    calls: usages.length,
    read: sum(({ inputTokens = 0 }) => inputTokens),
    written: sum(({ outputTokens = 0 }) => outputTokens),
    cost: sum(({ cost = "0" }) => Math.round(Number(cost) * BILLION)),
  };
}

function groupBy(messages: readonly Answer[], nameOf: (message: Answer) => string): ReadonlyMap<string, Sums> {
  const names = new Set(messages.map(nameOf));
  return new Map([...names].map((name) => [name, sumsOf(messages.filter((one) => nameOf(one) === name))]));
}

/** The numbers in a text of the page. */
function numbersIn(text: string): readonly number[] {
  return (text.match(/\d[\d,]*(\.\d+)?/g) ?? []).map((digits) => Number(digits.replaceAll(",", "")));
}

/** Expects the page to show an amount of billionths, rounded to as many digits as it shows. */
function expectAmount(text: string, amount: number): void {
  const digits = /\d[\d,]*(?:\.(\d+))?/.exec(text);
  const unit = BILLION / 10 ** (digits?.[1]?.length ?? 0);
  expect(Math.round(Number(digits?.[0].replaceAll(",", "")) * BILLION)).toBe(Math.round(amount / unit) * unit);
}

await describeWith("the numbers of the console and those of an export", findBrowser, (browserPath) => {
  let folder: string;
  let server: DemoServer;
  let open: ConsolePage;
  let sessions: ReadonlyMap<string, Exported>;
  /** Each message once, however many forks show it. */
  let messages: readonly Answer[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "session-pool-sums-"));
    server = await startDemoServer();
    const file = join(folder, "export.jsonl");
    await exportSessions({ storage: server.storage, namespace: "default" }, file);
    const lines = jsonLines(await readFile(file, "utf8"));
    messages = lines.flatMap(({ message }) => message ?? []);
    const shownBy = (session: Answer): readonly Answer[] =>
      session.messages.flatMap(([first, last]: [number, number]) => messages.slice(first - 1, last));
    const listed = lines.flatMap(({ session }) => session ?? []);
    sessions = new Map(listed.map((session) => [session.sessionId, { session, messages: shownBy(session) }] as const));
    open = await ConsolePage.open(browserPath, server.httpUrl, DESKTOP);
  });

  afterAll(async () => {
    await open.close();
    await server.stop();
    await rm(folder, { recursive: true });
    expect(open.problems).toEqual([]);
  });

  /** The calls of models that a session made itself, without those that it inherited. */
  const ownOf = ({ session, messages }: Exported) => sumsOf(messages.slice(session.inheritedCount ?? 0));

  it("agree in the overview of usage: in all, by day, by model, by session", async () => {
    const { page } = open;
    await open.goTo("/usage");
    await page.getByRole("button", { name: "90 days" }).click();
    const section = (name: string) => page.getByRole("region", { name, exact: true });
    const { calls, read, written, cost } = sumsOf(messages);
    await page.getByText(`${read.toLocaleString("en-GB")} read, ${written.toLocaleString("en-GB")} written`).waitFor();
    const tiles = await page.locator(".tile dd").allInnerTexts();
    expectAmount(tiles[0] ?? "", cost);
    expect(numbersIn(tiles[2] ?? "")).toEqual([calls, groupBy(used(), modelOf).size]);

    /** Reads a table to its end: the name of each row, and its columns for cost, calls and tokens. */
    const expectTable = async (name: string, expected: ReadonlyMap<string, Sums>) => {
      await section(name).locator("tbody tr").first().waitFor();
      const more = section(name).getByRole("button", { name: /more$/ });
      while ((await more.count()) > 0) await more.click();
      // A session is named by its id until it has been read.
      await expect
        .poll(() =>
          section(name)
            .locator("th", { hasText: /^older-/ })
            .count(),
        )
        .toBe(0);
      const rows = await section(name).locator("tbody tr").all();
      expect(rows.length).toBe(expected.size);
      for (const row of rows) {
        const title = (await row.locator("th").innerText()).trim();
        const [shownCost = "", ...others] = await row.locator("td").allInnerTexts();
        const sums = expected.get(title);
        expect({ title, sums }).toEqual({ title, sums: expect.anything() });
        expectAmount(shownCost, sums?.cost ?? 0);
        const [calls, read, written] = others.map((text) => numbersIn(text)[0]);
        expect({ title, calls, read, written }).toEqual({
          ...{ title, calls: sums?.calls, read: sums?.read, written: sums?.written },
        });
      }
    };
    await expectTable("By day", groupBy(used(), dayOf));
    await expectTable("By model", groupBy(used(), modelOf));
    const bySession = [...sessions.values()].map((one) => [one.session.title, ownOf(one)] as const);
    expect(new Set(bySession.map(([title]) => title)).size).toBe(sessions.size);
    await expectTable("By session", new Map(bySession.filter(([, { calls }]) => calls > 0)));
  });

  it("agree in the table of sessions and its total", async () => {
    const { page } = open;
    await open.goTo("/sessions");
    await page.getByText(`${sessions.size} sessions`, { exact: true }).waitFor();
    const rows = await page.locator("table.sessions tbody tr").all();
    expect(rows.length).toBe(sessions.size);
    for (const row of rows) {
      const id = (await row.locator(".session-cell a").first().getAttribute("title")) ?? "";
      const exported = sessions.get(id) as Exported;
      const own = ownOf(exported);
      const cell = (name: string) => row.locator(`td[data-name="${name}"]`);
      expect([id, await cell("Messages").innerText()]).toEqual([id, `${exported.messages.length}`]);
      const tokens = numbersIn((await cell("Tokens").getAttribute("title")) ?? "")[0];
      expect([id, tokens]).toEqual([id, own.read + own.written]);
      expectAmount(await cell("Cost").innerText(), own.cost);
    }
  });

  it.each(["billing", "import-map"])("agree in the header and the details of %s", async (id) => {
    const { page } = open;
    const exported = sessions.get(id) as Exported;
    const own = ownOf(exported);
    await open.openSession(id);
    await page.locator(".session-facts").getByText(`${exported.messages.length} messages`).waitFor();
    const totals = await page.locator(".totals").innerText();
    expectAmount(totals.slice(totals.indexOf("US$")), own.cost);
    await page.locator(".totals").click();
    const fact = (name: string) => page.locator(".figures").first().getByRole("row", { name }).getByRole("cell");
    expect(numbersIn(await fact("Calls of models").innerText())).toEqual([own.calls]);
    expect(numbersIn(await fact("Tokens read").innerText())[0]).toBe(own.read);
    expect(numbersIn(await fact("Tokens written").innerText())[0]).toBe(own.written);
    expectAmount(await fact("Cost").innerText(), own.cost);
  });

  const used = () => messages.filter(({ usage }) => usage !== undefined);
  const modelOf = ({ usage }: Answer): string => usage.model;

  /** The day of a call, as the page names it. */
  function dayOf({ timestampMicros }: Answer): string {
    const at = new Date(timestampMicros / 1000);
    const isThisYear = at.getUTCFullYear() === new Date().getUTCFullYear();
    return new Intl.DateTimeFormat("en-GB", {
      ...{ day: "numeric", month: "short", timeZone: "UTC" },
      ...(!isThisYear && { year: "numeric" }),
    }).format(at);
  }
});
