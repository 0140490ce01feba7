import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Call } from "../../src/domain/call.js";
import type { DomainError } from "../../src/domain/errors.js";
import { RootPool } from "../../src/pool/root-pool.js";
import { SqliteStorageProvider } from "../../src/storage/sqlite/sqlite-storage-provider.js";
import { poll } from "../support/poll.js";

const SESSIONS = ["s0", "s1", "s2"];
const CLIENTS = 24;
const CALLS = 60;

let folder: string;
let pools: RootPool[];

const random = (below: number) => Math.floor(Math.random() * below);

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-"));
  const path = join(folder, "s.db");
  pools = [];
  for (let i = 0; i < 2; i++) pools.push(new RootPool({ storage: await SqliteStorageProvider.open(path) }));
  for (const sessionId of SESSIONS) await pools[0]?.sessions.createSession({ sessionId });
});
afterEach(async () => {
  for (const pool of pools) await pool.close();
  rmSync(folder, { recursive: true });
});

/** Returns call options with a deadline, with a signal that is soon aborted, or with neither. */
function someCall(): Call {
  const kind = random(3);
  if (kind === 0) return { deadlineMs: Date.now() + random(12) };
  return kind === 1 ? { signal: AbortSignal.timeout(random(12)) } : {};
}

it("stores what it acknowledges, once and in order, even if callers give up while they wait", async () => {
  const acknowledged: string[] = [];
  const refusals = new Set<string>();
  const client = async (name: number) => {
    for (let i = 0; i < CALLS; i++) {
      const session = SESSIONS[random(SESSIONS.length)] as string;
      const sessions = (pools[random(2)] as RootPool).sessions;
      const ids = [`${name}.${i}`, ...(random(4) === 0 ? [`${name}.${i}b`] : [])];
      try {
        await sessions.appendMessages(
          session,
          ids.map((id) => ({ id, role: "user", parts: [] })),
          someCall(),
        );
        acknowledged.push(...ids.map((id) => `${session} ${id}`));
      } catch (error) {
        refusals.add((error as DomainError).code);
      }
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, name) => client(name)));
  await poll(() => pools.every(({ sessions }) => sessions.turnLock.size === 0), "all turns are released");

  const stored: string[] = [];
  for (const session of SESSIONS) {
    const messages = (await pools[1]?.sessions.getMessages(session)) ?? [];
    stored.push(...messages.map(({ id }) => `${session} ${id}`));
    const times = messages.map(({ timestampMicros }) => timestampMicros);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  }
  const all = new Set(stored);
  expect(all.size).toBe(stored.length);
  expect(acknowledged.filter((one) => !all.has(one))).toEqual([]);
  expect(acknowledged.length).toBeGreaterThan(0);
  expect([...refusals].sort()).toEqual(["canceled", "deadline_exceeded"]);
});
