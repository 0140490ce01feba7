import type { Pools } from "../pools.js";
import type { StorageManager } from "../storage/storage-manager.js";
import { print } from "./print.js";
import { progressBar } from "./transfer/progress-bar.js";
import { type CommandTarget, withPools } from "./with-pools.js";

const PAGE = 1000;

/** Erases a message, with a progress bar on a terminal, and prints what was done. */
export async function eraseMessage(
  { storage, namespace, limits }: CommandTarget,
  sessionId: string,
  messageId: string,
): Promise<void> {
  const erase = async (pools: Pools) => {
    const pool = pools.for(namespace);
    const bar = progressBar("Erasing, round {round}:", "sessions | {copies} copies");
    bar.start(await countSessions(pool.storage as StorageManager), 0, { round: 1, copies: 0 });
    const onProgress = ({ round, sessions, copies }: { round: number; sessions: number; copies: number }) => {
      // Sessions that are deleted but not swept yet are processed, too.
      bar.setTotal(Math.max(bar.getTotal(), sessions));
      bar.update(sessions, { round, copies });
    };
    try {
      return (await pool.sessions.eraseMessage(sessionId, messageId, { onProgress })).copies;
    } finally {
      bar.stop();
    }
  };
  const copies = await withPools(storage, erase, { limits });
  print(`Erased: ${copies} ${copies === 1 ? "copy" : "copies"}`);
}

async function countSessions(storage: StorageManager): Promise<number> {
  let count = 0;
  let after: string | undefined = "";
  while (after !== undefined) {
    const page: Awaited<ReturnType<StorageManager["scanSessions"]>> = await storage.scanSessions(after, PAGE);
    count += page.keys.length;
    after = page.next;
  }
  return count;
}
