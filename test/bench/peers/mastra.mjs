// Measures Mastra's libsql store, for the table of peers in docs/performance.md. Its packages are installed in a folder
// of their own:
//
//     npm install --prefix FOLDER @mastra/libsql @mastra/core
//     node test/bench/peers/mastra.mjs FOLDER
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [where = "."] = process.argv.slice(2);
const { LibSQLStore } = createRequire(join(resolve(where), "package.json"))("@mastra/libsql");

const SENTENCE = 'The café\'s "daily" log says: run 42 passed,\nthen the parser met an unexpected token. ';
const TEXT = SENTENCE.repeat(20).slice(0, 1024);
const MS = 3000;
const BATCH = 1000;
const PAGE = 100;
const NAME = "Mastra LibSQLStore";
const BEGUN_MS = Date.now() - 1_000_000_000;

let made = 0;

function newMessages(threadId, count) {
  return Array.from({ length: count }, () => {
    made += 1;
    const content = { format: 2, parts: [{ type: "text", text: TEXT }] };
    const createdAt = new Date(BEGUN_MS + made);
    return { id: `message-${made}`, threadId, resourceId: "user", role: "user", type: "v2", content, createdAt };
  });
}

async function grown(folder, name, length) {
  const store = new LibSQLStore({ url: `file:${join(folder, `${name}.db`)}` });
  await store.init();
  const thread = { id: "t", resourceId: "user", title: "", metadata: {}, createdAt: new Date(), updatedAt: new Date() };
  await store.saveThread({ thread });
  for (let left = length; left > 0; left -= BATCH) {
    await store.saveMessages({ messages: newMessages("t", Math.min(left, BATCH)), format: "v2" });
  }
  return store;
}

async function measure(what, call) {
  await call();
  const begun = performance.now();
  const before = process.cpuUsage();
  let calls = 0;
  for (; performance.now() - begun < MS; calls++) await call();
  const { user, system } = process.cpuUsage(before);
  const rate = Math.round((calls / (performance.now() - begun)) * 1000).toLocaleString("en-US");
  console.log(`| ${NAME}, ${what} | ${((user + system) / 1000 / calls).toFixed(3)} | ${rate} |`);
}

/** Reads a page. Pages are counted from the newest message. */
async function read(store, page) {
  const selectBy = { pagination: { page, perPage: PAGE } };
  const { messages } = await store.getMessagesPaginated({ threadId: "t", format: "v2", selectBy });
  if (messages.length !== PAGE) throw new Error(`A page holds ${messages.length} messages`);
}

/** Returns the bytes of the database and its write-ahead log. */
async function disk(folder, name) {
  const files = (await readdir(folder)).filter((file) => file.startsWith(name) && !file.endsWith("-shm"));
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(folder, file))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

const folder = await mkdtemp(join(tmpdir(), "mastra-"));
try {
  console.log("| | CPU a call, ms | calls/s |\n|---|---|---|");
  const written = await grown(folder, "append", 0);
  await measure("append", () => written.saveMessages({ messages: newMessages("t", 1), format: "v2" }));
  const small = await grown(folder, "small", 10_000);
  await measure("last 100 of 10,000", () => read(small, 0));
  const bytes = await disk(folder, "small");
  const large = await grown(folder, "large", 100_000);
  await measure("100 in the middle of 100,000", () => read(large, 500));
  console.log(`${NAME}: ${Math.round(bytes / 10_000).toLocaleString("en-US")} bytes of disk a message`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
process.exit();
