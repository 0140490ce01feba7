import { createInterface } from "node:readline";
import { DomainError } from "../../src/domain/errors.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { callOf, DEADLINE_MS, openRivals, type RivalTask, TARGET } from "./rival-calls.js";

/**
 * A process that works on one session together with others: reads tasks, one a line, and answers each with the codes of
 * the calls that failed.
 */
const [url, segments] = process.argv.slice(2) as [string, string];
const database = await openRivals(url);
const provider = new LogHistoryProvider(database.namespace("default"), {
  maxSegments: Number(segments),
  onAnomaly: (text) => process.stderr.write(`${text}\n`),
});
// Each process begins with a cache, as one that has worked on the session before.
await provider.getMessageCount(TARGET);
process.stdout.write("ready\n");

for await (const line of createInterface({ input: process.stdin })) {
  const task = JSON.parse(line) as RivalTask;
  const failures: string[] = [];
  for (let round = 0; round < task.rounds; round++) {
    try {
      await callOf(provider, { ...task, round }, { deadlineMs: Date.now() + DEADLINE_MS });
    } catch (error) {
      const code = error instanceof DomainError ? error.code : String(error);
      failures.push(`${task.kind} ${round} of writer ${task.writer}: ${code}`);
    }
  }
  process.stdout.write(`${JSON.stringify(failures)}\n`);
}
await provider.close();
await database.close();
