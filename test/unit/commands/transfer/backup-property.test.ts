import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RootPool } from "../../../../src/pool/root-pool.js";
import { LogHistoryProvider } from "../../../../src/storage/history/log-history-provider.js";
import type { Step } from "../../../contract/model/operations.js";
import { outcomeOf } from "../../../contract/model/run.js";
import { steps } from "../../../contract/model/sequences.js";
import { dyingStore } from "../../../fault/dying-store.js";
import {
  backupOf,
  contents,
  expectSound,
  openMemory,
  openPool,
  openSqlite,
  type Pool,
  restore,
  SMALL,
} from "./backup-pools.js";

/**
 * The histories hold forks of forks, children, copies, older messages, edits, reverts and deletions. Each is exported,
 * imported and exported again.
 */
describe("a backup of random histories", () => {
  const seed = Number(process.env.MODEL_SEED ?? Date.now() % 2 ** 31);
  const numRuns = Number(process.env.MODEL_RUNS ?? 60);
  it.each([
    ["memory", "memory", openMemory, openMemory],
    ["memory", "SQLite", openMemory, openSqlite],
    ["SQLite", "memory", openSqlite, openMemory],
  ] as const)(
    "from %s is byte for byte the same after an import into %s, which shows the same sessions",
    async (_from, _to, openFrom, openTo) => {
      console.log(`Backups: ${numRuns} sequences, MODEL_SEED=${seed}`);
      const property = fc.asyncProperty(steps, fc.nat(3), async (sequence, todos) => {
        const from = await openPool(openFrom);
        const to = await openPool(openTo);
        try {
          await fill(from, sequence, todos);
          const first = await backupOf(from);
          await restore(to, first);
          expect(await backupOf(to)).toBe(first);
          expect(await contents(to)).toEqual(await contents(from));
          await expectSound(to);
        } finally {
          await Promise.all([from.close(), to.close()]);
        }
      });
      await fc.assert(property, { numRuns, seed });
    },
    300_000,
  );

  it("that is imported a second time changes nothing", async () => {
    const property = fc.asyncProperty(steps, async (sequence) => {
      const from = await openPool(openMemory);
      const to = await openPool(openMemory);
      await fill(from, sequence, 2);
      const first = await backupOf(from);
      const { imported } = await restore(to, first);
      expect(await restore(to, first)).toEqual({ imported: 0, existing: imported, grown: 0 });
      expect(await backupOf(to)).toBe(first);
    });
    await fc.assert(property, { numRuns: 20, seed });
  });

  it("whose import was killed can be completed, and then shares what a complete import shares", async () => {
    const property = fc.asyncProperty(steps, fc.integer({ min: 1, max: 80 }), async (sequence, killedAt) => {
      const from = await openPool(openMemory);
      const to = await openPool(openMemory);
      await fill(from, sequence, 1);
      const first = await backupOf(from);
      const { store } = dyingStore(to.database.namespace("default"), killedAt);
      const killed = new RootPool({ storage: new LogHistoryProvider(store, SMALL) });
      await restore(killed, first).catch(({ message }) => expect(message).toMatch(/^The process/));
      await restore(to, first);
      expect(await contents(to)).toEqual(await contents(from));
      expect(await backupOf(to)).toBe(first);
      expect(await to.sweep({ repair: true })).toMatchObject({ orphans: 0 });
    });
    await fc.assert(property, { numRuns: 60, seed });
  });
});

async function fill(pool: Pool, sequence: readonly Step[], todos: number): Promise<void> {
  const provider = pool.storage?.active as LogHistoryProvider;
  for (const { by: _by, ...step } of sequence) {
    if (step.op === "sweep") await pool.sweep();
    else await outcomeOf(provider, step, { lists: new Map() });
  }
  const list = Array.from({ length: todos }, (_, i) => ({ id: `t${i}`, content: "c", status: "", priority: "" }));
  if (todos > 0) await pool.todos.replace(list);
}
