import type { Annotation } from "../../src/domain/annotation.js";
import type { ChatMessage, NewChatMessage } from "../../src/domain/chat-message.js";
import { DomainError } from "../../src/domain/errors.js";
import { NO_USAGE, plusUsage, sumsOf, type UsageSums } from "../../src/domain/usage.js";
import { hasUsage } from "../../src/domain/usage-text.js";
import type { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { checkCounts, checkNothingLeft, checkRows, SWEEP_ROUNDS } from "./aftermath.js";
import { Fleet, type Work } from "./fleet.js";
import { type Random, seededRandom } from "./random.js";
import { runJobs } from "./run-jobs.js";
import { Scheduler } from "./scheduler.js";
import type { StoreKind } from "./sim-run.js";
import { SWEEP_AGE_MS, weatherOf } from "./weather.js";

const SESSIONS = ["a", "b", "c"] as const;
const WRITERS = 3;
const OPERATIONS = 10;
const SWEEPS = 4;
/** A time in the bin that no run reaches, and one that ends during runs. */
const LONG_MS = 1_000_000 * SWEEP_AGE_MS;
const SHORT_MS = 3 * SWEEP_AGE_MS;

export interface KeepingReport {
  readonly deaths: number;
  /** How many sessions were read with usage and compared. */
  readonly compared: number;
  /** How many sessions were brought back while others were at work. */
  readonly broughtBack: number;
  /** How many annotations were looked for in the end. */
  readonly annotations: number;
}

/** An annotation whose creation was answered. */
interface Note {
  readonly session: string;
  readonly message: string;
  readonly annotationId: string;
  /** Found nowhere else. */
  readonly text: string;
}

/**
 * Runs one seed: messages with usage are appended, changed, copied, cut off and erased, annotations come and go, and
 * sessions are deleted, made again and brought back, all at once, on processes that die, pause and lose answers. Throws
 * when the usage of a session is not that of its messages, when a message or an annotation is lost, or when an erased
 * annotation is left.
 */
export async function simulateKeeping(seed: number, store: StoreKind): Promise<KeepingReport> {
  const random = seededRandom(seed);
  const undeleteMs = random.pick([LONG_MS, LONG_MS, SHORT_MS]);
  const scheduler = new Scheduler(random, weatherOf(random, "half"), false);
  const fleet = new Fleet({ store, engine: { undeleteMs } }, "half", random, scheduler, false);
  for (const sessionId of SESSIONS) await fleet.quiet().provider.createSession({ sessionId });
  const run = new KeepingRun(random, scheduler, fleet);
  await run.run();
  fleet.healStoreClock();
  const { provider } = fleet.quiet({ undeleteMs: 0 });
  checkLiving(fleet);
  const annotations = await run.checkNotes(provider, store);
  const shown = await readAndDeleteAll(fleet, provider);
  if (undeleteMs === LONG_MS) run.checkMessages(shown);
  checkRows(fleet.db);
  checkCounts(fleet.db, true);
  await sweepAll(scheduler, provider);
  await provider.sweep({ repair: true });
  await sweepAll(scheduler, provider);
  checkNothingLeft(fleet.db, false);
  return { deaths: scheduler.deaths, compared: run.compared, broughtBack: run.broughtBack, annotations };
}

class KeepingRun {
  readonly #random: Random;
  readonly #scheduler: Scheduler;
  readonly #fleet: Fleet;
  /** Whether messages are cut off. Only where they are not can one be missed. */
  readonly #cuts: boolean;
  readonly #appended: string[] = [];
  readonly #notes: Note[] = [];
  /** The ids of annotations, and of annotated messages, that somebody has tried to remove. */
  readonly #removed = new Set<string>();
  /** Texts that were erased. */
  readonly #erased = new Set<string>();
  #fresh = 0;
  #writersLeft = WRITERS;
  compared = 0;
  broughtBack = 0;

  constructor(random: Random, scheduler: Scheduler, fleet: Fleet) {
    this.#random = random;
    this.#scheduler = scheduler;
    this.#fleet = fleet;
    this.#cuts = random.chance(0.5);
  }

  async run(): Promise<void> {
    for (let i = 0; i < WRITERS; i++) this.#fleet.slots.push(this.#fleet.start());
    const jobs = Array.from({ length: WRITERS }, (_, i) => this.#write(i));
    await runJobs(this.#scheduler, this.#fleet, [...jobs, this.#sweep()]);
  }

  /** All messages whose append was answered are shown by some session. */
  checkMessages(shown: ReadonlySet<string>): void {
    if (this.#cuts) return;
    const lost = this.#appended.filter((id) => !shown.has(id));
    if (lost.length > 0) throw new Error(`The messages ${lost} are lost`);
  }

  /** Annotations that nobody has removed are shown with their messages, and erased ones are stored nowhere. */
  async checkNotes(provider: LogHistoryProvider, store: StoreKind): Promise<number> {
    let found = 0;
    for (const session of SESSIONS) {
      const shown = await orMissing(provider.getSessionMessages(session));
      if (shown === null) continue;
      const { annotations } = await provider.listAnnotations(session, { messageId: "", limit: 1000 });
      checkUnique(annotations);
      for (const note of this.#notes) {
        const isShown = note.session === session && shown.some(({ id }) => id === note.message);
        if (!isShown || this.#removed.has(note.annotationId) || this.#removed.has(note.message)) continue;
        if (!annotations.some(({ annotationId, text }) => annotationId === note.annotationId && text === note.text))
          throw new Error(`Session ${session} has lost annotation ${note.annotationId}`);
        found++;
      }
    }
    // On a store that cannot check names, a late writer may leave the content in a log that nobody reads.
    if (store === "atomic") {
      const { db } = this.#fleet;
      const stored = JSON.stringify(db.logNames().flatMap((log) => db.rows(log).map(({ entry }) => entry?.body.parts)));
      for (const text of this.#erased) if (stored.includes(text)) throw new Error(`The annotation ${text} is left`);
    }
    return found;
  }

  async #write(slot: number): Promise<void> {
    for (let i = 0; i < OPERATIONS; i++) await this.#next(slot);
    this.#writersLeft--;
  }

  /** Sweeps now and then as long as others are at work. */
  async #sweep(): Promise<void> {
    for (let i = 0; i < SWEEPS && this.#writersLeft > 0; i++) {
      await this.#fleet.call(0, (provider) => provider.getMessageCount("a"));
      if (this.#random.chance(0.5)) this.#scheduler.nowMs += SWEEP_AGE_MS + 1;
      await this.#fleet.call(1 + this.#random.int(2), (provider) => provider.sweep());
    }
  }

  async #next(slot: number): Promise<void> {
    const random = this.#random;
    const session = random.pick(SESSIONS);
    const fresh = this.#fresh++;
    const message = `m${random.int(fresh + 1)}`;
    const call = (work: Work) => this.#fleet.call(slot, work);
    switch (random.pick(this.#cuts ? [...KEEPING, ...CUTTING] : KEEPING)) {
      case "append": {
        const messages = Array.from({ length: 1 + random.int(2) }, (_, i) => this.#message(`m${fresh}`, i));
        const answer = await call((provider, limits) => provider.logMessages(session, messages, limits));
        if (isAnswer(answer)) this.#appended.push(...messages.map(({ id }) => id));
        return;
      }
      case "older": {
        const older = { ...this.#message(`m${fresh}`, 0), timestampMicros: 1 + random.int(4) };
        const answer = await call((provider, limits) => provider.logMessages(session, [older], limits));
        if (isAnswer(answer)) this.#appended.push(older.id);
        return;
      }
      case "use": {
        const usage = { model: "z", inputTokens: 10 + random.int(9) };
        await call((provider, limits) => provider.updateMessage(session, message, { usage }, limits));
        return;
      }
      case "read":
        await call(async (provider, limits) => {
          const { session: read, messages, next } = await provider.loadSession(session, { limit: 1000, ...limits });
          if (next !== undefined) return;
          checkUsage(read.sessionId, read.usage, read.inheritedUsage, messages);
          this.compared++;
        });
        return;
      case "fork":
        await call((provider, limits) => provider.forkConversation(session, `f${fresh}`, { as: "fork", ...limits }));
        return;
      case "copy": {
        const target = random.pick(SESSIONS.filter((one) => one !== session));
        await call((provider, limits) => provider.forkConversation(session, target, { as: "copy", ...limits }));
        return;
      }
      case "annotate": {
        const note = { session, message, annotationId: `n${fresh}`, text: `note ${fresh}.` };
        const { annotationId, text } = note;
        const given = { annotationId, messageId: message, text };
        const answer = await call((provider, limits) => provider.createAnnotation(session, given, limits));
        if (isAnswer(answer)) this.#notes.push(note);
        return;
      }
      case "thumb": {
        const note = this.#recentNote();
        const thumb = random.pick(["up", "down"] as const);
        await call((provider, limits) => provider.updateAnnotation(note.session, note.annotationId, { thumb }, limits));
        return;
      }
      case "removeNote": {
        const note = this.#recentNote();
        this.#removed.add(note.annotationId);
        await call((provider, limits) => provider.deleteAnnotation(note.session, note.annotationId, limits));
        return;
      }
      case "erase": {
        const { session, message } = this.#recentNote();
        this.#removed.add(message);
        const before = this.#notes.filter((note) => note.message === message);
        const answer = await call((provider, limits) => provider.eraseMessage(session, message, limits));
        if (isAnswer(answer)) for (const { text } of before) this.#erased.add(text);
        return;
      }
      case "delete":
        await call((provider, limits) => provider.deleteSession(session, limits));
        return;
      case "create":
        await call((provider, limits) => provider.createSession({ sessionId: session }, limits));
        return;
      case "undelete": {
        const answer = await call((provider, limits) => provider.undeleteSession(session, limits));
        if (isAnswer(answer)) this.broughtBack++;
        return;
      }
      case "truncate":
        await call((provider, limits) => provider.truncateMessages(session, message, limits));
        return;
      case "revert":
        await call((provider, limits) =>
          provider.truncateMessages(session, message, { keepForUnrevert: true, ...limits }),
        );
        return;
      case "unrevert":
        await call((provider, limits) => provider.restoreMessages(session, limits));
        return;
      case "deleteMessage":
        await call((provider, limits) => provider.deleteMessage(session, message, limits));
    }
  }

  /** One of the last two, so that often several callers change the same one. */
  #recentNote(): Note {
    return this.#notes.at(-1 - this.#random.int(2)) ?? this.#notes.at(-1) ?? NO_NOTE;
  }

  /** Two of three have usage. */
  #message(id: string, number: number): NewChatMessage & { readonly id: string } {
    const inputTokens = this.#random.int(9);
    const usage = { model: "x", inputTokens, cost: `0.${inputTokens + 1}`, currency: "USD" };
    const isUsed = this.#random.chance(0.66);
    return { id: number === 0 ? id : `${id}.${number}`, role: "user", parts: [], ...(isUsed && { usage }) };
  }
}

const NO_NOTE: Note = { session: "a", message: "none", annotationId: "none", text: "none" };

const KEEPING = [
  ...(["append", "append", "append", "append", "older", "use", "use", "read", "read", "fork", "copy"] as const),
  ...(["annotate", "annotate", "annotate", "thumb", "thumb", "removeNote", "erase"] as const),
  ...(["delete", "delete", "create", "undelete", "undelete", "undelete"] as const),
];

const CUTTING = ["truncate", "revert", "revert", "unrevert", "unrevert", "deleteMessage"] as const;

/** Whether a call was answered, and neither refused nor lost. */
function isAnswer(answer: unknown): boolean {
  return typeof answer !== "string" || answer === "";
}

/** A session id belongs to one living record at most. */
function checkLiving({ db }: Fleet): void {
  const ids = db.records().flatMap(({ sessionId, deleted }) => (deleted ? [] : [sessionId]));
  const twice = ids.find((id, i) => ids.indexOf(id) !== i);
  if (twice !== undefined) throw new Error(`Two sessions have the id ${twice}`);
}

function checkUnique(annotations: readonly Annotation[]): void {
  const ids = annotations.map(({ annotationId }) => annotationId);
  if (new Set(ids).size < ids.length) throw new Error(`Annotations are listed twice: ${ids}`);
}

/**
 * Compares the usage of all sessions with their messages, those that can be brought back included, and deletes them for
 * good. Resolves to the ids of all messages.
 */
async function readAndDeleteAll({ db }: Fleet, provider: LogHistoryProvider): Promise<ReadonlySet<string>> {
  const shown = new Set<string>();
  const ids = new Set(db.records().map(({ sessionId }) => sessionId));
  for (const sessionId of ids) {
    for (;;) {
      const session = await orMissing(provider.getSession(sessionId));
      if (session !== null) {
        const messages = await provider.getSessionMessages(sessionId);
        checkUsage(sessionId, session.usage, session.inheritedUsage, messages);
        await checkSum(provider, sessionId, session.usage);
        for (const { id } of messages) shown.add(id);
        await provider.deleteSession(sessionId);
      }
      if ((await orMissing(provider.undeleteSession(sessionId))) === null) break;
    }
  }
  return shown;
}

async function checkSum(provider: LogHistoryProvider, sessionId: string, usage = NO_USAGE): Promise<void> {
  const { rows } = await provider.sumUsage({ groupBy: [], sessionId, limit: 10 });
  mustEqual(rows[0] ?? NO_USAGE, usage, `The sum of session ${sessionId}`);
}

function checkUsage(
  sessionId: string,
  usage: UsageSums = NO_USAGE,
  inheritedUsage: UsageSums = NO_USAGE,
  messages: readonly ChatMessage[],
): void {
  const isOwn = ({ originSessionId }: ChatMessage) => originSessionId === sessionId;
  mustEqual(usage, sumOf(messages.filter(isOwn)), `The usage of session ${sessionId}`);
  const inherited = messages.filter((message) => !isOwn(message));
  mustEqual(inheritedUsage, sumOf(inherited), `The inherited usage of session ${sessionId}`);
}

function sumOf(messages: readonly ChatMessage[]): UsageSums {
  return messages.flatMap(({ usage }) => (hasUsage(usage) ? [sumsOf(usage)] : [])).reduce(plusUsage, NO_USAGE);
}

function mustEqual(is: UsageSums, should: UsageSums, what: string): void {
  const [isText, shouldText] = [is, should].map(({ calls, inputTokens, costs }) =>
    JSON.stringify([calls, inputTokens, `${costs.get("USD") ?? 0n}`]),
  );
  if (isText !== shouldText) throw new Error(`${what} is ${isText} instead of ${shouldText}`);
}

/** Null when there is no such session. */
async function orMissing<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof DomainError && error.code === "not_found") return null;
    throw error;
  }
}

async function sweepAll(scheduler: Scheduler, provider: LogHistoryProvider): Promise<void> {
  for (let i = 0; i < SWEEP_ROUNDS; i++) {
    scheduler.nowMs += SWEEP_AGE_MS + 1;
    await provider.sweep();
  }
}
