import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { poll } from "./poll.js";

interface Reply {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

type Waiting = { resolve(result: Record<string, unknown>): void; reject(error: Error): void };

const ARGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--remote-debugging-pipe",
  "--window-size=400,800",
];

/** Headless Chromium, spoken to by the DevTools protocol over a pipe. */
export class Browser {
  readonly #process: ChildProcess;
  readonly #profile = mkdtempSync(join(tmpdir(), "session-pool-browser-"));
  readonly #waiting = new Map<number, Waiting>();
  readonly #input: Writable;
  #received = "";
  #lastId = 0;
  /** What pages wrote to their console as errors, and exceptions nobody caught. */
  readonly problems: string[] = [];

  constructor(program = process.env.CHROMIUM ?? "chromium") {
    const args = [...ARGS, `--user-data-dir=${this.#profile}`, "about:blank"];
    this.#process = spawn(program, args, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.#input = this.#process.stdio[3] as Writable;
    (this.#process.stdio[4] as Readable).on("data", (chunk: Buffer) => this.#receive(chunk.toString()));
  }

  async open(url: string): Promise<Page> {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId as string);
    await this.send("Runtime.enable", {}, sessionId as string);
    await this.send("Page.enable", {}, sessionId as string);
    await page.goTo(url);
    return page;
  }

  send(method: string, params: object = {}, sessionId?: string): Promise<Record<string, unknown>> {
    this.#lastId += 1;
    const id = this.#lastId;
    this.#input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.kill("SIGKILL");
    await ended;
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }

  #receive(text: string): void {
    const messages = (this.#received + text).split("\0");
    this.#received = messages.pop() ?? "";
    for (const message of messages) this.#handle(JSON.parse(message) as Reply);
  }

  #handle({ id, method, params, result, error }: Reply): void {
    if (method === "Runtime.exceptionThrown") this.problems.push(JSON.stringify(params?.exceptionDetails));
    if (method === "Runtime.consoleAPICalled" && params?.type === "error")
      this.problems.push(JSON.stringify(params.args));
    if (id === undefined) return;
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(result ?? {});
    else waiting?.reject(new Error(error.message));
  }
}

/** One tab. */
export class Page {
  readonly #browser: Browser;
  readonly #sessionId: string;

  constructor(browser: Browser, sessionId: string) {
    this.#browser = browser;
    this.#sessionId = sessionId;
  }

  async goTo(url: string): Promise<void> {
    await this.#browser.send("Page.navigate", { url }, this.#sessionId);
  }

  /** The value of an expression; a promise is waited for. */
  async evaluate<T>(expression: string): Promise<T> {
    const params = { expression, returnByValue: true, awaitPromise: true };
    const { result, exceptionDetails } = await this.#browser.send("Runtime.evaluate", params, this.#sessionId);
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return (result as { value: T }).value;
  }

  /** Resolves when the expression is true; it may throw before. */
  async until(expression: string): Promise<void> {
    await poll(() => this.evaluate<boolean>(expression).catch(() => false), expression);
  }

  /** A picture of the tab, as PNG. */
  async picture(): Promise<Buffer> {
    const { data } = await this.#browser.send("Page.captureScreenshot", { format: "png" }, this.#sessionId);
    return Buffer.from(data as string, "base64");
  }
}
