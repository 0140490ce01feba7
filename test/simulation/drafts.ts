import type { DraftDelta } from "../../src/domain/draft.js";
import type { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { Fleet } from "./fleet.js";
import { type Random, seededRandom } from "./random.js";
import { runJobs } from "./run-jobs.js";
import { Scheduler } from "./scheduler.js";
import type { StoreKind } from "./sim-run.js";
import { weatherOf } from "./weather.js";

const SESSION = "a";
const DRAFT = "d";
const WRITERS = 2;
const EXTENDS = 6;
/** A time longer than any timeout. */
const LONG_MS = 10_000_000;

/** The answers that clients have received. */
interface Answers {
  /** Maps each version to the token that was acknowledged with it. */
  readonly extended: Map<number, string>;
  finished: boolean;
  discarded: boolean;
  /** Whether a client tried to discard the draft, and whether one tried to truncate. Either may have failed. */
  triedDiscard: boolean;
  cut: boolean;
  /** Whether the draft is discarded when it is abandoned, instead of being appended. */
  readonly discardWhenAbandoned: boolean;
}

export interface DraftReport {
  readonly steps: number;
  readonly deaths: number;
  readonly end: "finished" | "discarded";
  readonly acknowledged: number;
}

/**
 * Runs one seed: two writers of one draft, somebody who stops it, an edit, and a search for abandoned drafts, on
 * processes that die, pause and lose answers. Throws when something that was acknowledged is lost or doubled, when the
 * draft ends twice, or when a reader sees it neither as a draft nor as a message.
 */
export async function simulateDrafts(seed: number, store: StoreKind): Promise<DraftReport> {
  const random = seededRandom(seed);
  const weather = weatherOf(random, "half");
  const scheduler = new Scheduler(random, weather, false);
  const fleet = new Fleet({ store }, "half", random, scheduler, false);
  const quiet = fleet.quiet().provider;
  await quiet.createSession({ sessionId: SESSION });
  await quiet.logMessages(SESSION, [{ id: "m", role: "user", parts: [] }]);
  const discardWhenAbandoned = random.chance(0.3);
  await quiet.startDraft(SESSION, { id: DRAFT, role: "assistant", parts: [] }, { discardWhenAbandoned });
  const none = { finished: false, discarded: false, triedDiscard: false, cut: false };
  const answers: Answers = { ...none, extended: new Map(), discardWhenAbandoned };
  await new DraftRun(random, scheduler, fleet, answers).run();
  await endAll(fleet.quiet().provider, scheduler);
  const end = await check(fleet.quiet().provider, answers);
  return { steps: scheduler.steps, deaths: scheduler.deaths, end, acknowledged: answers.extended.size };
}

class DraftRun {
  readonly #random: Random;
  readonly #scheduler: Scheduler;
  readonly #fleet: Fleet;
  readonly #answers: Answers;

  constructor(random: Random, scheduler: Scheduler, fleet: Fleet, answers: Answers) {
    this.#random = random;
    this.#scheduler = scheduler;
    this.#fleet = fleet;
    this.#answers = answers;
  }

  async run(): Promise<void> {
    for (let i = 0; i < 4; i++) this.#fleet.slots.push(this.#fleet.start());
    const jobs = Array.from({ length: WRITERS }, (_, i) => this.#write(i));
    jobs.push(this.#stop(), this.#read(), this.#endAbandoned(2), this.#endAbandoned(3));
    await runJobs(this.#scheduler, this.#fleet, jobs);
  }

  /** One of two writers. Each continues from the draft's current version. */
  async #write(writer: number): Promise<void> {
    let version = 1;
    for (let i = 0; i < EXTENDS; i++) {
      const token = `${writer}${i};`;
      const deltas: DraftDelta[] = [{ kind: "append_text", partId: "", text: token }];
      const base = version;
      const outcome = await this.#fleet.call(writer, (provider, call) =>
        provider.extendDraft(SESSION, DRAFT, base, deltas, call),
      );
      if (typeof outcome === "number") {
        if (this.#answers.extended.has(outcome)) throw new Error(`Version ${outcome} was acknowledged twice`);
        this.#answers.extended.set(outcome, token);
        version = outcome;
      } else if (outcome === "failed_precondition") {
        return;
      } else {
        const drafts = await this.#fleet.call(writer, (provider, call) => provider.listDrafts(SESSION, call));
        if (Array.isArray(drafts)) version = drafts[0]?.version ?? version;
      }
    }
    if (writer === 0) await this.#finish(writer, version);
  }

  async #finish(slot: number, version: number): Promise<void> {
    const outcome = await this.#fleet.call(slot, (provider, call) =>
      provider.finishDraft(SESSION, DRAFT, { version, ...call }),
    );
    if (typeof outcome === "object") this.#answers.finished = true;
  }

  /** Discards the draft, truncates the session or finishes the draft at some moment, or does nothing. */
  async #stop(): Promise<void> {
    const how = this.#random.pick(["discard", "cut", "finish", "nothing", "nothing"] as const);
    for (let i = this.#random.int(12); i > 0; i--)
      await this.#fleet.call(1, (provider, call) => provider.getMessageCount(SESSION, call));
    if (how === "discard") {
      this.#answers.triedDiscard = true;
      const outcome = await this.#fleet.call(1, (provider, call) => provider.discardDraft(SESSION, DRAFT, call));
      this.#answers.discarded = outcome === undefined;
    } else if (how === "cut") {
      this.#answers.cut = true;
      await this.#fleet.call(1, (provider, call) => provider.truncateMessages(SESSION, "m", call));
    } else if (how === "finish") {
      const drafts = await this.#fleet.call(1, (provider, call) => provider.listDrafts(SESSION, call));
      if (Array.isArray(drafts) && drafts[0]) await this.#finish(1, drafts[0].version);
    }
  }

  /** Reads the session as a web page does that is loaded again and again. */
  async #read(): Promise<void> {
    for (let i = 0; i < 8; i++) {
      const loaded = await this.#fleet.call(3, (provider, call) =>
        provider.loadSession(SESSION, { limit: 9, ...call }),
      );
      if (typeof loaded !== "object" || loaded === null) continue;
      const { messages, drafts } = loaded as Awaited<ReturnType<LogHistoryProvider["loadSession"]>>;
      const shown = [...messages, ...(drafts ?? []).map(({ message }) => message)].filter(({ id }) => id === DRAFT);
      if (shown.length > 1) throw new Error("A reader saw the draft and its message");
      const { triedDiscard, cut, discardWhenAbandoned } = this.#answers;
      const mayBeGone = triedDiscard || cut || discardWhenAbandoned;
      if (shown.length === 0 && !mayBeGone) throw new Error("A reader saw neither the draft nor its message");
    }
  }

  async #endAbandoned(slot: number): Promise<void> {
    for (let i = 0; i < 6; i++) await this.#fleet.call(slot, (provider, call) => provider.endAbandonedDrafts(call));
  }
}

/** When all processes are gone, a new process ends the drafts that are still open. */
async function endAll(provider: LogHistoryProvider, scheduler: Scheduler): Promise<void> {
  for (let i = 0; i < 3; i++) {
    await provider.endAbandonedDrafts();
    scheduler.nowMs += LONG_MS;
  }
  const left = await provider.listDrafts(SESSION);
  if (left.length > 0) throw new Error("A draft stays open though nobody extends it");
}

/** Checks that everything that was acknowledged is there, once and in order. */
async function check(provider: LogHistoryProvider, answers: Answers): Promise<DraftReport["end"]> {
  const found = (await provider.getSessionMessages(SESSION)).filter(({ id }) => id === DRAFT);
  if (found.length > 1) throw new Error("The message is there twice");
  const { extended, finished, discarded, triedDiscard, cut, discardWhenAbandoned } = answers;
  if (finished && discarded) throw new Error("The draft was finished and discarded");
  if (discarded && found.length > 0) throw new Error("A discarded draft came back");
  if (found.length === 0) {
    if (finished && !cut) throw new Error("The message of a finished draft is lost");
    if (!triedDiscard && !cut && !discardWhenAbandoned) throw new Error("A draft that nobody discarded is lost");
    return "discarded";
  }
  const tokens = (found[0]?.parts ?? []).flatMap(({ text }) => text.split(";").slice(0, -1));
  for (const [version, token] of extended) {
    if (`${tokens[version - 2]};` !== token)
      throw new Error(`Delta ${token} of version ${version} is not in ${tokens.join()}`);
  }
  return "finished";
}
