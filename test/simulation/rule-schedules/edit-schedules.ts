import { settle, told } from "../world.js";
import { beforeWriting, cut, goOn, idsOf, type RuleSchedule, revert, sessionOf } from "./scenes.js";

/** Rules of edits and seals. */
export const EDIT_SCHEDULES: readonly RuleSchedule[] = [
  {
    rule: "one-edit-one-event",
    store: "atomic",
    what: "a follower that resumes after an update of one message and the removal of another",
    good: "truncated 0, appended m, appended o",
    async run(world) {
      const editor = await sessionOf(world, "m", "n", "o");
      const { uid, revision } = world.record("a");
      await editor.updateMessage("a", "m", { role: "tool" });
      await editor.deleteMessage("a", "n");
      const events: string[] = [];
      for await (const event of await world.process().followMessages("a", { sessionUid: uid, revision, position: 3 })) {
        if (event.kind === "heartbeat") break;
        if (event.kind === "truncated") events.push(`truncated ${event.messageCount}`);
        else
          events.push(
            `${event.kind} ${"message" in event ? event.message.id : "messageId" in event ? event.messageId : ""}`,
          );
      }
      return events.join(", ");
    },
  },
  {
    rule: "seal-before-edit",
    store: "weak",
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
    what: "an append after an edit has read the head and before it seals the log",
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
    what: "an appender that meets the seal of an editor that continues a moment later",
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
    rule: "rollover-clears-undo",
    store: "atomic",
    what: "an undo after an append and a rollover",
    good: "failed_precondition, m x",
    async run(world) {
      const process = await sessionOf(world, "m", "n");
      await revert(process, "a", "m");
      await process.say("a", "x");
      // This editor dies after its seal.
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
    rule: "tail-first-gap",
    store: "weak",
    what: "half a seal with a free place before it",
    good: "2",
    async run(world) {
      await sessionOf(world, "m", "n");
      world.db.insert(world.record("a").log, { seq: 4, id: "\u0000half", entry: null });
      return told(world.process().getMessageCount("a"));
    },
  },
];
