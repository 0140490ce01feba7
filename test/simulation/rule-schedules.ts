import type { Rule } from "../../src/storage/history/rules.js";
import type { StoreKind } from "./simulate.js";
import { type Process, settle, TEN_MINUTES_MS, told, type World } from "./world.js";

/** A schedule by hand that comes to `good` with all rules, and to something else without this one. */
export interface RuleSchedule {
  readonly rule: Rule;
  readonly store: StoreKind;
  readonly what: string;
  readonly good: string;
  run(world: World): Promise<string>;
}

/** Long enough for everything to be swept that may be. */
const LATER_MS = TEN_MINUTES_MS + 60_000;

async function sessionOf(world: World, ...names: string[]): Promise<Process> {
  const process = world.process();
  await process.createSession({ sessionId: "a" });
  await process.say("a", ...names);
  return process;
}

async function sweepLater(world: World, times = 1): Promise<void> {
  for (let i = 0; i < times; i++) {
    world.nowMs += LATER_MS;
    await world.process().sweep();
  }
}

function fork(process: Process, source: string, target: string): Promise<string> {
  return told(
    process.forkConversation(source, target, { as: "fork" }).then(({ copiedCount }) => `took ${copiedCount}`),
  );
}

function cut(process: Process, sessionId: string, mid: string): Promise<string> {
  return told(process.truncateMessages(sessionId, mid));
}

function revert(process: Process, sessionId: string, mid: string): Promise<string> {
  return told(process.truncateMessages(sessionId, mid, { keepForUnrevert: true }));
}

/** What a fresh process reads. */
function idsOf(world: World, sessionId: string): Promise<string> {
  return world.process().ids(sessionId);
}

/** Holds a process just before it writes an entry, with the head it has read. */
async function beforeWriting(
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

async function goOn(process: Process): Promise<void> {
  await process.gates.open("insert");
  await process.gates.open("append");
}

export const RULE_SCHEDULES: readonly RuleSchedule[] = [
  {
    rule: "seal-before-edit",
    store: "atomic",
    what: "an append that reaches the log after an edit has cut it",
    good: "at 1, m z",
    async run(world) {
      const writer = await sessionOf(world, "m", "n");
      const answer = await beforeWriting(writer, "a", "z");
      await cut(world.process(), "a", "m");
      await goOn(writer);
      return `${await answer.of}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "plan-on-sealed",
    store: "atomic",
    what: "an append between the head that an edit has read and its seal",
    good: "removed 2",
    async run(world) {
      const writer = await sessionOf(world, "m", "n");
      const editor = world.process();
      editor.gates.close("seal");
      const removed = cut(editor, "a", "m");
      await settle();
      await writer.say("a", "z");
      await editor.gates.open("seal");
      return `removed ${await removed}`;
    },
  },
  {
    rule: "rollover-seals",
    store: "weak",
    what: "the rest of a batch that is written after somebody else has rolled over",
    good: "m q x y",
    async run(world) {
      const writer = await sessionOf(world, "m");
      writer.gates.close("insert");
      const batch = writer.say("a", "x", "y");
      await settle();
      await writer.gates.letOne("insert");
      await world.process().say("a", "q");
      await writer.gates.open("insert");
      await batch;
      return idsOf(world, "a");
    },
  },
  {
    rule: "wait-for-editor",
    store: "atomic",
    what: "an appender that meets the seal of an editor who goes on a moment later",
    good: "the edit was tried 1 times",
    async run(world) {
      await sessionOf(world, "m", "n");
      const editor = world.process();
      let tries = 0;
      editor.gates.close("replaceRecord", () => ++tries === 1);
      const removed = cut(editor, "a", "m");
      await settle();
      const appender = world.process({ pause: () => editor.gates.open("replaceRecord") });
      editor.gates.close("seal", () => {
        tries++;
        return false;
      });
      await appender.say("a", "z");
      await editor.gates.open("replaceRecord");
      await removed;
      return `the edit was tried ${tries} times`;
    },
  },
  {
    rule: "compare-and-set",
    store: "atomic",
    what: "a change of the title that was planned before a truncate",
    good: "m",
    async run(world) {
      await sessionOf(world, "m", "n");
      const editor = world.process();
      editor.gates.close("replaceRecord");
      const updated = told(editor.updateSession("a", { title: "new" }));
      await settle();
      await cut(world.process(), "a", "m");
      await editor.gates.open("replaceRecord");
      await updated;
      return idsOf(world, "a");
    },
  },
  {
    rule: "forks-apart",
    store: "atomic",
    what: "a fork while an edit of its source is about to replace the record",
    good: "m n",
    async run(world) {
      await sessionOf(world, "m", "n");
      const editor = world.process();
      editor.gates.close("replaceRecord");
      const updated = told(editor.updateSession("a", { title: "new" }));
      await settle();
      await fork(world.process(), "a", "b");
      await editor.gates.open("replaceRecord");
      await updated;
      await world.process().deleteSession("a");
      await sweepLater(world, 2);
      return idsOf(world, "b");
    },
  },
  {
    rule: "raise-before-child",
    store: "atomic",
    what: "a source that is deleted and swept while its fork has just been made",
    good: "m n",
    async run(world) {
      await sessionOf(world, "m", "n");
      const forker = world.process();
      forker.gates.close("addFork");
      const forked = fork(forker, "a", "b");
      await settle();
      await world.process().deleteSession("a");
      await sweepLater(world);
      await forker.gates.open("addFork");
      await forked;
      return idsOf(world, "b");
    },
  },
  {
    rule: "raise-at-revision",
    store: "atomic",
    what: "a fork that pauses before it raises, while its source is cut and swept",
    good: "m n o",
    async run(world) {
      await sessionOf(world, "m", "n", "o");
      const forker = world.process();
      forker.gates.close("addFork");
      const forked = fork(forker, "a", "b");
      await settle();
      await cut(world.process(), "a", "m");
      await sweepLater(world);
      await forker.gates.open("addFork");
      await forked;
      return idsOf(world, "b");
    },
  },
  {
    rule: "lower-unforked-only",
    store: "atomic",
    what: "a session that no longer names its source, and whose own fork still does",
    good: "m n o",
    async run(world) {
      const process = await sessionOf(world, "m", "n");
      await fork(process, "a", "b");
      await process.say("b", "o");
      await fork(process, "b", "c");
      // Too many segments for one: the whole history goes into a log of its own.
      await world.process({ maxSegments: 1 }).say("b", "w@1");
      await process.deleteSession("a");
      await sweepLater(world, 3);
      return idsOf(world, "c");
    },
  },
  {
    rule: "lower-unnamed-only",
    store: "atomic",
    what: "an edit of a fork that still shows its source's messages",
    good: "m",
    async run(world) {
      const process = await sessionOf(world, "m", "n");
      await fork(process, "a", "b");
      await cut(process, "b", "m");
      await process.deleteSession("a");
      await sweepLater(world, 3);
      return idsOf(world, "b");
    },
  },
  {
    rule: "lower-once",
    store: "atomic",
    what: "two sweepers of one tombstone",
    good: "forks 1",
    async run(world) {
      const process = await sessionOf(world, "m");
      await fork(process, "a", "b");
      await fork(process, "a", "c");
      await process.deleteSession("b");
      world.nowMs += LATER_MS;
      const slow = world.process();
      slow.gates.close("deleteRecord");
      const swept = slow.sweep();
      await settle();
      await world.process().sweep();
      await slow.gates.open("deleteRecord");
      await swept;
      return `forks ${world.record("a").forks}`;
    },
  },
  {
    rule: "share-copy-unforked-only",
    store: "atomic",
    what: "two sessions that would count on each other",
    good: "0 left",
    async run(world) {
      const process = await sessionOf(world, "x");
      await process.createSession({ sessionId: "p", parentId: "a" });
      await process.createSession({ sessionId: "c", parentId: "p" });
      await process.say("c", "y");
      await process.forkConversation("c", "p", { as: "copy" });
      for (const id of ["c", "p", "a"]) await process.deleteSession(id);
      await sweepLater(world, 9);
      return `${world.db.records().length} left`;
    },
  },
  {
    rule: "sweep-unforked-only",
    store: "atomic",
    what: "a deleted session that was forked",
    good: "m n",
    async run(world) {
      const process = await sessionOf(world, "m", "n");
      await fork(process, "a", "b");
      await process.deleteSession("a");
      await sweepLater(world);
      return idsOf(world, "b");
    },
  },
  {
    rule: "sweep-old-only",
    store: "weak",
    what: "an appender with a head from just before an edit, and a sweep right after it",
    good: "at 1, m z",
    async run(world) {
      const writer = await sessionOf(world, "m", "n");
      await cut(world.process(), "a", "m");
      await world.process().sweep();
      return `${await writer.say("a", "z")}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "sweep-store-clock",
    store: "weak",
    what: "an edit by a process whose clock is late, and a sweep right after it",
    good: "at 1, m z",
    async run(world) {
      const writer = await sessionOf(world, "m", "n");
      await cut(world.process({ skewMs: -LATER_MS }), "a", "m");
      await world.process().sweep();
      return `${await writer.say("a", "z")}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "entries-after-record",
    store: "weak",
    what: "a writer who comes in between a sweeper's entries and its record",
    good: "0 logs left",
    async run(world) {
      const writer = await sessionOf(world, "m", "n");
      const answer = await beforeWriting(writer, "a", "z");
      await world.process().deleteSession("a");
      world.nowMs += LATER_MS;
      const sweeper = world.process();
      sweeper.gates.close("deleteRecord");
      const swept = sweeper.sweep();
      await settle();
      await goOn(writer);
      await answer.of;
      await sweeper.gates.open("deleteRecord");
      await swept;
      return `${world.db.logNames().length} logs left`;
    },
  },
  {
    rule: "dropped-side-log",
    store: "atomic",
    what: "places of a side log under a slow sweeper",
    good: "m r q",
    async run(world) {
      const process = await sessionOf(world, "m@1", "p@9");
      await process.say("a", "o@5");
      await cut(process, "a", "m");
      world.nowMs += LATER_MS;
      const slow = world.process();
      slow.gates.close("deleteEntries");
      const swept = slow.sweep();
      await settle();
      await world.process().sweep();
      await world.process().say("a", "q@9");
      await world.process().say("a", "r@5");
      await slow.gates.open("deleteEntries");
      await swept;
      return idsOf(world, "a");
    },
  },
  {
    rule: "side-log-reuse",
    store: "atomic",
    what: "entries of a lost attempt at places that are swept",
    good: "m k r z",
    async run(world) {
      const process = await sessionOf(world, "m@1", "p@9");
      await process.say("a", "k@1");
      await process.say("a", "o@5");
      const late = world.process({ staleMs: 1e9 });
      await told(late.say("a", "p@9"));
      late.gates.close("tail");
      const answer = late.say("a", "r@4");
      await settle();
      await cut(process, "a", "k");
      world.nowMs += LATER_MS;
      const slow = world.process();
      slow.gates.close("deleteEntries");
      const swept = slow.sweep();
      await settle();
      await world.process().sweep();
      await world.process().say("a", "z@9");
      await late.gates.open("tail");
      await answer;
      await slow.gates.open("deleteEntries");
      await swept;
      return idsOf(world, "a");
    },
  },
  {
    rule: "look-up-in-segments",
    store: "atomic",
    what: "a retry of an append across a seal",
    good: "at 1, m n",
    async run(world) {
      const process = await sessionOf(world, "m", "n", "o");
      await cut(process, "a", "n");
      return `${await process.say("a", "n")}, ${await process.ids("a")}`;
    },
  },
  {
    rule: "repeated-id-ignores-position",
    store: "atomic",
    what: "a retry of a batch of which the first message is known",
    good: "at 0",
    async run(world) {
      const process = await sessionOf(world, "m", "n");
      const messages = ["m", "q"].map((id) => ({ id, role: "user", parts: [] }));
      const retry = process.logMessages("a", messages, { expectedPosition: 7 });
      return told(retry.then(({ position }) => `at ${position}`));
    },
  },
  {
    rule: "rollover-clears-undo",
    store: "atomic",
    what: "an undo after an append and a rollover",
    good: "failed_precondition, m x",
    async run(world) {
      const process = await sessionOf(world, "m", "n");
      await revert(process, "a", "m");
      await process.say("a", "x");
      // An editor that dies after its seal.
      await process.simStore.seal(world.record("a").log);
      return `${await told(world.process().restoreMessages("a"))}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "append-clears-undo",
    store: "atomic",
    what: "an undo after an append",
    good: "failed_precondition, m x",
    async run(world) {
      const process = await sessionOf(world, "m", "n");
      await revert(process, "a", "m");
      await process.say("a", "x");
      return `${await told(process.restoreMessages("a"))}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "refusals-re-read",
    store: "atomic",
    what: "an expected position that a cached head does not know yet",
    good: "at 2",
    async run(world) {
      const process = await sessionOf(world, "m");
      await world.process().say("a", "n");
      const append = process.logMessages("a", [{ id: "o", role: "user", parts: [] }], { expectedPosition: 2 });
      return told(append.then(({ position }) => `at ${position}`));
    },
  },
  {
    rule: "cut-batch-goes-on",
    store: "weak",
    what: "an edit that removes the first of two appends that were written together",
    good: "removed 1, m y",
    async run(world) {
      const writer = await sessionOf(world, "m");
      writer.gates.close("insert");
      const appends = ["x", "y"].map((id) => ({ messages: [{ id, role: "user", parts: [] }] }));
      const turn = told(writer.logTurn("a", appends));
      await settle();
      await writer.gates.letOne("insert");
      const removed = await cut(world.process(), "a", "m");
      await writer.gates.open("insert");
      await turn;
      return `removed ${removed}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "whole-batches-only",
    store: "weak",
    what: "a reader while a batch is being written",
    good: "m",
    async run(world) {
      const writer = await sessionOf(world, "m");
      writer.gates.close("insert");
      void writer.say("a", "x", "y", "z");
      await settle();
      await writer.gates.letOne("insert");
      await writer.gates.letOne("insert");
      return idsOf(world, "a");
    },
  },
  {
    rule: "token-by-id",
    store: "atomic",
    what: "a page token after the history was copied into a fresh log",
    good: "n o",
    async run(world) {
      const process = await sessionOf(world, "m@1", "n@5", "o@9");
      const { next } = await process.listMessages("a", { limit: 1 });
      await cut(process, "a", "n");
      await process.say("a", "o@9");
      await world.process({ maxSegments: 1 }).say("a", "l@1");
      const page = process.listMessages("a", { limit: 9, cursor: next });
      return told(
        page.then(({ messages }) =>
          messages
            .map(({ id }) => id)
            .slice(-2)
            .join(" "),
        ),
      );
    },
  },
  {
    rule: "stale-head-re-read",
    store: "weak",
    what: "a head from before an edit whose leavings are swept",
    good: "at 1, m z",
    async run(world) {
      const writer = await sessionOf(world, "m", "n");
      await cut(world.process(), "a", "m");
      await sweepLater(world);
      return `${await writer.say("a", "z")}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "late-append-reached",
    store: "weak",
    what: "an append that arrives where swept entries were",
    good: "unavailable, m",
    async run(world) {
      const writer = await sessionOf(world, "m", "n");
      const answer = await beforeWriting(writer, "a", "z");
      await cut(world.process(), "a", "m");
      await sweepLater(world);
      await goOn(writer);
      return `${await answer.of}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "late-reader-restarts",
    store: "atomic",
    what: "a count that takes so long that the session is swept meanwhile",
    good: "not_found",
    async run(world) {
      await sessionOf(world, "m", "n");
      const reader = world.process();
      reader.gates.close("tail");
      const count = told(reader.getMessageCount("a"));
      await settle();
      await world.process().deleteSession("a");
      await sweepLater(world);
      await reader.gates.open("tail");
      return count;
    },
  },
  {
    rule: "orphans-deleted",
    store: "weak",
    what: "a writer who comes after the session has been swept",
    good: "0 logs left",
    async run(world) {
      const writer = await sessionOf(world, "m", "n");
      const answer = await beforeWriting(writer, "a", "z");
      await world.process().deleteSession("a");
      await sweepLater(world);
      await goOn(writer);
      await answer.of;
      return `${world.db.logNames().length} logs left`;
    },
  },
  {
    rule: "tail-first-gap",
    store: "weak",
    what: "half a seal with a free place in front",
    good: "2",
    async run(world) {
      await sessionOf(world, "m", "n");
      world.db.insert(world.record("a").log, { seq: 4, id: "\u0000half", entry: null });
      return told(world.process().getMessageCount("a"));
    },
  },
];
