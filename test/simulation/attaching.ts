import { createHash } from "node:crypto";
import { PIECE_BYTES } from "../../src/domain/attachment.js";
import type { Call } from "../../src/domain/call.js";
import { DomainError } from "../../src/domain/errors.js";
import type { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { ownerOf } from "../../src/storage/history/record-facts.js";
import { checkCounts, checkNothingLeft, checkRows, SWEEP_ROUNDS } from "./aftermath.js";
import { Fleet, type Work } from "./fleet.js";
import { type Random, seededRandom } from "./random.js";
import { runJobs } from "./run-jobs.js";
import { Scheduler } from "./scheduler.js";
import type { SimDatabase } from "./sim-database.js";
import type { StoreKind } from "./sim-run.js";
import { SWEEP_AGE_MS, weatherOf } from "./weather.js";

const SESSIONS = ["a", "b", "c"] as const;
const IDS = ["x", "y"] as const;
const DRAFTS = ["d", "e"] as const;
const WRITERS = 3;
const OPERATIONS = 9;
const SWEEPS = 4;

export interface AttachingReport {
  readonly deaths: number;
  /** How many attachments were read back from messages at the end, and compared. */
  readonly shown: number;
  /** How many attachments were removed while others were at work. */
  readonly removed: number;
}

/**
 * Runs one seed: attachments are uploaded, named, forked, copied, edited away, erased, deleted and swept at once, on
 * processes that die, pause and lose answers. Throws when a message is left without its bytes, or bytes without a
 * message.
 */
export async function simulateAttaching(seed: number, store: StoreKind): Promise<AttachingReport> {
  const random = seededRandom(seed);
  const scheduler = new Scheduler(random, weatherOf(random, "half"), process.env.TRACE !== undefined);
  const fleet = new Fleet({ store }, "half", random, scheduler, false);
  for (const sessionId of SESSIONS) await fleet.quiet().provider.createSession({ sessionId });
  const run = new AttachingRun(random, scheduler, fleet);
  await run.run();
  if (process.env.TRACE) for (const line of scheduler.trace ?? []) console.log(line);
  const { provider } = fleet.quiet();
  fleet.healStoreClock();
  const shown = (await checkShown(fleet.db, provider)) + (await undoAll(fleet.db, provider));
  await sweepAll(scheduler, provider);
  await checkShown(fleet.db, provider);
  checkRows(fleet.db);
  checkCounts(fleet.db, true);
  checkNamed(fleet.db);
  for (const { sessionId, deleted } of fleet.db.records()) if (!deleted) await provider.deleteSession(sessionId);
  await sweepAll(scheduler, provider);
  await provider.sweep({ repair: true });
  await sweepAll(scheduler, provider);
  checkNothingLeft(fleet.db, false);
  return { deaths: scheduler.deaths, shown, removed: run.removed };
}

class AttachingRun {
  readonly #random: Random;
  readonly #scheduler: Scheduler;
  readonly #fleet: Fleet;
  #fresh = 0;
  #writersLeft = WRITERS;
  removed = 0;

  constructor(random: Random, scheduler: Scheduler, fleet: Fleet) {
    this.#random = random;
    this.#scheduler = scheduler;
    this.#fleet = fleet;
  }

  async run(): Promise<void> {
    for (let i = 0; i < WRITERS; i++) this.#fleet.slots.push(this.#fleet.start());
    const jobs = Array.from({ length: WRITERS }, (_, i) => this.#write(i));
    await runJobs(this.#scheduler, this.#fleet, [...jobs, this.#sweep()]);
  }

  async #write(slot: number): Promise<void> {
    const work = (next: Work) => this.#fleet.call(slot, next);
    for (let i = 0; i < OPERATIONS; i++) {
      const [session, id] = [this.#random.pick(SESSIONS), this.#random.pick(IDS)];
      if (this.#random.chance(0.5)) {
        await work((provider, call) => upload(provider, session, id, call));
        await work((provider, call) => provider.logMessages(session, [naming(`m${this.#fresh++}`, id)], call));
      }
      await work(this.#next(session, id));
    }
    this.#writersLeft--;
  }

  /** Sweeps now and then as long as others are at work. */
  async #sweep(): Promise<void> {
    for (let i = 0; i < SWEEPS && this.#writersLeft > 0; i++) {
      await this.#fleet.call(0, (provider) => provider.getMessageCount("a"));
      if (this.#random.chance(0.5)) this.#scheduler.nowMs += SWEEP_AGE_MS + 1;
      const report = await this.#fleet.call(1 + this.#random.int(2), (provider) => provider.sweep());
      if (typeof report === "object") this.removed += (report as { attachments?: number }).attachments ?? 0;
    }
  }

  #next(session: string, id: string): Work {
    const random = this.#random;
    const target = random.pick(SESSIONS.filter((one) => one !== session));
    const message = `m${random.int(this.#fresh + 1)}`;
    const draft = random.pick(DRAFTS);
    const fresh = this.#fresh++;
    switch (random.pick(OPERATION_NAMES)) {
      case "upload":
        return (provider, call) => upload(provider, session, id, call);
      case "append":
        return (provider, call) => provider.logMessages(session, [naming(`m${fresh}`, id)], call);
      case "appendOlder":
        return (provider, call) =>
          provider.logMessages(session, [{ ...naming(`m${fresh}`, id), timestampMicros: 1 }], call);
      case "fork":
        return (provider, call) => provider.forkConversation(session, `f${fresh}`, { as: "fork", ...call });
      case "appendToFork":
        return (provider, call) => provider.logMessages(`f${random.int(fresh)}`, [naming(`m${fresh}`, id)], call);
      case "truncateFork":
        return (provider, call) => provider.truncateMessages(`f${random.int(fresh)}`, null, call);
      case "copy":
        return (provider, call) => provider.forkConversation(session, target, { as: "copy", ...call });
      case "truncate":
        return (provider, call) => provider.truncateMessages(session, null, call);
      case "revert":
        return (provider, call) => provider.truncateMessages(session, null, { keepForUnrevert: true, ...call });
      case "unrevert":
        return (provider, call) => provider.restoreMessages(session, call);
      case "update":
        return (provider, call) => provider.updateMessage(session, message, naming("", id), call);
      case "deleteMessage":
        return (provider, call) => provider.deleteMessage(session, message, call);
      case "erase":
        return (provider, call) => provider.eraseMessage(session, message, call);
      case "deleteAttachment":
        return (provider, call) => provider.deleteAttachment(session, id, call);
      case "deleteSession":
        return (provider, call) => provider.deleteSession(session, call);
      case "createSession":
        return (provider, call) => provider.createSession({ sessionId: session, ...call });
      case "startDraft":
        return (provider, call) => provider.startDraft(session, naming(draft, random.pick([id, null])), call);
      case "extendDraft":
        return (provider, call) =>
          provider.extendDraft(session, draft, 1, [{ kind: "put_part", part: partNaming(id) }], call);
      case "finishDraft":
        return (provider, call) => provider.finishDraft(session, draft, { version: 1 + random.int(2), ...call });
      case "discardDraft":
        return (provider, call) => provider.discardDraft(session, draft, call);
    }
  }
}

const OPERATION_NAMES = [
  ...(["upload", "append", "append", "appendOlder", "fork", "appendToFork", "truncateFork", "copy", "copy"] as const),
  ...(["truncate", "revert", "unrevert", "update", "deleteMessage", "erase", "erase", "deleteAttachment"] as const),
  ...(["deleteAttachment", "deleteSession", "createSession"] as const),
  ...(["startDraft", "extendDraft", "finishDraft", "discardDraft"] as const),
];

/** Uploads two pieces. Their bytes are those of their id and session. */
function upload(provider: LogHistoryProvider, session: string, id: string, call: Call) {
  async function* chunks() {
    yield Buffer.alloc(PIECE_BYTES, `${session}${id}`);
    yield Buffer.from("the end");
  }
  return provider.uploadAttachment(session, { attachmentId: id }, chunks(), call);
}

function partNaming(attachmentId: string) {
  const attachment = { attachmentId, mediaType: "", name: "", size: 0, sha256: "" };
  return { id: "p", type: "file", text: "", attachment };
}

function naming(id: string, attachmentId: string | null) {
  return { id, role: "user", parts: attachmentId === null ? [] : [partNaming(attachmentId)] };
}

/** Reads what each message shows, and compares it. Resolves to the number of attachments. */
async function checkShown(db: SimDatabase, provider: LogHistoryProvider): Promise<number> {
  let shown = 0;
  for (const { sessionId, deleted } of db.records()) {
    if (deleted) continue;
    for (const { id, parts } of await provider.getSessionMessages(sessionId)) {
      for (const { attachment } of parts) {
        if (attachment === undefined) continue;
        const where = `${attachment.attachmentId} of message ${id} of session ${sessionId}`;
        const hash = createHash("sha256");
        try {
          const { pieces } = await provider.getAttachment(sessionId, attachment.attachmentId, {});
          for await (const piece of pieces) hash.update(piece);
        } catch (error) {
          if (!(error instanceof DomainError)) throw error;
          throw new Error(`Attachment ${where}: ${error.message}`, { cause: error });
        }
        if (hash.digest("hex") !== attachment.sha256) throw new Error(`Other bytes in attachment ${where}`);
        shown++;
      }
    }
  }
  return shown;
}

/** Brings back what can be brought back, and reads that as well. */
async function undoAll(db: SimDatabase, provider: LogHistoryProvider): Promise<number> {
  for (const { sessionId, deleted, undo } of db.records())
    if (!deleted && undo) await provider.restoreMessages(sessionId).catch(() => {});
  return checkShown(db, provider);
}

async function sweepAll(scheduler: Scheduler, provider: LogHistoryProvider): Promise<void> {
  for (let i = 0; i < SWEEP_ROUNDS; i++) {
    scheduler.nowMs += SWEEP_AGE_MS + 1;
    await provider.endAbandonedDrafts();
    await provider.sweep();
  }
}

/** Every row is named by an entry that is stored, and all pieces belong to rows. */
function checkNamed({ attachments }: SimDatabase): void {
  const rows = new Set([...attachments.all()].map(({ log }) => log));
  for (const log of rows) if (attachments.namings(log).length === 0) throw new Error(`Nothing names ${log}`);
  const owners = new Set([...rows].map(ownerOf));
  for (const uid of attachments.uids()) if (!owners.has(uid)) throw new Error(`Pieces of ${uid} belong to no row`);
}
