// Takes the README's picture of the console: npm run --silent build && node scripts/screenshot.mjs docs/images/console.png
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const [picture] = process.argv.slice(2);
if (picture === undefined) throw new Error("Say where the picture goes: node scripts/screenshot.mjs <file.png>");

const text = (content) => ({ type: "text", text: content });
const HISTORY = [
  ["user", text("The nightly import fails since Tuesday. Can you find out why?")],
  [
    "assistant",
    text("I will look at the log of the last run first."),
    {
      type: "tool_use",
      data: { id: "t1", name: "read_file", input: { path: "logs/import-2026-11-19.log", tail: 40 } },
    },
  ],
  [
    "tool",
    {
      type: "tool_result",
      data: { tool_use_id: "t1", is_error: false },
      text: '02:00:04 reading orders.csv\n02:00:05 line 4211: unexpected column "customer_ref"\n02:00:05 import aborted, 0 of 18,304 rows stored',
    },
  ],
  [
    "assistant",
    text(
      "The export gained a column, customer_ref, on Tuesday, and the importer refuses columns that it does not know. There are two ways out: map the column, or ignore unknown ones.",
    ),
  ],
  ["user", text("Map it. Customers need it on their invoices.")],
  [
    "assistant",
    text("The mapping is in `columns.ts`. Now the tests:"),
    { type: "tool_use", data: { id: "t2", name: "bash", input: { command: "npm test -- import" } } },
  ],
  [
    "tool",
    {
      type: "tool_result",
      data: { tool_use_id: "t2", is_error: true },
      text: "FAIL test/import.test.ts > maps customer_ref\nAssertionError: expected orders.reference to be 'C-1009', received undefined\n    at test/import.test.ts:41:18",
    },
  ],
  [
    "assistant",
    text(
      "The loader dropped it; it keeps it now, and the tests pass. customer_ref goes to orders.reference now. The import of last night's file stored 18,304 rows.",
    ),
  ],
];
const OTHERS = [
  ["kyoto", "Kyoto in May"],
  ["release-notes", "Release notes for 2.4"],
  ["sql-review", "Review the slow report query"],
];

const server = spawn(process.execPath, ["dist/main.js", "serve", "--storage", "memory:"], {
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
  await seed((path, body) => post(`${url}${path}`, body));
  await takePicture(`${url}/#/session/import-fails`, picture);
} finally {
  server.kill();
}

async function seed(call) {
  for (const [sessionId, title] of OTHERS) await call("/session", { sessionId, title });
  await call("/session", { sessionId: "import", title: "Nightly import fails", metadata: { agent: "ops" } });
  const begun = Date.parse("2026-11-20T09:14:00Z");
  for (const [i, [role, ...parts]] of HISTORY.entries()) {
    const timestamp = new Date(begun + i * 21_000).toISOString();
    await call("/session/import/message", { info: { id: `m${i + 1}`, role, timestamp }, parts });
    if (i === 3)
      await call("/session/import/fork", {
        newSessionId: "import-fails",
        title: "Nightly import fails: map the column",
      });
    if (i > 3) await call("/session/import-fails/message", { info: { role, timestamp }, parts });
  }
}

async function post(url, body) {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${url}: ${await answer.text()}`);
}

async function takePicture(url, path) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  const page = await browser.newPage({
    viewport: { width: 1280, height: 800 },
    deviceScaleFactor: 1.25,
    locale: "en-GB",
    timezoneId: "UTC",
    colorScheme: "light",
  });
  await page.goto(url);
  await page.locator("article").getByText("18,304 rows.").waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await page.locator(".entry-failed").waitFor();
  await page.screenshot({ path });
  await browser.close();
}
