import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { BrowserContext, Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { openBrowser, PICTURES, type Screen } from "./browser.js";

/** An answer in JSON of any shape. */
// biome-ignore lint/suspicious/noExplicitAny: tests read single fields of many kinds of answers.
export type Answer = any;

export function jsonLines(text: string): readonly Answer[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** Calls the REST API as another client would. Any status other than 200 fails the test. */
export async function callRest(
  httpUrl: string,
  method: string,
  path: string,
  body?: unknown,
  key?: string,
): Promise<Answer> {
  const response = await fetch(httpUrl + path, {
    method,
    headers: { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  expect({ path, status: response.status, answer }).toEqual({ path, status: 200, answer });
  return answer;
}

export function textMessage(id: string, role: string, text: string): object {
  return { info: { id, role }, parts: [{ type: "text", text }] };
}

/** Resolves once the list of messages has kept its place and its length for 20 frames in a row. */
export async function isStill(page: Page): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const list = document.querySelector(".scroller");
    let frames = 0;
    let last;
    const look = () => {
      const now = list.scrollTop + " " + list.scrollHeight;
      frames = now === last ? frames + 1 : 0;
      last = now;
      frames === 20 ? resolve() : requestAnimationFrame(look);
    };
    look();
  })`);
}

/** The console in a browser of its own. It records what goes wrong on the page. */
export class ConsolePage {
  readonly page: Page;
  /** Uncaught errors, and what the browser logs as errors. */
  readonly problems: string[] = [];
  readonly #httpUrl: string;
  readonly #context: Pick<BrowserContext, "close">;

  private constructor(httpUrl: string, context: Pick<BrowserContext, "close">, page: Page) {
    this.#httpUrl = httpUrl;
    this.#context = context;
    this.page = page;
    page.on("pageerror", (error) => this.problems.push(String(error)));
    page.on("console", (line) => line.type() === "error" && this.problems.push(line.text()));
  }

  static async open(browserPath: string, httpUrl: string, screen: Screen): Promise<ConsolePage> {
    const context = await openBrowser(browserPath, screen);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    return new ConsolePage(httpUrl, context, await context.newPage());
  }

  /** Opens a tab in a browser that stays open when the tab is closed. */
  static async openTab(browser: BrowserContext, httpUrl: string): Promise<ConsolePage> {
    const page = await browser.newPage();
    return new ConsolePage(httpUrl, page, page);
  }

  close(): Promise<void> {
    return this.#context.close();
  }

  /** Loads the page again, at an address such as `/session/a?at=3`. */
  async goTo(address: string): Promise<void> {
    await this.page.goto("about:blank");
    await this.page.goto(`${this.#httpUrl}/#${address}`);
  }

  async openSession(sessionId: string, query = ""): Promise<void> {
    await this.goTo(`/session/${encodeURIComponent(sessionId)}${query}`);
    await this.isLive();
  }

  /**
   * Goes to an address without loading the page again if it is loaded already, which takes a fraction of the time.
   * Closes all toasts.
   */
  async show(address: string): Promise<void> {
    if (!this.page.url().startsWith(this.#httpUrl)) return this.goTo(address);
    await this.page.evaluate("document.querySelectorAll('.toast [aria-label=Dismiss]').forEach((one) => one.click())");
    // The todos are shown first, because the session that is still shown could otherwise be mistaken for the next one.
    await this.page.evaluate("location.hash = '#/todos'");
    await this.page.locator(".conversation").waitFor({ state: "detached" });
    await this.page.evaluate(`location.hash = ${JSON.stringify(`#${address}`)}`);
  }

  async showSession(sessionId: string): Promise<void> {
    await this.show(`/session/${encodeURIComponent(sessionId)}`);
    await this.isLive();
  }

  isLive(): Promise<void> {
    return this.page.getByText("Live updates", { exact: true }).waitFor();
  }

  message(position: number): Locator {
    return this.page.locator(`article[data-position="${position}"]`);
  }

  isStill(): Promise<void> {
    return isStill(this.page);
  }

  /** Selects a message and presses one of its buttons. */
  async useTool(position: number, label: string): Promise<void> {
    await this.message(position)
      .locator(".message-body")
      .click({ position: { x: 8, y: 12 } });
    await this.pressTool(position, label);
  }

  /** Presses a button of the selected message. On a touch screen it may be behind "More". */
  async pressTool(position: number, label: string): Promise<void> {
    const tools = this.message(position).locator(".message-tools");
    await tools.waitFor();
    const more = tools.getByRole("button", { name: "More", exact: true });
    const tool = tools.getByRole("button", { name: label, exact: true });
    if (!(await tool.isVisible()) && (await more.isVisible())) await more.click();
    await tool.click();
  }

  async useMenu(label: string): Promise<void> {
    await this.page.getByRole("button", { name: "Actions", exact: true }).click();
    await this.page.getByRole("menuitem", { name: label, exact: true }).click();
  }

  get dialog(): Locator {
    return this.page.getByRole("dialog");
  }

  /** Closes the dialog that is open or about to open. */
  async dismiss(): Promise<void> {
    await this.dialog.waitFor();
    await this.page.keyboard.press("Escape");
    await this.dialog.waitFor({ state: "detached" });
  }

  /** Presses a button of the open dialog, and waits until the dialog has closed. */
  async confirm(label: string): Promise<void> {
    await this.dialog.getByRole("button", { name: label, exact: true }).click();
    await this.dialog.waitFor({ state: "detached" });
  }

  toast(text: string | RegExp): Locator {
    return this.page.locator(".toast").filter({ hasText: text });
  }

  async expectNoSideways(): Promise<void> {
    expect(await this.page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  }

  /** Only parts of the page scroll, and never the page. */
  async expectNoScroll(): Promise<void> {
    expect(await this.page.evaluate("document.documentElement.scrollHeight <= innerHeight")).toBe(true);
  }

  async picture(name: string): Promise<void> {
    await mkdir(PICTURES, { recursive: true });
    await this.page.screenshot({ path: join(PICTURES, `${name}.png`) });
  }
}
