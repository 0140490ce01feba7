import { expect } from "vitest";
import { seededRandom } from "../simulation/random.js";
import { type Final, findViolations } from "./chaos-checker.js";
import { ChaosClient, readFinal, type Shared } from "./chaos-client.js";
import { ChaosDrafter } from "./chaos-drafter.js";
import type { Fleet } from "./chaos-fleet.js";
import { ChaosOwner } from "./chaos-owner.js";
import { ChaosUploader } from "./chaos-uploader.js";
import { ChaosWatcher } from "./chaos-watcher.js";

export const PROCESSES = 3;

/** How many further clients write drafts and edit messages, each in a session of its own. */
const DRAFTERS = 2;
/** How many of the shared sessions are followed. */
const WATCHERS = 3;

export interface ChaosSizes {
  readonly clients: number;
  /** How many of the clients edit sessions of their own. The others append to the shared sessions. */
  readonly owners: number;
  readonly sessions: number;
  /** How many further clients upload attachments and name them. */
  readonly uploaders?: number;
}

/**
 * Lets clients work while `disturb` causes faults, and then compares what they were told with what is stored. Resolves
 * to the sessions that name attachments, and what each names.
 */
export async function runChaos(
  fleet: Fleet,
  sizes: ChaosSizes,
  seed: number,
  disturb: () => Promise<void>,
): Promise<readonly Pick<ChaosUploader, "sessionId" | "named">[]> {
  const shared: Shared = { fleet, sessions: [], history: [] };
  for (let i = 0; i < sizes.sessions - sizes.owners; i++) {
    const sessionId = `shared-${i}`;
    await fleet.settle(i % PROCESSES, "POST", "/session", { sessionId });
    shared.sessions.push(sessionId);
  }
  const owners = Array.from(
    { length: sizes.owners },
    (_, i) => new ChaosOwner(`owner${i}`, fleet, seededRandom(seed + i)),
  );
  const drafters = Array.from(
    { length: DRAFTERS },
    (_, i) => new ChaosDrafter(`drafter${i}`, fleet, seededRandom(seed + 200 + i)),
  );
  const uploaders = Array.from(
    { length: sizes.uploaders ?? 0 },
    (_, i) => new ChaosUploader(`uploader${i}`, fleet, seededRandom(seed + 400 + i)),
  );
  const clients = Array.from(
    { length: sizes.clients - sizes.owners },
    (_, i) => new ChaosClient(`c${i}`, shared, seededRandom(seed + 100 + i)),
  );

  const watchers = shared.sessions
    .slice(0, WATCHERS)
    .map((session, i) => new ChaosWatcher(session, fleet, seededRandom(seed + 300 + i)));

  for (const watcher of watchers) watcher.start();
  let isOver = false;
  const work = Promise.all(
    [...owners, ...drafters, ...uploaders, ...clients].map((client) => client.work(() => isOver)),
  );
  const faults = disturb().finally(() => {
    isOver = true;
  });
  await Promise.all([work, faults]);

  for (const one of [...owners, ...drafters, ...uploaders]) await one.check();
  const finals = new Map<string, Final[]>();
  for (const session of shared.sessions) {
    finals.set(session, await Promise.all(Array.from({ length: PROCESSES }, (_, i) => readFinal(fleet, i, session))));
  }
  for (const [i, watcher] of watchers.entries()) {
    const ids = finals.get(shared.sessions[i] as string)?.[0]?.ids;
    const { problems } = watcher;
    await expect.poll(() => ({ problems, ids: watcher.ids })).toEqual({ problems: [], ids });
    await watcher.stop();
  }
  const acknowledged = shared.history.filter((one) => one.kind === "append" && one.position >= 0);
  console.info(`chaos: ${shared.history.length} calls noted, ${acknowledged.length} appends acknowledged`);
  expect(findViolations(shared.history, finals)).toEqual([]);
  expect([...owners, ...drafters, ...uploaders].flatMap(({ problems }) => problems)).toEqual([]);
  expect(drafters.reduce((sum, { finished }) => sum + finished, 0)).toBeGreaterThan(0);
  expect(acknowledged.length).toBeGreaterThan(sizes.clients);
  return uploaders;
}
