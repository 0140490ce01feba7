import type { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { Fleet, type Work } from "./fleet.js";
import { type Random, seededRandom } from "./random.js";
import { runJobs } from "./run-jobs.js";
import { Scheduler } from "./scheduler.js";
import type { StoreKind } from "./sim-run.js";
import { weatherOf } from "./weather.js";

const SECRET = "a secret that must go";
const SESSIONS = ["a", "b", "c", "d"] as const;
const WRITERS = 3;
const OPERATIONS = 7;

export interface ErasingReport {
  readonly deaths: number;
  /** The places that held the message. */
  readonly copies: number;
}

/** What is erased: a message of the session `a`, or everything of the owner of `a`. */
export type Erased = "a message" | "an owner";

/**
 * Runs one seed: something is erased while others copy, fork, merge, truncate and edit the sessions that hold it, on
 * processes that die, pause and lose answers. Throws when its content is left after the erasure has answered. On a
 * store that checks names, no row may hold it; on others, nothing that anybody can read.
 */
export async function simulateErasing(seed: number, store: StoreKind, erased: Erased): Promise<ErasingReport> {
  const random = seededRandom(seed);
  const scheduler = new Scheduler(random, weatherOf(random, "half"), false);
  const fleet = new Fleet({ store }, "half", random, scheduler, false);
  await prepare(fleet.quiet().provider, random);
  const run = new ErasingRun(random, scheduler, fleet, erased);
  await run.run();
  const quiet = fleet.quiet().provider;
  const copies = run.copies ?? (await erase(quiet, erased)).copies;
  await check(fleet, quiet, store);
  return { deaths: scheduler.deaths, copies };
}

async function prepare(provider: LogHistoryProvider, random: Random): Promise<void> {
  for (const sessionId of SESSIONS) {
    await provider.createSession({ sessionId, ...(sessionId === "a" && { owner: "ada" }) });
  }
  const parts = [{ id: "", type: "text", text: SECRET }];
  await provider.logMessages("a", [{ id: "secret", role: "user", parts, timestampMicros: 3 }]);
  for (const sessionId of SESSIONS) {
    const messages = Array.from({ length: 1 + random.int(3) }, (_, i) => say(`${sessionId}${i}`, 2 * i + 1));
    await provider.logMessages(sessionId, messages);
  }
}

class ErasingRun {
  readonly #random: Random;
  readonly #scheduler: Scheduler;
  readonly #fleet: Fleet;
  readonly #erased: Erased;
  #fresh = 0;
  /** The answer to the erasure. */
  copies: number | undefined;

  constructor(random: Random, scheduler: Scheduler, fleet: Fleet, erased: Erased) {
    this.#random = random;
    this.#scheduler = scheduler;
    this.#fleet = fleet;
    this.#erased = erased;
  }

  async run(): Promise<void> {
    for (let i = 0; i <= WRITERS; i++) this.#fleet.slots.push(this.#fleet.start());
    const jobs = Array.from({ length: WRITERS }, (_, i) => this.#write(i));
    await runJobs(this.#scheduler, this.#fleet, [...jobs, this.#erase()]);
  }

  async #write(slot: number): Promise<void> {
    for (let i = 0; i < OPERATIONS; i++) await this.#fleet.call(slot, this.#next());
  }

  /** Erases at some moment, and repeats the call until there is an answer. */
  async #erase(): Promise<void> {
    for (let i = this.#random.int(6); i > 0; i--)
      await this.#fleet.call(WRITERS, (provider) => provider.getMessageCount("a"));
    for (let i = 0; i < 5 && this.copies === undefined; i++) {
      const answer = await this.#fleet.call(WRITERS, (provider) => erase(provider, this.#erased));
      if (typeof answer === "object") this.copies = (answer as { copies: number }).copies;
    }
  }

  #next(): Work {
    const random = this.#random;
    const session = random.pick(SESSIONS);
    const target = random.pick(SESSIONS.filter((id) => id !== session));
    const others = SESSIONS.filter((id) => id !== "a");
    const fresh = this.#fresh++;
    switch (random.pick(["copy", "copy", "copy", "role", "older", "older", "revert", "unrevert", "fork", "append"])) {
      case "copy":
        return (provider, call) => provider.forkConversation(session, target, { as: "copy", ...call });
      case "role":
        return (provider) => provider.updateMessage(session, "secret", { role: `role ${fresh}` });
      case "older":
        return (provider) => provider.logMessages(session, [say(`older ${fresh}`, 1 + random.int(5))]);
      // The message stays in the session that the erasure names.
      case "revert":
        return (provider) =>
          provider.truncateMessages(random.pick(others), null, { keepForUnrevert: random.chance(0.7) });
      case "unrevert":
        return (provider) => provider.restoreMessages(session);
      case "fork":
        return (provider) => provider.forkConversation(session, `fork ${fresh}`, { as: "fork" });
      default:
        return (provider) => provider.logMessages(session, [say(`new ${fresh}`, undefined)]);
    }
  }
}

function erase(provider: LogHistoryProvider, erased: Erased): Promise<{ readonly copies: number }> {
  return erased === "an owner" ? provider.eraseOwner("ada") : provider.eraseMessage("a", "secret");
}

async function check({ db }: Fleet, provider: LogHistoryProvider, store: StoreKind): Promise<void> {
  const rows = db.logNames().flatMap((log) => db.rows(log));
  const left = rows.filter(({ entry }) => JSON.stringify(entry?.body.parts ?? []).includes(SECRET));
  // On a store that cannot check names, a late writer may leave the content in a log that nobody reads.
  if (store === "atomic" && left.length > 0) throw new Error(`${left.length} rows hold the secret`);
  for (const { sessionId, undo, deleted } of db.records()) {
    if (deleted) continue;
    if (undo) await provider.restoreMessages(sessionId).catch(() => {});
    const messages = await provider.getSessionMessages(sessionId, { includeAncestors: true });
    if (JSON.stringify(messages).includes(SECRET)) throw new Error(`Session ${sessionId} shows the secret`);
  }
}

function say(id: string, timestampMicros: number | undefined) {
  return { id, role: "user", parts: [], timestampMicros };
}
