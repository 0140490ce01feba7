import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PIECE_BYTES } from "../../src/domain/attachment.js";
import type { SweepReport } from "../../src/storage/storage-provider.js";
import type { Operation } from "../simulation/operations.js";
import { type Random, seededRandom } from "../simulation/random.js";
import { poll } from "../support/poll.js";
import type { Inspection } from "./sqlite-child.js";
import { SqliteClient } from "./sqlite-client.js";
import { SqliteDrafter } from "./sqlite-drafter.js";
import { bundleChild, Killed, SqliteProcess } from "./sqlite-process.js";
import { SqliteUploader } from "./sqlite-uploader.js";

const CLIENTS = 4;
const SHARED = "shared";
const DRAFTED = "drafted";
const ATTACHED = ["attached 1", "attached 2"];

/**
 * Runs a mixed load on one file, whose process is killed with SIGKILL this many times. The seed decides the load and
 * after how many answers the process is killed.
 */
export function describeKills(rounds: number): void {
  describe(`a SQLite file whose process is killed ${rounds} times`, () => {
    let folder: string;
    let child: Awaited<ReturnType<typeof bundleChild>>;

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "session-pool-"));
      child = await bundleChild();
    });
    afterAll(() => {
      child.remove();
      rmSync(folder, { recursive: true });
    });

    it("holds everything that was acknowledged exactly once, and sweeps leave nothing once all is deleted", async () => {
      const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
      console.info(`SEED=${seed}`);
      const random = seededRandom(seed);
      const clients = Array.from({ length: CLIENTS }, (_, i) => new SqliteClient(`c${i}`, random));
      const shared = new SharedSession();
      const others = [
        new SqliteDrafter(DRAFTED, random),
        ...ATTACHED.map((sessionId) => new SqliteUploader(sessionId, random)),
      ];
      const path = join(folder, "my.db");
      for (let round = 0; round < rounds; round++) {
        const one = new SqliteProcess(child.script, path);
        await check(one, clients, shared, others);
        await loadUntilKilled(one, clients, shared, others, random);
      }
      const last = new SqliteProcess(child.script, path);
      await check(last, clients, shared, others);
      await clearAway(last, clients, others, path);
      await last.end();
    });
  });
}

async function check(
  process: SqliteProcess,
  clients: readonly SqliteClient[],
  shared: SharedSession,
  others: readonly (SqliteDrafter | SqliteUploader)[],
): Promise<void> {
  expect((await process.tell<Inspection>({ do: "inspect" })).integrity).toBe("ok");
  for (const client of clients) await client.check(process);
  await shared.check(process);
  for (const other of others) await other.check(process);
}

async function loadUntilKilled(
  one: SqliteProcess,
  clients: readonly SqliteClient[],
  shared: SharedSession,
  others: readonly (SqliteDrafter | SqliteUploader)[],
  random: Random,
): Promise<void> {
  one.killAfter(one.answers + random.int(150));
  await Promise.all([
    ...clients.map((client) => client.work(one)),
    ...others.map((other) => other.work(one)),
    ...clients.map((_, i) => shared.append(one, `w${i}`)),
    untilKilled(async () => {
      for (;;) await one.tell({ do: "sweep", repair: false });
    }),
  ]);
  await one.exited();
}

/**
 * Deletes all sessions, and checks that nothing is left after sweeping. An entry that a kill had orphaned would be
 * left.
 */
async function clearAway(
  process: SqliteProcess,
  clients: readonly SqliteClient[],
  others: readonly (SqliteDrafter | SqliteUploader)[],
  path: string,
): Promise<void> {
  await process.tell({ do: "sweep", repair: true });
  expect(await process.tell<Inspection>({ do: "inspect" })).toMatchObject({ integrity: "ok", orphans: [] });
  await untilOnlyNamed(process, others);
  for (const other of others) if (other instanceof SqliteUploader) await checkErasures(process, other, path);
  for (const client of clients) {
    await client.check(process);
    await client.deleteAll(process);
  }
  for (const id of [SHARED, DRAFTED, ...ATTACHED])
    await process.tell({ do: "perform", operation: { op: "delete", id } });
  // A sweep may only mark what a later one removes, and a source is removed only after its forks. So everything is
  // gone after two sweeps in a row that removed nothing.
  for (let idle = 0; idle < 2; ) {
    const report = await process.tell<SweepReport>({ do: "sweep", repair: false });
    idle = report.sessions + report.ranges + (report.attachments ?? 0) > 0 ? 0 : idle + 1;
  }
  const left = await process.tell<Inspection>({ do: "inspect" });
  expect(left).toEqual({ integrity: "ok", orphans: [], records: 0, places: 0, attached: [0, 0, 0] });
}

/** Erases messages, and looks for the bytes of their attachments in all files. */
async function checkErasures(process: SqliteProcess, uploader: SqliteUploader, path: string): Promise<void> {
  const { gone, kept } = await uploader.eraseSome(process);
  await uploader.check(process);
  const files = [path, `${path}-wal`, `${path}-shm`].map((file) => readFileSync(file));
  const held = (marks: readonly string[]) => marks.filter((mark) => files.some((bytes) => bytes.includes(mark)));
  expect(held(gone)).toEqual([]);
  expect(held(kept)).toEqual(kept);
}

/** Sweeps until the only attachments that are left are those that messages name, with exactly their pieces. */
async function untilOnlyNamed(
  process: SqliteProcess,
  others: readonly (SqliteDrafter | SqliteUploader)[],
): Promise<void> {
  const sizes = others.flatMap((one) => (one instanceof SqliteUploader ? [...one.named.values()] : []));
  const pieces = sizes.reduce((sum, size) => sum + Math.ceil(size / PIECE_BYTES), 0);
  let left = "";
  const isSwept = async () => {
    await process.tell({ do: "sweep", repair: false });
    const { attached } = await process.tell<Inspection>({ do: "inspect" });
    left = JSON.stringify(attached.slice(0, 2));
    return left === JSON.stringify([sizes.length, pieces]);
  };
  await poll(isSwept, `of [rows, pieces] only [${sizes.length}, ${pieces}] are left`).catch((error) => {
    throw new Error(`${left} are left`, { cause: error });
  });
  for (const other of others) await other.check(process);
}

/** A session that all clients append to. Every acknowledged message must be stored once. */
class SharedSession {
  readonly #acknowledged = new Set<string>();
  #made = false;
  #next = 0;

  async append(process: SqliteProcess, writer: string): Promise<void> {
    await untilKilled(async () => {
      const create: Operation = { op: "create", id: SHARED, parent: null, title: null };
      await process.tell({ do: "perform", operation: create });
      this.#made = true;
      for (;;) {
        const id = `${writer} ${++this.#next}`;
        const messages = [{ id, ts: null, body: id }];
        const append: Operation = { op: "append", id: SHARED, messages, expected: null };
        expect(await process.tell({ do: "perform", operation: append })).toMatchObject({ ids: [id] });
        this.#acknowledged.add(id);
      }
    });
  }

  async check(process: SqliteProcess): Promise<void> {
    if (!this.#made) return;
    const ids: string[] = [];
    for (let more = true; more; ) {
      const query = { newestFirst: false, ancestors: false, offset: ids.length, limit: 1000 };
      const operation: Operation = { op: "list", id: SHARED, ...query };
      const page = await process.tell<{ messages: { id: string }[]; more: boolean }>({ do: "perform", operation });
      ids.push(...page.messages.map(({ id }) => id));
      ({ more } = page);
    }
    const stored = new Set(ids);
    expect(stored.size).toBe(ids.length);
    expect([...this.#acknowledged].filter((id) => !stored.has(id))).toEqual([]);
  }
}

async function untilKilled(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
  }
}
