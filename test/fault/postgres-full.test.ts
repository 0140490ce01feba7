import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";
import { PostgresLogDatabase } from "../../src/storage/postgres/postgres-log-database.js";
import { entry, own, seqs } from "../contract/log-store/fixtures.js";
import { giveTo, serverUser } from "../support/postgres-folder.js";
import { freshSchemaUrl, query, startOwnPostgresServer } from "../support/postgres-server.js";

const run = promisify(execFile);
const MIB = 1024 * 1024;

const disk = await smallDisk();
const server = disk === null ? null : await startOwnPostgresServer({ fast: true });
afterAll(async () => {
  await server?.stop();
  if (disk === null) return;
  await run("umount", [disk]);
  await rm(disk, { recursive: true });
});

it.skipIf(!server)(
  "keeps what it has acknowledged when the disk is full, and stores again once there is room",
  async () => {
    const [filler, space] = [join(disk!, "filler"), join(disk!, "space")];
    await mkdir(space);
    await giveTo(await serverUser(), space);
    await writeFile(filler, Buffer.alloc(4 * MIB));
    const { url } = server!;
    await query(url, `CREATE TABLESPACE small LOCATION '${space}'`);
    await query(url, "ALTER ROLE session_pool SET default_tablespace = small");
    const database = await PostgresLogDatabase.connect(freshSchemaUrl(server!));
    const store = database.namespace("default");
    await own(store, "u.1");
    const append = (seq: number) => {
      const text = randomBytes(20_000).toString("hex");
      return store.append("u.1", seq, [entry("u.1", seq, { parts: [{ id: "", type: "text", text }] })]);
    };
    let stored = 0;
    const fillUp = async () => {
      for (;;) stored += (await append(stored + 1)) as number;
    };
    const full = { code: "unavailable", message: "The disk of the PostgreSQL server is full" };
    await expect(fillUp()).rejects.toMatchObject(full);
    await expect(append(stored + 1)).rejects.toMatchObject(full);
    expect(stored).toBeGreaterThan(10);
    const all = Array.from({ length: stored }, (_, i) => i + 1);
    expect(await seqs(store, "u.1", 1, stored + 9)).toEqual(all);
    await rm(filler);
    expect(await append(stored + 1)).toBe(1);
    expect(await seqs(store, "u.1", 1, stored + 9)).toEqual([...all, stored + 1]);
    await database.close();
  },
);

/** Mounts a disk in memory that is quickly full. Resolves to null, and prints why, where this is not allowed. */
async function smallDisk(): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), "session-pool-disk-"));
  try {
    await run("mount", ["-t", "tmpfs", "-o", "size=16m,mode=755", "tmpfs", folder]);
    return folder;
  } catch (error) {
    console.log(`A full disk is not tested, because none can be mounted: ${String((error as Error).message).trim()}`);
    await rm(folder, { recursive: true });
    return null;
  }
}
