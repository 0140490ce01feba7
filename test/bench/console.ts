import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type CDPSession, chromium, type Page } from "playwright-core";
import { codingSteps } from "../../scripts/demo/messages.mjs";
import { startServer } from "./processes.js";

// Measures the console with a long session in which every third message is a tool call:
//
//     npm run bench -- console [messages] [seconds of scrolling and of live appends]

const [count = 100_000, seconds = 20] = process.argv.slice(2).map(Number);
const APPENDS_A_SECOND = 20;
/** How far the page scrolls in each frame, which is as fast as a quick turn of the wheel. */
const STEP_PX = 400;
const BATCH = 999;

const folder = await mkdtemp(join(tmpdir(), "session-pool-console-"));
const server = await startServer(`sqlite:${join(folder, "long.db")}`, undefined);
const url = `http://127.0.0.1:${server.httpPort}`;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
try {
  await fill();
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable");
  await measure(page, devtools);
} finally {
  await browser.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}

async function measure(page: Page, devtools: CDPSession): Promise<void> {
  const lastShown = page.locator(`article[data-position="${count - 1}"]`);
  const beganMs = performance.now();
  await page.goto(`${url}/#/session/long`);
  await lastShown.waitFor();
  print("first view, from the address to the last message", ms(performance.now() - beganMs));
  print("  memory", await memory(devtools));

  const jumpedMs = performance.now();
  await page.keyboard.press("g");
  await page.locator('article[data-position="0"]').waitFor();
  print("from the last message to the first, by g", ms(performance.now() - jumpedMs));

  print(`scrolling down by ${STEP_PX} px a frame`, await scroll(page, STEP_PX));
  print(`scrolling up by ${STEP_PX} px a frame`, await scroll(page, -STEP_PX));
  print("  memory", await memory(devtools));

  await page.keyboard.press("G");
  await lastShown.waitFor();
  const [frames] = await Promise.all([watchFrames(page, seconds), appendLive()]);
  const last = count - 1 + seconds * APPENDS_A_SECOND;
  const caughtUpMs = performance.now();
  await page.locator(`article[data-position="${last}"]`).waitFor();
  print(`${APPENDS_A_SECOND} appends a second, at the end of the list`, frames);
  print("  from the last append to its message on the page", ms(performance.now() - caughtUpMs));
  print("  memory", await memory(devtools));
}

async function fill(): Promise<void> {
  await post("/session", { sessionId: "long", title: "A long session" });
  const messages = codingSteps(Math.ceil(count / 3)).slice(0, count);
  for (let at = 0; at < messages.length; at += BATCH) {
    const batch = messages.slice(at, at + BATCH).map(({ role, parts }) => ({ info: { role }, parts }));
    await post("/session/long/message:batch", { messages: batch });
  }
}

/** Appends at a fixed rate, however fast the page shows the messages. */
async function appendLive(): Promise<void> {
  const steps = codingSteps(seconds * APPENDS_A_SECOND).slice(0, seconds * APPENDS_A_SECOND);
  const beganMs = performance.now();
  for (const [i, { role, parts }] of steps.entries()) {
    await sleep(Math.max(0, beganMs + (i * 1000) / APPENDS_A_SECOND - performance.now()));
    await post("/session/long/message", { info: { role }, parts });
  }
}

async function scroll(page: Page, stepPx: number): Promise<string> {
  const run = `(() => {
    const list = document.querySelector(".scroller");
    const step = () => { list.scrollTop += ${stepPx}; window.scrolling = requestAnimationFrame(step); };
    step();
  })()`;
  await page.evaluate(run);
  const frames = await watchFrames(page, seconds);
  await page.evaluate("cancelAnimationFrame(window.scrolling)");
  return frames;
}

/**
 * Counts the frames that were drawn and those that a display with 60 frames a second would have shown besides, and
 * measures the longest wait for a frame.
 */
async function watchFrames(page: Page, forSeconds: number): Promise<string> {
  const waits = (await page.evaluate(`new Promise((done) => {
    const waits = [];
    let before = performance.now();
    const endMs = before + ${forSeconds * 1000};
    const frame = (at) => {
      waits.push(at - before);
      before = at;
      if (at < endMs) requestAnimationFrame(frame);
      else done(waits);
    };
    requestAnimationFrame(frame);
  })`)) as readonly number[];
  const dropped = waits.reduce((sum, wait) => sum + Math.max(0, Math.round(wait / (1000 / 60)) - 1), 0);
  const longest = Math.max(...waits);
  const share = ((100 * dropped) / (dropped + waits.length)).toFixed(1);
  return `${waits.length} frames, ${dropped} dropped (${share} %), longest ${ms(longest)}`;
}

/** Returns the heap and the number of nodes after a garbage collection. */
async function memory(devtools: CDPSession): Promise<string> {
  await devtools.send("HeapProfiler.collectGarbage");
  const { metrics } = await devtools.send("Performance.getMetrics");
  const metric = (name: string) => metrics.find((one) => one.name === name)?.value ?? 0;
  return `${(metric("JSHeapUsedSize") / 2 ** 20).toFixed(1)} MB, ${metric("Nodes")} nodes`;
}

async function post(path: string, body: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}

function print(what: string, measured: string): void {
  console.log(`${what}: ${measured}`);
}
