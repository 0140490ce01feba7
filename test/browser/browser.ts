import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { afterEach } from "vitest";
import { NotHere, ROOT } from "../support/toolchain.js";

/** The folder for screenshots of the last run, which people can look at. */
export const PICTURES = join(ROOT, "node_modules/.cache/console");

/** Ends only what hangs, like the limit of `expect.poll`. On a busy machine, Playwright's own 30 s have passed. */
const WAIT_MS = 120_000;

const PROGRAMS = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/** Keeps the browser from sending requests of its own, such as for updates and reports. */
const ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
];

/** The browsers that are open, each with the addresses whose answers have not ended. */
const running = new Map<BrowserContext, ReadonlySet<string>>();

export async function findBrowser(): Promise<string> {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const found = PROGRAMS.flatMap((program) => folders.map((folder) => join(folder, program))).find(existsSync);
  if (found === undefined) throw new NotHere(`no ${PROGRAMS.join(", ")} on the PATH`);
  return found;
}

export interface Screen {
  readonly width: number;
  readonly height: number;
  readonly isMobile?: boolean;
}

export const PHONE: Screen = { width: 390, height: 844, isMobile: true };
export const DESKTOP: Screen = { width: 1280, height: 800 };

/** Opens a browser with a new profile. Closing the context ends the browser and removes the profile. */
export async function openBrowser(
  executablePath: string,
  { isMobile = false, ...viewport }: Screen,
  extraArguments: readonly string[] = [],
): Promise<BrowserContext> {
  const profile = await mkdtemp(join(tmpdir(), "session-pool-browser-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    timeout: WAIT_MS,
    args: [...ARGUMENTS, ...extraArguments],
    viewport,
    isMobile,
    hasTouch: isMobile,
    locale: "en-GB",
    timezoneId: "UTC",
  });
  context.setDefaultTimeout(WAIT_MS);
  const unanswered = new Set<string>();
  context.on("request", (request) => unanswered.add(request.url()));
  context.on("requestfinished", (request) => unanswered.delete(request.url()));
  context.on("requestfailed", (request) => unanswered.delete(request.url()));
  running.set(context, unanswered);
  const close = context.close.bind(context);
  context.close = async (options) => {
    running.delete(context);
    await close(options);
    // The last processes of the browser may still write to it.
    await rm(profile, { recursive: true, force: true, maxRetries: 20 });
  };
  return context;
}

/** Shows what the open pages looked like when a test failed. */
afterEach(async ({ task }) => {
  if (task.result?.state !== "fail") return;
  for (const [context, unanswered] of running) {
    for (const page of context.pages()) await show(page, unanswered, task.id);
  }
});

async function show(page: Page, unanswered: ReadonlySet<string>, id: string): Promise<void> {
  const path = join(PICTURES, `failed-${id}.png`);
  try {
    await mkdir(PICTURES, { recursive: true });
    await page.screenshot({ path, timeout: 10_000 });
    const text = await page.locator("body").innerText({ timeout: 10_000 });
    console.log(`${page.url()}, see ${path}; unanswered: ${[...unanswered].join(", ")}\n${text.slice(0, 2000)}`);
  } catch (error) {
    console.log(`${page.url()} cannot be shown`, error);
  }
}
