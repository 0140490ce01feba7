// Takes the pictures of the documentation: npm run --silent build && node scripts/screenshot.mjs docs/images
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Say where the pictures go: node scripts/screenshot.mjs <folder>");

const DESKTOP = { viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1.25, colorScheme: "light" };
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, colorScheme: "dark" };
/** The pictures. `last` selects what appears last: once it is there, everything else is, too. */
const PICTURES = [
  { file: "console.png", screen: DESKTOP, address: "/session/import-map", last: ".entry-failed" },
  { file: "console-phone.png", screen: PHONE, address: "/session/import-map", last: ".call-failed" },
  { file: "console-usage.png", screen: DESKTOP, address: "/usage", last: "svg[aria-label='Failed calls by tool']" },
];

const store = mkdtempSync(join(tmpdir(), "session-pool-screenshot-"));
const storage = ["--storage", `sqlite:${join(store, "demo.db")}`];
const demo = join(store, "demo.jsonl");
writeFileSync(demo, run(["scripts/demo-store.mjs"]));
run(["dist/main.js", "import", ...storage, demo]);
const server = spawn(process.execPath, ["dist/main.js", "serve", ...storage], {
  cwd: ROOT,
  env: {
    ...process.env,
    SESSION_POOL_GRPC_ADDRESS: "127.0.0.1:0",
    SESSION_POOL_HTTP_ADDRESS: "127.0.0.1:0",
  },
  stdio: ["ignore", "pipe", "inherit"],
});
try {
  const [line] = await once(createInterface(server.stdout), "line");
  const url = /HTTP on (http:\S+),/.exec(line)[1];
  for (const picture of PICTURES) await take(url, picture);
} finally {
  server.kill();
  await once(server, "exit");
  rmSync(store, { recursive: true });
}

function run(args) {
  return execFileSync(process.execPath, args, { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 });
}

async function take(url, { file, screen, address, last }) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  const page = await browser.newPage({
    ...screen,
    locale: "en-GB",
    timezoneId: "UTC",
  });
  await page.goto(`${url}/#${address}`);
  if (address.startsWith("/session/")) {
    await page.locator("article").getByText("18,304 rows.").waitFor();
    await page.getByText("Live updates", { exact: true }).waitFor();
  }
  await page.locator(last).first().waitFor();
  await page.screenshot({ path: join(folder, file) });
  await browser.close();
}
