import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { writeBackup } from "../../src/commands/transfer/export-sessions.js";
import { checkFile, storeBackup } from "../../src/commands/transfer/import-sessions.js";
import type { FileItem, FileSession } from "../../src/commands/transfer/session-file.js";
import { DomainError } from "../../src/domain/errors.js";
import { RootPool } from "../../src/pool/root-pool.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import type { LogStore } from "../../src/storage/history/log-store.js";
import { dyingStore } from "./dying-store.js";
import { FAMILIES } from "./import-families.js";

/** A store that nothing is in. */
export interface FreshStore {
  readonly store: LogStore;
  /** Moves the store's clock. Absent where `canPassTime` is not set. */
  passTime?(ms: number): void;
  close(): Promise<void>;
}

const DAY_MS = 24 * 3600 * 1000;
const NOW_MICROS = 1_750_000_000_000_000;

/**
 * Kills an import at each of its calls to the store, or at every `stride`-th, and runs it again: the store then exports
 * the bytes of the file, and answers repeated forks as the store that the file came from. With `canPassTime`, a day and
 * sweeps may also pass in between.
 */
export function describeKilledImports(
  name: string,
  openStore: () => Promise<FreshStore>,
  { stride = 1, canPassTime = false } = {},
): void {
  describe(`an import into ${name} that was killed and is run again`, () => {
    it.each(Object.entries(FAMILIES))("restores %s", async (_family, fill) => {
      const source = await openStore();
      await fill(poolOf(source.store).sessions, poolOf(source.store));
      const text = await backupOf(source.store);
      const retries = await retriesOf(source.store, text);
      await source.close();
      const file = fileOf(text);

      /** Kills an import at a call, runs it again, and checks what is there then. Resolves to whether it was killed. */
      async function expectRestored(killedAt: number, isSwept: boolean): Promise<boolean> {
        const to = await openStore();
        const first = await importInto(dyingStore(to.store, killedAt).store, file).catch((error: Error) => error);
        if (first) expect(first.message).toMatch(/^The process (was killed|is dead)$/);
        if (isSwept) await sweepAway(to);
        await importInto(to.store, file);
        const about = `killed at call ${killedAt}${isSwept ? ", swept before the second run" : ""}`;
        expect(await backupOf(to.store), about).toBe(text);
        expect(await retriesOf(to.store, text), about).toEqual(retries);
        if (canPassTime) await sweepAway(to);
        expect(await poolOf(to.store).sweep({ repair: true }), about).toMatchObject({ orphans: 0 });
        expect(await backupOf(to.store), about).toBe(text);
        await to.close();
        return first !== undefined;
      }

      let kills = 0;
      for (let killedAt = 1; await expectRestored(killedAt, false); killedAt += stride) {
        kills += 1;
        if (canPassTime) await expectRestored(killedAt, true);
      }
      expect(kills).toBeGreaterThan(1);
    });
  });
}

/** Sweeps as often as it takes to clear away what an import has abandoned. */
async function sweepAway({ store, passTime }: FreshStore): Promise<void> {
  for (let sweeps = 0; sweeps < 3; sweeps++) {
    await poolOf(store).sweep();
    passTime?.(DAY_MS + 1);
  }
}

export function poolOf(store: LogStore): RootPool {
  return new RootPool({ storage: new LogHistoryProvider(store, { nowMicros: () => NOW_MICROS }) });
}

export async function backupOf(store: LogStore): Promise<string> {
  let text = "";
  await writeBackup(poolOf(store), async (data) => {
    text += data.toString();
  });
  return text;
}

export async function importInto(store: LogStore, path: string): Promise<void> {
  const handle: FileHandle = await open(path);
  try {
    const opened = await checkFile(handle, path);
    try {
      for (const { file } of opened.sections) await storeBackup(poolOf(store), { ...opened, file });
    } finally {
      await opened.close?.();
    }
  } finally {
    await handle.close();
  }
}

export function fileOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "session-pool-killed-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "backup.jsonl"), text);
  return join(folder, "backup.jsonl");
}

/** The answers to all calls that made the forks and shares of a backup, when they are repeated. */
export async function retriesOf(store: LogStore, text: string): Promise<readonly unknown[]> {
  const { sessions } = poolOf(store);
  const made = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as FileItem)
    .flatMap((item) => ("session" in item && item.session.origin ? [item.session] : []));
  return Promise.all(
    made.map(async ({ sessionId, origin }: FileSession) => {
      const { kind, sourceSessionId, upToMessageId } = origin as NonNullable<typeof origin>;
      const again =
        kind === "share"
          ? sessions.shareSession(sourceSessionId, { newSessionId: sessionId })
          : sessions.forkSession(sourceSessionId, { newSessionId: sessionId, upToMessageId });
      return again.catch((error: unknown) => (error instanceof DomainError ? error.code : Promise.reject(error)));
    }),
  );
}
