// Times first pages of lists of sessions over a file that `sums.mjs` has filled:
//
//     npm run build && node test/bench/lists.mjs FILE [folder of dist]
import { resolve } from "node:path";

const [file, dist = "dist"] = process.argv.slice(2);
const { RootPool, SqliteStorageProvider } = await import(resolve(dist, "index.js"));
const storage = await SqliteStorageProvider.open(file);
const { sessions } = new RootPool({ storage });
const LISTS = {
  "all sessions": {},
  "one owner": { owner: "user1" },
  "one label": { labels: ["team=t1"] },
  "two labels that no session has together": { labels: ["team=t1", "team=t2"] },
  "all sessions, with an estimated total": { withTotal: true },
};

for (const [what, query] of Object.entries(LISTS)) {
  const times = [];
  for (let round = 0; round < 9; round++) {
    const before = process.cpuUsage();
    await sessions.listSessions({ limit: 100, ...query });
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  console.log(`${what}: ${times.toSorted((a, b) => a - b)[4].toFixed(1)} ms of processor time`);
}
await storage.close();
