import type { SessionSnapshot, StoredRange } from "../../../src/domain/session-image.js";
import { settle, told } from "../world.js";
import {
  beforeWriting,
  cut,
  fork,
  goOn,
  idsOf,
  LATER_MS,
  markForLater,
  type RuleSchedule,
  restore,
  sessionOf,
  sweepLater,
  withLateAppend,
} from "./scenes.js";

/** A time longer than the day that a sweep waits for somebody who restores a session. */
const ABANDONED_MS = 25 * 3600 * 1000;

/** Rules that keep the sweep from removing what is needed. */
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
    rule: "sweep-old-only:data",
    store: "weak",
    what: "an appender with a head from just before an edit, and a sweep right after the edit",
    good: "at 1, m z",
    async run(world) {
      const writer = await sessionOf(world, "m", "n");
      await cut(world.process(), "a", "m");
      for (let i = 0; i < 2; i++) await world.process().sweep();
      return `${await writer.say("a", "z")}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "sweep-store-clock:store",
    store: "weak",
    what: "a sweep by a process whose clock is behind, and another one right after it",
    good: "at 1, m z",
    async run(world) {
      const writer = await sessionOf(world, "m", "n");
      await cut(world.process(), "a", "m");
      await world.process({ skewMs: -LATER_MS }).sweep();
      await world.process().sweep();
      return `${await writer.say("a", "z")}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "sweep-store-clock:age",
    store: "weak",
    what: "a sweep, and another one right after it by a process whose clock is ahead",
    good: "at 1, m z",
    async run(world) {
      const writer = await sessionOf(world, "m", "n");
      await cut(world.process(), "a", "m");
      await world.process().sweep();
      await world.process({ nowMicros: () => (world.nowMs + LATER_MS) * 1000 }).sweep();
      return `${await writer.say("a", "z")}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "entries-after-record",
    store: "weak",
    what: "a writer after a sweeper has deleted the entries and before it deletes the record",
    good: "0 logs left",
    async run(world) {
      const writer = await sessionOf(world, "m", "n");
      const answer = await beforeWriting(writer, "a", "z");
      await world.process().deleteSession("a");
      await markForLater(world);
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
    rule: "commit-while-named",
    store: "atomic",
    what: "an older message whose log is swept, as if its writer had died, before the record names the message",
    good: "at 1, m q n",
    async run(world) {
      const process = await sessionOf(world, "m@1", "n@9");
      process.gates.close("seal");
      const answer = process.say("a", "q@5");
      await settle();
      await sweepLater(world, 2);
      await process.gates.open("seal");
      return `${await answer}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "negative-answers-checked",
    store: "atomic",
    what: "a message that is looked up while the history is copied into a fresh log and the old one is swept",
    good: "m",
    async run(world) {
      await sessionOf(world, "m@1", "n@2");
      const reader = world.process();
      reader.gates.close("findById");
      const found = told(reader.getMessage("a", "m").then((message) => message?.id ?? "none"));
      await settle();
      await cut(world.process(), "a", "m");
      await world.process().say("a", "n@5", "p@9");
      await world.process({ maxSegments: 1 }).say("a", "o@4");
      await sweepLater(world);
      await reader.gates.open("findById");
      return found;
    },
  },
  {
    rule: "restoring-ended-first",
    store: "atomic",
    what: "a session of a backup that is published while a sweep removes it as abandoned",
    good: "unavailable, not_found",
    async run(world) {
      const restorer = world.process();
      restorer.gates.close("publishRecord");
      const restored = restore(restorer, "a", "m", "n");
      await settle();
      await world.process().sweep();
      world.nowMs += ABANDONED_MS;
      const slow = world.process();
      // The first change that the sweep makes to the record, with the rule and without it.
      slow.gates.close("answer of replaceRecord");
      slow.gates.close("deleteRecord");
      const swept = slow.sweep();
      await settle();
      await restorer.gates.open("publishRecord");
      await slow.gates.open("answer of replaceRecord", "deleteRecord");
      await swept;
      return `${await restored}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "orphans-deleted",
    store: "weak",
    what: "a writer after the session has been swept",
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
    rule: "late-append-reached:message",
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
    rule: "late-reader-restarts:head",
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
    rule: "late-reader-restarts:read",
    store: "weak",
    what: "a page that takes so long that a late append stands where a message was cut and swept",
    good: "m",
    async run(world) {
      const arrive = await withLateAppend(world);
      const reader = world.process();
      reader.gates.close("readRange");
      const page = reader.listMessages("a", { limit: 9 });
      await settle();
      await arrive();
      await reader.gates.open("readRange");
      return told(page.then(({ messages }) => messages.map(({ id }) => id).join(" ")));
    },
  },
  {
    rule: "late-reader-restarts:backup",
    store: "weak",
    what: "a backup that takes so long that a late append stands where a message was cut and swept",
    good: "aborted",
    async run(world) {
      const arrive = await withLateAppend(world);
      const reader = world.process();
      const snapshot = (await reader.snapshotSession("a")) as SessionSnapshot;
      await arrive();
      const range = snapshot.messages[0] as StoredRange;
      return told(reader.readStored(snapshot, range).then((messages) => messages.map(({ id }) => id).join(" ")));
    },
  },
];
