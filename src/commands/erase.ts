import { DomainError } from "../domain/errors.js";
import type { RootPool } from "../pool/root-pool.js";
import type { Pools } from "../pools.js";
import type { StorageManager } from "../storage/storage-manager.js";
import type { EraseProgress } from "../storage/storage-provider.js";
import { print } from "./print.js";
import { progressBar } from "./transfer/progress-bar.js";
import { type CommandTarget, withPools } from "./with-pools.js";

const PAGE = 1000;

type OnProgress = (progress: EraseProgress) => void;

export interface VacuumOptions {
  /** Whether to clear away what the database still keeps of the message, where it keeps something. */
  readonly vacuum: boolean;
  /** Whether to write the database's files anew for that. */
  readonly vacuumFull: boolean;
}

/** Erases a message, with a progress bar on a terminal, and prints what was done. */
export async function eraseMessage(
  { storage, namespace, limits }: CommandTarget,
  sessionId: string,
  messageId: string,
  options: VacuumOptions,
): Promise<void> {
  const vacuums = options.vacuum || options.vacuumFull;
  const erase = async (pools: Pools) => {
    const [erased] = await Promise.allSettled([eraseAll(pools.for(namespace), sessionId, messageId)]);
    // What is left of a message that was deleted can be cleared away, too.
    if (erased.status === "rejected" && !(vacuums && isNotFound(erased.reason))) throw erased.reason;
    if (erased.status === "fulfilled") print(`Erased: ${erased.value} ${erased.value === 1 ? "copy" : "copies"}`);
    await vacuumAfter(pools, options);
    if (erased.status === "rejected") throw erased.reason;
  };
  await withPools(storage, erase, { limits });
}

async function eraseAll(pool: RootPool, sessionId: string, messageId: string): Promise<number> {
  const erase = (onProgress: OnProgress) => pool.sessions.eraseMessage(sessionId, messageId, { onProgress });
  return (await withErasureBar(pool, erase)).copies;
}

/** Clears away what the database keeps after an erasure, or says that it keeps something. */
export async function vacuumAfter(pools: Pools, { vacuum, vacuumFull }: VacuumOptions): Promise<void> {
  if (vacuum || vacuumFull) await vacuumStore(pools, vacuumFull);
  else if (pools.vacuum) print("Old versions of rows stay in the database until a vacuum; --vacuum runs one");
}

/** Shows the progress of an erasure on a terminal. */
export async function withErasureBar<T>(pool: RootPool, erase: (onProgress: OnProgress) => Promise<T>): Promise<T> {
  const bar = progressBar("Erasing, round {round}:", "sessions | {copies} copies");
  bar.start(await countAll(pool.storage as StorageManager), 0, { round: 1, copies: 0 });
  const onProgress: OnProgress = ({ round, sessions, copies }) => {
    // Sessions that are deleted but not swept yet are processed, too.
    bar.setTotal(Math.max(bar.getTotal(), sessions));
    bar.update(sessions, { round, copies });
  };
  try {
    return await erase(onProgress);
  } finally {
    bar.stop();
  }
}

async function vacuumStore({ vacuum }: Pools, full: boolean): Promise<void> {
  if (vacuum === undefined) {
    print("Vacuumed: nothing, because this store leaves nothing behind that a vacuum could clear away");
    return;
  }
  const bar = progressBar("Vacuuming:", "pages");
  bar.start(1, 0);
  const onProgress = (pages: number, of: number) => {
    bar.setTotal(of);
    bar.update(pages);
  };
  try {
    await vacuum({ full, onProgress });
  } finally {
    bar.stop();
  }
  print(
    full
      ? "Vacuumed: the messages and their indexes were written anew, without old versions"
      : "Vacuumed: no old versions of rows are left; their bytes stay in free space until it is used again",
  );
  print("The write-ahead log, its archive and backups keep the message until they are removed");
}

function isNotFound(error: unknown): boolean {
  return error instanceof DomainError && error.code === "not_found";
}

async function countAll(storage: StorageManager): Promise<number> {
  let count = 0;
  let after: string | undefined = "";
  while (after !== undefined) {
    const page: Awaited<ReturnType<StorageManager["scanSessions"]>> = await storage.scanSessions(after, PAGE);
    count += page.keys.length;
    after = page.next;
  }
  return count;
}
