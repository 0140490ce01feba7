import { setImmediate } from "node:timers/promises";
import type { Call } from "../../src/domain/call.js";
import { DomainError } from "../../src/domain/errors.js";
import type { FeedEvent, FeedFilter } from "../../src/domain/feed.js";
import { labelTexts } from "../../src/domain/labels.js";
import type { Session } from "../../src/domain/session.js";
import type { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { Fleet, type Instance, type Work } from "./fleet.js";
import { type Random, seededRandom } from "./random.js";
import { runJobs } from "./run-jobs.js";
import { Scheduler } from "./scheduler.js";
import type { SimDatabase } from "./sim-database.js";
import { SWEEP_AGE_MS, TOUCH_DELAY_MS, weatherOf } from "./weather.js";

const SESSIONS = ["a", "b", "c"] as const;
const OWNERS = ["x", "y", ""] as const;
const LABELS = [{}, { k: "1" }] as const;
const WRITERS = 3;
const OPERATIONS = 12;
const LOOKS = 6;
const SWEEPS = 3;
/** After so many heartbeats in a row a reader has heard of everything. */
const QUIET_HEARTBEATS = 6;
/** For so long appends after a change leave the place as it is: several looks of a tail. */
const SLACK_MS = 20 * TOUCH_DELAY_MS;
/** A time that every clock is past. */
const PAST_MICROS = 1;

export interface WatchingReport {
  readonly deaths: number;
  /** How many events the readers got. */
  readonly events: number;
  /** How many sessions they hold in the end. */
  readonly held: number;
}

interface Audience {
  readonly filter: FeedFilter;
  readonly call: Call;
}

/** Readers of all sessions, of those with a label, and two that are bound to owners. */
const AUDIENCES: readonly Audience[] = [
  { filter: {}, call: {} },
  { filter: { labels: ["k=1"] }, call: {} },
  { filter: {}, call: { access: { owner: "x" } } },
  { filter: { labels: ["k=1"] }, call: { access: { owner: "y" } } },
];

/**
 * Runs one seed: readers keep lists of sessions by the feed, through any process, stop after any event and resume by
 * its token, while others write, and processes die, pause and lose answers. Throws when a list is not that of the store
 * once all is quiet.
 */
export async function simulateWatching(seed: number): Promise<WatchingReport> {
  const random = seededRandom(seed);
  const scheduler = new Scheduler(random, weatherOf(random, "half"), false);
  const engine = { undeleteMs: 1_000_000 * SWEEP_AGE_MS };
  const fleet = new Fleet({ store: "atomic", hasFeed: true, engine }, "half", random, scheduler, false);
  fleet.db.updateSlackMicros = SLACK_MS * 1000;
  const run = new WatchingRun(random, scheduler, fleet);
  await run.run();
  const { provider } = fleet.quiet();
  // Sessions that have expired are gone from lists at once, and from the feed some seconds later.
  await provider.sweep();
  for (const reader of run.readers) await reader.finish(provider);
  const [events, held] = [run.readers.map((reader) => reader.events), run.readers.map((reader) => reader.held)];
  const sum = (counts: readonly number[]) => counts.reduce((a, b) => a + b, 0);
  return { deaths: scheduler.deaths, events: sum(events), held: sum(held) };
}

class WatchingRun {
  readonly #random: Random;
  readonly #scheduler: Scheduler;
  readonly #fleet: Fleet;
  readonly readers: readonly SimWatcher[];
  #fresh = 0;
  #writersLeft = WRITERS;

  constructor(random: Random, scheduler: Scheduler, fleet: Fleet) {
    this.#random = random;
    this.#scheduler = scheduler;
    this.#fleet = fleet;
    this.readers = AUDIENCES.map((audience) => new SimWatcher(audience, fleet.db));
  }

  async run(): Promise<void> {
    for (const reader of this.readers) await reader.begin(this.#fleet.quiet().provider);
    for (let i = 0; i < WRITERS; i++) this.#fleet.slots.push(this.#fleet.start());
    const writers = Array.from({ length: WRITERS }, (_, i) => this.#write(i));
    const readers = this.readers.map((reader) => this.#read(reader));
    await runJobs(this.#scheduler, this.#fleet, [...writers, ...readers, this.#sweep()]);
    for (const { process } of this.#fleet.slots) process.kill();
  }

  async #write(slot: number): Promise<void> {
    for (let i = 0; i < OPERATIONS; i++) {
      await this.#fleet.call(slot, this.#next());
      await this.#wait(slot, this.#random.pick([0, 0, TOUCH_DELAY_MS / 2, 2 * TOUCH_DELAY_MS]));
    }
    this.#writersLeft--;
  }

  /** Reads as long as others write, each time through some process. */
  async #read(reader: SimWatcher): Promise<void> {
    for (let i = 0; i < LOOKS || this.#writersLeft > 0; i++) {
      const slot = this.#random.int(WRITERS);
      const instance = this.#fleet.slots[slot] as Instance;
      const pause = () => this.#wait(slot, this.#random.pick([0, 0, 1, TOUCH_DELAY_MS]));
      await reader.look(instance, this.#random.int(6), pause);
      await this.#wait(slot, this.#random.pick([0, 20, 60]));
    }
  }

  async #sweep(): Promise<void> {
    for (let i = 0; i < SWEEPS && this.#writersLeft > 0; i++) {
      await this.#wait(0, 50);
      if (this.#random.chance(0.5)) this.#scheduler.nowMs += SWEEP_AGE_MS + 1;
      await this.#fleet.call(1, (provider) => provider.sweep());
    }
  }

  async #wait(slot: number, ms: number): Promise<void> {
    const { process } = this.#fleet.slots[slot] as Instance;
    if (ms > 0) await Promise.race([this.#scheduler.pause(process, ms), process.died]);
  }

  #next(): Work {
    const random = this.#random;
    const sessionId = random.pick(SESSIONS);
    const fresh = this.#fresh++;
    const [owner, labels] = [random.pick(OWNERS), random.pick(LABELS)];
    const say = (id: string) => ({ id, role: "user", parts: [] });
    switch (random.pick(OPERATION_NAMES)) {
      case "create":
        return (provider, call) => provider.createSession({ sessionId, owner, labels }, call);
      case "append":
        return (provider, call) => provider.logMessages(sessionId, [say(`m${fresh}`)], call);
      case "title":
        return (provider, call) => provider.updateSession(sessionId, { title: `t${fresh}` }, call);
      case "label":
        return (provider, call) => provider.updateSession(sessionId, { labels }, call);
      case "give":
        return (provider, call) => provider.updateSession(sessionId, { owner }, call);
      case "fork":
        return (provider, call) => provider.forkConversation(sessionId, `f${fresh}`, { as: "fork", ...call });
      case "truncate":
        return (provider, call) => provider.truncateMessages(sessionId, null, call);
      case "delete":
        return (provider, call) => provider.deleteSession(sessionId, call);
      case "undelete":
        return (provider, call) => provider.undeleteSession(sessionId, call);
      case "expire":
        return (provider, call) => provider.updateSession(sessionId, { expireTimeMicros: PAST_MICROS }, call);
    }
  }
}

const OPERATION_NAMES = [
  ...(["create", "create", "create", "append", "append", "append", "append", "append", "append"] as const),
  ...(["title", "label", "label", "give", "give", "fork", "truncate"] as const),
  ...(["delete", "delete", "undelete", "expire"] as const),
];

/** What a list shows of a session. */
type Held = Pick<Session, "revision" | "messageCount">;

/** A client that keeps a list of sessions by the events of the feed. */
class SimWatcher {
  readonly #audience: Audience;
  readonly #db: SimDatabase;
  readonly #list = new Map<string, Held>();
  #at: string | undefined;
  events = 0;

  constructor(audience: Audience, db: SimDatabase) {
    this.#audience = audience;
    this.#db = db;
  }

  get held(): number {
    return this.#list.size;
  }

  /** Begins while there are no sessions. */
  async begin(provider: LogHistoryProvider): Promise<void> {
    await this.#follow(provider, new Promise(() => {}), (_event) => true);
  }

  /** Takes this many events at most, with a pause after each, until nothing comes or the process has died. */
  async look({ provider, process }: Instance, most: number, pause: () => Promise<void>): Promise<void> {
    let left = most;
    // Each stream begins with a heartbeat.
    let heartbeats = 0;
    await this.#follow(provider, process.died, async (event) => {
      await pause();
      return event.kind === "heartbeat" ? ++heartbeats > 1 : --left <= 0;
    });
  }

  /** Reads until nothing comes any more, and compares the list with that of the store. */
  async finish(provider: LogHistoryProvider): Promise<void> {
    let heartbeats = 0;
    await this.#follow(provider, new Promise(() => {}), (event) => {
      heartbeats = event.kind === "heartbeat" ? heartbeats + 1 : 0;
      return heartbeats > QUIET_HEARTBEATS;
    });
    await this.#compare(provider);
  }

  async #follow(
    provider: LogHistoryProvider,
    died: Promise<"died">,
    isEnough: (event: FeedEvent) => boolean | Promise<boolean>,
  ): Promise<void> {
    const stop = new AbortController();
    const { filter, call } = this.#audience;
    try {
      const watching = provider.watchSessions(filter, this.#at, { ...call, signal: stop.signal });
      const stream = await Promise.race([watching, died]);
      if (stream === "died") return;
      const events = stream[Symbol.asyncIterator]();
      for (;;) {
        const next = await Promise.race([events.next(), died]);
        if (next === "died" || next.done) return;
        this.#take(next.value);
        if (await Promise.race([isEnough(next.value), died])) break;
      }
      await Promise.race([events.return?.(), died]);
    } catch (error) {
      if (!(error instanceof DomainError && PASSING.has(error.code))) throw error;
    } finally {
      stop.abort();
      await setImmediate();
    }
  }

  #take(event: FeedEvent): void {
    this.#at = event.at;
    if (event.kind === "heartbeat") return;
    this.events++;
    if (event.kind === "deleted") {
      this.#list.delete(event.sessionId);
      return;
    }
    const { sessionId, revision, messageCount } = event.session;
    if (this.#isMeant(sessionId)) this.#list.set(sessionId, { revision, messageCount });
    else this.#list.delete(sessionId);
  }

  /**
   * A reader with labels hears that a session has lost them, but not what becomes of it after that. So it looks at the
   * session, as clients do.
   */
  #isMeant(sessionId: string): boolean {
    const { labels } = this.#audience.filter;
    if (labels === undefined) return true;
    const record = this.#db.readRecord(sessionId);
    return record !== null && labels.every((label) => labelTexts(record.labels).includes(label));
  }

  async #compare(provider: LogHistoryProvider): Promise<void> {
    const { filter, call } = this.#audience;
    const should = await listOf(provider, filter, call);
    const [is, expected] = [this.#list, should].map(textOf);
    if (is !== expected) {
      throw new Error(`A reader of ${JSON.stringify(this.#audience)} holds ${is} instead of ${expected}`);
    }
  }
}

const PASSING: ReadonlySet<string> = new Set(["unavailable", "resource_exhausted", "canceled", "deadline_exceeded"]);

async function listOf(
  provider: LogHistoryProvider,
  { labels }: FeedFilter,
  call: Call,
): Promise<ReadonlyMap<string, Held>> {
  const { sessions } = await provider.listSessions({ parentId: "", labels, view: "full", limit: 1000, ...call });
  return new Map(sessions.map((session) => [session.sessionId, session]));
}

function textOf(list: ReadonlyMap<string, Held>): string {
  const rows = [...list].map(([id, { revision, messageCount }]) => `${id}: ${revision}, ${messageCount} messages`);
  return rows.sort().join("; ");
}
