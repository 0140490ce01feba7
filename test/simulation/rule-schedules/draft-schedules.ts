import { type Process, settle, told, type World } from "../world.js";
import { cut, idsOf, type RuleSchedule, sessionOf, sweepLater } from "./scenes.js";

/** Rules of drafts. */
export const DRAFT_SCHEDULES: readonly RuleSchedule[] = [
  {
    rule: "verdict-by-place",
    store: "atomic",
    what: "a finish that reaches the log after a discard has taken its place",
    good: "failed_precondition, {}, m",
    async run(world) {
      const [discarder, finisher] = await drafted(world);
      finisher.gates.close("append");
      const finished = finish(finisher);
      await settle();
      discarder.gates.close("replaceRecord");
      const discarded = discarder.discardDraft("a", "d").then(() => "{}");
      await settle();
      await finisher.gates.open("append");
      await settle();
      await discarder.gates.open("replaceRecord");
      return `${await finished}, ${await told(discarded)}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "named-logs-only:draft",
    store: "weak",
    what: "a draft that another process reads",
    good: "d",
    async run(world) {
      const [, other] = await drafted(world);
      return told(other.listDrafts("a").then((drafts) => drafts.map(({ message }) => message.id).join(" ")));
    },
  },
  {
    rule: "late-append-reached:draft",
    store: "weak",
    what: "an extension that arrives after its draft was discarded and swept",
    good: "unavailable",
    async run(world) {
      const [slow, quick] = await drafted(world);
      slow.gates.close("insert");
      const extended = extend(slow);
      await settle();
      await quick.discardDraft("a", "d");
      await sweepLater(world);
      await slow.gates.open("insert");
      return extended;
    },
  },
  {
    rule: "sweep-old-only:drafts",
    store: "weak",
    what: "an extension by a process that has read the draft just before it was discarded, and a sweep right after that",
    good: "failed_precondition",
    async run(world) {
      const [slow, quick] = await drafted(world);
      await quick.discardDraft("a", "d");
      for (let i = 0; i < 2; i++) await world.process().sweep();
      return extend(slow);
    },
  },
  {
    rule: "draft-appended-once",
    store: "atomic",
    what: "a late completer, after another one has appended the message and an edit has removed it",
    good: "failed_precondition, m",
    async run(world) {
      const [slow, quick] = await drafted(world);
      const { log } = world.record("a");
      slow.gates.close("append", ([to]) => to === log);
      const late = finish(slow);
      await settle();
      await finish(quick);
      await cut(world.process(), "a", "m");
      await slow.gates.open("append");
      return `${await late}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "seal-ends-drafts",
    store: "atomic",
    what: "a completer that dies before the record notes the end, a delete of the message, and another completer",
    good: "failed_precondition, m",
    async run(world) {
      const [dying, other] = await drafted(world);
      dying.gates.close("replaceRecord");
      void finish(dying);
      await settle();
      await world.process().deleteMessage("a", "d");
      return `${await finish(other)}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "taken-draft-renamed",
    store: "atomic",
    what: "an append on a head from before the draft that takes the draft's id after the verdict",
    good: "at 2, 3 messages",
    async run(world) {
      const slow = world.process();
      const writer = await sessionOf(world, "m");
      await slow.ids("a");
      slow.gates.close("append");
      const taken = slow.say("a", "d");
      await settle();
      await writer.startDraft("a", { id: "d", role: "assistant", parts: [] });
      writer.gates.close("append");
      const finished = finish(writer);
      await settle();
      await slow.gates.open("append");
      await taken;
      await writer.gates.open("append");
      return `${await finished}, ${await world.process().getMessageCount("a")} messages`;
    },
  },
  {
    rule: "abandoned-by-own-watch",
    store: "atomic",
    what: "a search for abandoned drafts by a process whose clock is ahead",
    good: "0, 2",
    async run(world) {
      const [writer] = await drafted(world);
      const ahead = world.process({ nowMicros: () => 1e15, draftTimeoutMs: 1000 });
      const ended = await ahead.endAbandonedDrafts();
      return `${ended}, ${await extend(writer)}`;
    },
  },
];

/** Two processes, and a session with the message m and the draft d. */
async function drafted(world: World): Promise<[Process, Process]> {
  const process = await sessionOf(world, "m");
  await process.startDraft("a", { id: "d", role: "assistant", parts: [] });
  return [process, world.process()];
}

function extend(process: Process): Promise<string> {
  return told(process.extendDraft("a", "d", 1, [{ kind: "append_text", partId: "", text: "x" }]));
}

function finish(process: Process): Promise<string> {
  return told(process.finishDraft("a", "d", { version: 1 }).then(({ position }) => `at ${position}`));
}
