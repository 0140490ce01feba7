import { MessageBody } from "../../../src/domain/message-body.js";
import type { RestoredImage } from "../../../src/domain/session-image.js";
import type { StoreKind } from "../sim-run.js";
import { type Process, settle, TEN_MINUTES_MS, told, type World } from "../world.js";

/** A schedule written by hand. Its outcome is `good` with all rules, and another one with this one broken. */
export interface RuleSchedule {
  /** The name of a BreakableRule. */
  readonly rule: string;
  readonly store: StoreKind;
  readonly what: string;
  readonly good: string;
  run(world: World): Promise<string>;
}

/** The time after which the next sweep removes everything that is marked. */
export const LATER_MS = TEN_MINUTES_MS + 60_000;

export async function sessionOf(world: World, ...names: string[]): Promise<Process> {
  const process = world.process();
  await process.createSession({ sessionId: "a" });
  if (names.length > 0) await process.say("a", ...names);
  return process;
}

/** Sweeps twice. The first sweep marks what the second one removes more than ten minutes later. */
export async function sweepLater(world: World, times = 1): Promise<void> {
  for (let i = 0; i < times; i++) {
    await markForLater(world);
    await world.process().sweep();
  }
}

/** Sweeps, and lets the time pass after which the next sweep removes what this one has marked. */
export async function markForLater(world: World): Promise<void> {
  await world.process().sweep();
  world.nowMs += LATER_MS;
}

export function fork(process: Process, source: string, target: string): Promise<string> {
  return told(
    process.forkConversation(source, target, { as: "fork" }).then(({ copiedCount }) => `took ${copiedCount}`),
  );
}

/** Copies the first session into the other. */
export function copy(process: Process): Promise<string> {
  return told(process.forkConversation("a", "b", { as: "copy" }).then(({ copiedCount }) => `copied ${copiedCount}`));
}

export function cut(process: Process, sessionId: string, mid: string | null): Promise<string> {
  return told(process.truncateMessages(sessionId, mid));
}

export function revert(process: Process, sessionId: string, mid: string): Promise<string> {
  return told(process.truncateMessages(sessionId, mid, { keepForUnrevert: true }));
}

/** Restores a session with messages that are given by their ids. */
export function restore(process: Process, sessionId: string, ...names: string[]): Promise<string> {
  return restoreFrom(process, sessionId, [{ first: 1, last: names.length }], names);
}

/** Restores a session that is made of ranges. Those of numbers are of messages that are given by their ids. */
export function restoreFrom(
  process: Process,
  sessionId: string,
  messages: RestoredImage["messages"],
  names: readonly string[],
): Promise<string> {
  const image = {
    ...{ sessionId, parentId: "", forkPointId: "", inheritedCount: 0, title: "", origin: null },
    ...{ createTimeMicros: 1, updateTimeMicros: 1, revision: 1, ancestry: [], undo: null },
    messages,
  };
  const body = MessageBody.of({ parts: [] });
  const read = async function* () {
    yield names.map((id) => ({ id, role: "user", timestampMicros: 1, body, originSessionId: sessionId }));
  };
  return told(process.restoreSession(image, read).then(({ kind }) => kind));
}

/** The history that a new process reads. */
export function idsOf(world: World, sessionId: string): Promise<string> {
  return world.process().ids(sessionId);
}

/** Holds up a process just before it writes an entry, with the head that it has read. */
export async function beforeWriting(
  process: Process,
  sessionId: string,
  name: string,
): Promise<{ readonly of: Promise<string> }> {
  process.gates.close("insert");
  process.gates.close("append");
  const answer = process.say(sessionId, name);
  await settle();
  return { of: answer };
}

export async function goOn(process: Process): Promise<void> {
  await process.gates.open("insert", "append");
}

/** Makes a session with the message m, and stores x and y of a batch x, y, z. */
export async function withPartOfABatch(world: World): Promise<void> {
  const writer = await sessionOf(world, "m");
  writer.gates.close("insert");
  void writer.say("a", "x", "y", "z");
  await settle();
  await writer.gates.letOne("insert");
  await writer.gates.letOne("insert");
}

/**
 * Makes a session with the messages m and n, and an append on a head from before n. Returns a function that cuts and
 * sweeps n, and then lets the append arrive in its place.
 */
export async function withLateAppend(world: World): Promise<() => Promise<void>> {
  const writer = await sessionOf(world, "m");
  const late = await beforeWriting(writer, "a", "z");
  await world.process().say("a", "n");
  return async () => {
    await cut(world.process(), "a", "m");
    await sweepLater(world);
    await goOn(writer);
    await late.of;
  };
}
