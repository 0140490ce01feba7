import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { guardedFolder } from "./guarded-folder.js";

const CHUNK = Buffer.alloc(64 * 1024);

/** Whether the tests may make disks: as root, unless a container forbids it. */
export async function canMount(): Promise<boolean> {
  try {
    const folder = await guardedFolder("session-pool-disk-", "none", 1);
    await folder.remove();
    return true;
  } catch (error) {
    console.warn(`Tests of full disks skipped: ${error instanceof Error ? error.message.trim() : error}`);
    return false;
  }
}

/** Fills the disk of a folder to its last byte. */
export async function fillDisk(folder: string): Promise<void> {
  const file = await open(fillerOf(folder), "a");
  try {
    for (let size = CHUNK.length; size >= 1; ) {
      try {
        const { bytesWritten } = await file.write(CHUNK, 0, size);
        if (bytesWritten === 0) size = Math.floor(size / 2);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
        size = Math.floor(size / 2);
      }
    }
  } finally {
    await file.close();
  }
}

/** Takes back what `fillDisk` has written. */
export async function freeDisk(folder: string): Promise<void> {
  await rm(fillerOf(folder));
}

function fillerOf(folder: string): string {
  return join(folder, "filler");
}
