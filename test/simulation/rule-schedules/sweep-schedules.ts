import { settle, told } from "../world.js";
import { beforeWriting, cut, fork, goOn, idsOf, LATER_MS, type RuleSchedule, sessionOf, sweepLater } from "./scenes.js";

/** Rules of what the sweep could take away. */
export const SWEEP_SCHEDULES: readonly RuleSchedule[] = [
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
];
