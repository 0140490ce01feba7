// What usage costs an append, against the same append without it, and against one with the same fields, or as many
// bytes more, in its metadata. All of them take turns in one process:
//
//     npm run build && node test/bench/usage.mjs [memory or sqlite] [callers] [rounds] [folder of dist]
//
// Each caller has a session of its own. A SQLite file is made in the folder of TMPDIR.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [store = "memory", callers = "1", rounds = "15", dist = "dist"] = process.argv.slice(2);
const { MemoryStorageProvider, RootPool, SqliteStorageProvider } = await import(resolve(dist, "index.js"));
const CALLERS = Number(callers);
/** How many appends of each kind are measured at a time. */
const SLICE = 2000;
const SENTENCE = 'The café\'s "daily" log says: run 42 passed,\nthen the parser met an unexpected token. ';
const text = { id: "", type: "text", text: SENTENCE.repeat(20).slice(0, 1024) };
/** What SQLite stores of a usage beside the body: the usage once more, the sums, and both in an index. */
const BESIDE = 420;

let made = 0;
const KINDS = {
  "without usage": () => ({}),
  "with usage": () => ({ usage: usageOf(made++) }),
  "its fields as metadata": () => ({ metadata: usageOf(made++) }),
  "its bytes as metadata": () => ({ metadata: { usage: JSON.stringify(Object.values(usageOf(made++))) } }),
  "all bytes as metadata": () => ({
    metadata: { usage: JSON.stringify(Object.values(usageOf(made++))) + " ".repeat(BESIDE) },
  }),
};

function usageOf(n) {
  return {
    ...{ model: "gpt-5", provider: "openai", inputTokens: 1000 + (n % 500), outputTokens: 100 + (n % 50) },
    ...{ cachedInputTokens: 512, cost: "0.00123", currency: "USD", durationMicros: 1_500_000 + n },
    startTimeMicros: 1_767_225_600_000_000,
  };
}

const folder = mkdtempSync(join(tmpdir(), "session-pool-usage-"));
const subjects = [];
for (const [kind, make] of Object.entries(KINDS)) {
  const file = join(folder, `${subjects.length}.db`);
  const storage = store === "sqlite" ? await SqliteStorageProvider.open(file) : new MemoryStorageProvider();
  const { sessions } = new RootPool({ storage });
  for (let i = 0; i < CALLERS; i++) await sessions.createSession({ sessionId: `s${i}` });
  subjects.push({ kind, make, storage, sessions, times: [] });
}
for (let round = -3; round < Number(rounds); round++) {
  for (let i = 0; i < subjects.length; i++) {
    const subject = subjects[(i + round + subjects.length) % subjects.length];
    const micros = await slice(subject);
    if (round >= 0) subject.times.push(micros);
  }
}
const [base] = subjects;
for (const { kind, times } of subjects) {
  const ratios = times.map((micros, i) => micros / base.times[i]);
  const ratio = median(ratios).toFixed(2);
  console.log(`${store}, ${kind}: ${median(times).toFixed(1)} us, ${ratio} of the time without usage`);
}
for (const { storage } of subjects) await storage.close();
rmSync(folder, { recursive: true });

/** The processor time of an append, in microseconds. */
async function slice({ sessions, make }) {
  const each = Math.max(1, Math.floor(SLICE / CALLERS));
  const messages = Array.from({ length: each * CALLERS }, () => ({ role: "assistant", parts: [text], ...make() }));
  const before = process.cpuUsage();
  const caller = async (_, c) => {
    for (let i = 0; i < each; i++) await sessions.appendMessages(`s${c}`, [messages[c * each + i]]);
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / messages.length;
}

function median(values) {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}
