import { settle, told } from "../world.js";
import { cut, fork, idsOf, markForLater, type RuleSchedule, restoreFrom, sessionOf, sweepLater } from "./scenes.js";

/** Rules of forks and their counts. */
export const FORK_SCHEDULES: readonly RuleSchedule[] = [
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
    what: "a source that is deleted and swept while it is being forked",
    good: "m n",
    async run(world) {
      await sessionOf(world, "m", "n");
      const forker = world.process();
      forker.gates.close("createRecord");
      const forked = fork(forker, "a", "b");
      await settle();
      await world.process().deleteSession("a");
      await sweepLater(world);
      await forker.gates.open("createRecord");
      await forked;
      return idsOf(world, "b");
    },
  },
  {
    rule: "raise-before-child:fork",
    store: "atomic",
    what: "a fork that pauses before it raises its source's count, while the source is cut and swept",
    good: "m",
    async run(world) {
      await sessionOf(world, "m", "n", "o");
      const forker = world.process();
      // One of these requests raises the count, with the rule and without it.
      forker.gates.close("raiseForks");
      forker.gates.close("addFork");
      const forked = fork(forker, "a", "b");
      await settle();
      await cut(world.process(), "a", "m");
      await sweepLater(world);
      await forker.gates.open("raiseForks", "addFork");
      await forked;
      return idsOf(world, "b");
    },
  },
  {
    rule: "raise-before-child:restore",
    store: "atomic",
    what: "a restore that pauses before it raises the owner's count of a shared range, while that is cut and swept",
    good: "unshared, not_found",
    async run(world) {
      await sessionOf(world, "m", "n", "o");
      const { log } = world.record("a");
      const restorer = world.process();
      restorer.gates.close("raiseForks");
      restorer.gates.close("addFork");
      const restored = restoreFrom(restorer, "b", [{ log, first: 1, last: 3, ownerId: "a" }], []);
      await settle();
      await cut(world.process(), "a", "m");
      await sweepLater(world);
      await restorer.gates.open("raiseForks", "addFork");
      return `${await restored}, ${await idsOf(world, "b")}`;
    },
  },
  {
    rule: "lower-unforked-only",
    store: "atomic",
    what: "a session that no longer names its source although its own fork does",
    good: "m n o",
    async run(world) {
      const process = await sessionOf(world, "m", "n");
      await fork(process, "a", "b");
      await process.say("b", "o");
      await fork(process, "b", "c");
      // There are too many segments, so the whole history is copied into a log of its own.
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
      await markForLater(world);
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
    rule: "ancestry-bounded",
    store: "atomic",
    what: "a chain of children without an end",
    good: "failed_precondition, no record above 1000 bytes",
    async run(world) {
      const process = world.process({ maxAncestryBytes: 1000 });
      await process.createSession({ sessionId: "0" });
      let answer = "";
      for (let i = 1; i <= 40 && answer !== "failed_precondition"; i++) {
        await process.say(`${i - 1}`, `m${i}`);
        answer = await told(process.createSession({ sessionId: `${i}`, parentId: `${i - 1}` }).then(() => "made"));
      }
      const sizes = world.db.records().map(({ ancestry }) => JSON.stringify(ancestry).length);
      return `${answer}, ${sizes.some((size) => size > 1000) ? "a" : "no"} record above 1000 bytes`;
    },
  },
  {
    rule: "repeated-create-unknown",
    store: "weak",
    what: "a fork whose first request is late, meets another session at the second, and arrives when that one is gone",
    good: "already_exists, not_found",
    async run(world) {
      const process = await sessionOf(world, "m");
      await process.createSession({ sessionId: "b" });
      const forker = world.process();
      forker.gates.delayNext("createRecord");
      const answer = await fork(forker, "a", "b");
      await process.deleteSession("b");
      forker.gates.carryOut("createRecord");
      await process.deleteSession("a");
      await sweepLater(world, 2);
      return `${answer}, ${await idsOf(world, "b")}`;
    },
  },
  {
    rule: "late-create-unknown",
    store: "weak",
    what: "a fork whose process stands still after the first request, while the fork is deleted and swept",
    good: "unavailable, not_found",
    async run(world) {
      const process = await sessionOf(world, "m");
      const forker = world.process();
      forker.gates.loseNext("createRecord");
      forker.gates.close("blockRecord");
      const forked = fork(forker, "a", "b");
      await settle();
      await process.deleteSession("b");
      await sweepLater(world);
      await forker.gates.open("blockRecord");
      const answer = await forked;
      await process.deleteSession("a");
      await sweepLater(world, 2);
      return `${answer}, ${await idsOf(world, "b")}`;
    },
  },
];
