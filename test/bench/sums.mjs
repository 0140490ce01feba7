// Fills a SQLite file with sessions of an agent that calls a model and tools, and times sums of usage over them:
//
//     npm run build && node test/bench/sums.mjs [sessions] [messages per session] [file]
//
// A file that is named stays, and is not filled again. The store has no clock of its own to set, so once all is filled,
// each session gets the update time that it would have if its messages had been appended when they say.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import Database from "libsql";
import { RootPool, SqliteStorageProvider } from "../../dist/index.js";

const SESSIONS = Number(process.argv[2] ?? 100_000);
const MESSAGES = Number(process.argv[3] ?? 10);
const DAY_MICROS = 86_400_000_000;
const DAYS = 90;
const MODELS = ["gpt-5", "claude-opus-4-5", "claude-haiku-4-5", "gemini-3-pro"];
const TOOLS = ["bash", "read", "edit", "grep", "web_search"];
const TEXT = "The agent looks at the file, changes two lines of it, and runs the tests again. ".repeat(4);

const folder = mkdtempSync(join(tmpdir(), "session-pool-sums-"));
const file = process.argv[4] ?? join(folder, "sums.db");
const isFilled = existsSync(file);
const nowMicros = Date.now() * 1000;
let clockMicros = nowMicros;
let storage = await SqliteStorageProvider.open(file, { nowMicros: () => clockMicros });
let { sessions } = new RootPool({ storage });

if (!isFilled) {
  await measured(`${SESSIONS} sessions of ${MESSAGES} messages`, fill);
  await storage.close();
  dateBack();
  storage = await SqliteStorageProvider.open(file);
  sessions = new RootPool({ storage }).sessions;
}
const since = { sinceMicros: nowMicros - 7 * DAY_MICROS };
for (const groupBy of ["day", "model", "owner", "day,model", "session", "tool"]) {
  await measured(`${groupBy}, last 7 days`, () => rowsOf({ groupBy, ...since }));
  await measured(`${groupBy}, all`, () => rowsOf({ groupBy }));
}
await storage.close();
rmSync(folder, { recursive: true });

async function fill() {
  for (let i = 0; i < SESSIONS; i++) {
    const sessionId = `s${i}`;
    const begin = Math.floor(nowMicros - (1 - i / SESSIONS) * DAYS * DAY_MICROS);
    clockMicros = begin + MESSAGES * 1_000_000;
    await sessions.createSession({ sessionId, owner: `user${i % 1000}`, labels: { team: `t${i % 10}` } });
    await sessions.appendMessages(
      sessionId,
      Array.from({ length: MESSAGES }, (_, n) => messageOf(i, n, begin)),
    );
  }
  clockMicros = nowMicros;
  return SESSIONS;
}

/** Gives each session the time of its creation as its update time. */
function dateBack() {
  const db = new Database(file);
  db.exec("UPDATE sessions SET update_time = body ->> 'createTimeMicros'");
  db.exec("UPDATE labels SET update_time = (SELECT update_time FROM sessions WHERE sessions.uid = labels.uid)");
  db.close();
}

/** A question, then turns of a call and its result. */
function messageOf(i, n, begin) {
  const timestampMicros = begin + n * 1_000_000;
  const text = { id: "", type: "text", text: TEXT };
  if (n % 2 === 0) {
    const data = { tool_use_id: `c${n - 1}`, is_error: (i + n) % 13 === 0, content: TEXT };
    const parts = n === 0 ? [text] : [{ id: "", type: "tool_result", text: "", data }];
    return { role: "user", parts, timestampMicros };
  }
  const data = { id: `c${n}`, name: TOOLS[(i + n) % TOOLS.length], input: { command: "npm test" } };
  const usage = {
    ...{ model: MODELS[i % MODELS.length], provider: "p", inputTokens: 1000 + n, outputTokens: 100 + (i % 50) },
    ...{ cost: "0.00123", currency: "USD", durationMicros: 500_000 + ((i * 7919 + n) % 9_000_000) },
  };
  return { role: "assistant", parts: [text, { id: "", type: "tool_use", text: "", data }], timestampMicros, usage };
}

async function rowsOf(query) {
  let rows = 0;
  let calls = 0;
  let cursor;
  do {
    const page = await sessions.sumUsage({ ...query, limit: 1000, cursor });
    rows += page.rows.length;
    if (page.rows.length === 0 || calls === 0) calls++;
    cursor = page.next;
  } while (cursor !== undefined);
  return `${rows} rows after ${calls} calls`;
}

async function measured(what, work) {
  const begin = performance.now();
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  const seconds = ((performance.now() - begin) / 1000).toFixed(2);
  console.log(`${what}: ${seconds} s, ${((user + system) / 1e6).toFixed(2)} s of processor time, ${result}`);
}
