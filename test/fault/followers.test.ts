import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { DomainError } from "../../src/domain/errors.js";
import type { FollowPosition } from "../../src/domain/page.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { SqliteLogDatabase } from "../../src/storage/sqlite/sqlite-log-database.js";

const ROUNDS = 25;
const EDITS = 15;
const LAST = "last";
/** Small limits, so that short histories take every path. */
const SIZES = {
  pollMs: { first: 2, most: 4 },
  heartbeatMs: 20,
  maxSegments: 4,
  maxEdits: 3,
  maxLogEntries: 7,
  maxFollowerBacklog: 8,
  chunk: 3,
};

let folder: string;
let databases: SqliteLogDatabase[];
let providers: LogHistoryProvider[];

const random = (below: number) => Math.floor(Math.random() * below);
const either = () => providers[random(2)] as LogHistoryProvider;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-"));
  const path = join(folder, "s.db");
  databases = [await SqliteLogDatabase.open(path), await SqliteLogDatabase.open(path)];
  providers = databases.map((database) => new LogHistoryProvider(database.namespace("default"), SIZES));
});
afterEach(async () => {
  for (const provider of providers) await provider.close();
  for (const database of databases) await database.close();
  rmSync(folder, { recursive: true });
});

const lineOf = ({ id, role }: { readonly id: string; readonly role: string }) => `${id} ${role}`;

/**
 * Follows a session and applies its events to a copy. It stops now and then and resumes, until it receives the last
 * message.
 */
async function follow(sessionId: string): Promise<readonly string[]> {
  const ids: string[] = [];
  let at: FollowPosition | number = 0;
  for (;;) {
    let left = random(12);
    try {
      for await (const event of await either().followMessages(sessionId, at)) {
        if (event.kind === "truncated") {
          expect(event.messageCount).toBeLessThanOrEqual(ids.length);
          ids.length = event.messageCount;
        } else if (event.kind === "updated") {
          expect(ids[event.message.position ?? -1]?.split(" ")[0]).toBe(event.message.id);
          ids[event.message.position ?? -1] = lineOf(event.message);
        } else if (event.kind === "deleted") {
          expect(ids.splice(event.position, 1)[0]?.split(" ")[0]).toBe(event.messageId);
        } else if (event.kind === "appended") {
          expect(event.message.position).toBe(ids.length);
          ids.push(lineOf(event.message));
          if (event.message.id === LAST) return ids;
        }
        at = event.at;
        if (random(6) === 0) await sleep(random(6));
        if (left-- <= 0 && random(3) === 0) break;
      }
    } catch (error) {
      // A slow reader is ended, and a reader whose messages were swept must resume.
      if (!(error instanceof DomainError) || !["resource_exhausted", "unavailable"].includes(error.code)) throw error;
    }
  }
}

async function edit(provider: LogHistoryProvider, sessionId: string, made: { count: number }): Promise<void> {
  const all = await provider.getSessionMessages(sessionId);
  const some = all[random(all.length)];
  const message = (timestampMicros?: number) => ({ id: `m${made.count++}`, role: "user", parts: [], timestampMicros });
  const kind = random(16);
  if (some === undefined || kind < 6) {
    await provider.logMessages(
      sessionId,
      Array.from({ length: 1 + random(3) }, () => message()),
    );
  } else if (kind < 8) await provider.logMessages(sessionId, [message(some.timestampMicros - random(2))]);
  else if (kind > 13) await provider.updateMessage(sessionId, some.id, { role: `role${random(3)}` });
  else if (kind > 11) await provider.deleteMessage(sessionId, some.id);
  else if (kind < 11) await provider.truncateMessages(sessionId, some.id, { keepForUnrevert: kind > 8 });
  else await provider.restoreMessages(sessionId);
}

async function write(provider: LogHistoryProvider, sessionId: string, made: { count: number }): Promise<void> {
  for (let i = 0; i < EDITS; i++) {
    try {
      await edit(provider, sessionId, made);
    } catch (error) {
      // The other process has removed the message, or there is nothing to bring back.
      if (
        !(error instanceof DomainError) ||
        !["invalid_argument", "failed_precondition", "not_found"].includes(error.code)
      )
        throw error;
    }
    if (random(2)) await sleep(random(4));
  }
}

it("followers end with the history that two processes edit, even if they stop and resume", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const sessionId = `s${round}`;
    const made = { count: 0 };
    await either().createSession({ sessionId });
    const followers = [follow(sessionId), follow(sessionId)];
    await Promise.all(providers.map((provider) => write(provider, sessionId, made)));
    await either().logMessages(sessionId, [{ id: LAST, role: "user", parts: [] }]);
    const history = (await either().getSessionMessages(sessionId)).map(lineOf);
    for (const ids of await Promise.all(followers)) expect(ids).toEqual(history);
  }
});
