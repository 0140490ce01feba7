import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type BrowserContext, chromium } from "playwright-core";
import { NotHere } from "../support/toolchain.js";

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
    args: [...ARGUMENTS, ...extraArguments],
    viewport,
    isMobile,
    hasTouch: isMobile,
    locale: "en-GB",
    timezoneId: "UTC",
  });
  const close = context.close.bind(context);
  context.close = async (options) => {
    await close(options);
    // The last processes of the browser may still write to it.
    await rm(profile, { recursive: true, force: true, maxRetries: 20 });
  };
  return context;
}
