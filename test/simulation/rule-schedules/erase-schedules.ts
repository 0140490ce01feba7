import type { FollowEvent } from "../../../src/domain/page.js";
import { type Process, settle, told, type World } from "../world.js";
import { copy, type RuleSchedule, sessionOf } from "./scenes.js";

const SECRET = "a secret that must go";
const SECRET_MESSAGE = { id: "secret", role: "user", parts: [{ id: "", type: "text", text: SECRET }] };

/** Rules of erasing. */
export const ERASE_SCHEDULES: readonly RuleSchedule[] = [
  {
    rule: "erase-ends-copies:eraser",
    store: "atomic",
    what: "a copy that has read the message when its erasure begins, and writes it afterwards",
    good: "copied 1, secret t, 0 left",
    async run(world) {
      const copier = await withSecret(world);
      copier.gates.close("append");
      const copied = copy(copier);
      await settle();
      await world.process().eraseMessage("a", "secret");
      await copier.gates.open("append");
      return `${await copied}, ${await world.process().ids("b")}, ${secretsLeft(world)} left`;
    },
  },
  {
    rule: "erase-ends-copies:copier",
    store: "atomic",
    what: "a copy that knows the message when its erasure begins, and names its log after the erasure has ended",
    good: "copied 1, secret t, 0 left",
    async run(world) {
      const copier = await withSecret(world);
      copier.gates.close("replaceRecord");
      const copied = copy(copier);
      await settle();
      await world.process().eraseMessage("a", "secret");
      await copier.gates.open("replaceRecord");
      return `${await copied}, ${await world.process().ids("b")}, ${secretsLeft(world)} left`;
    },
  },
  {
    rule: "erase-ends-copies:update",
    store: "atomic",
    what: "an update of the role alone that has read the message when its erasure begins, and names its log afterwards",
    good: "tool, 0 left",
    async run(world) {
      const editor = await withSecret(world);
      editor.gates.close("replaceRecord");
      const updated = told(editor.updateMessage("a", "secret", { role: "tool" }).then(({ role }) => role));
      await settle();
      await world.process().eraseMessage("a", "secret");
      await editor.gates.open("replaceRecord");
      return `${await updated}, ${secretsLeft(world)} left`;
    },
  },
  {
    rule: "erase-ends-copies:annotation",
    store: "atomic",
    what: "an update of the verdict alone of a note on a message that nobody sees, begun before its erasure",
    good: "not_found, 0 left",
    async run(world) {
      const editor = await withNotes(world, ["secret"]);
      editor.gates.close("replaceRecord");
      const updated = told(editor.updateAnnotation("a", "n0", { thumb: "up" }).then(({ thumb }) => thumb));
      await settle();
      await world.process().eraseMessage("a", "secret");
      await editor.gates.open("replaceRecord");
      return `${await updated}, ${notesLeft(world)} left`;
    },
  },
  {
    rule: "erase-ends-copies:annotations",
    store: "atomic",
    what: "a merge of notes that has read those on a message when its erasure begins, and names its logs afterwards",
    good: "n4, 0 left",
    async run(world) {
      const editor = await withNotes(world, ["secret", "m", "secret", "m"]);
      editor.gates.close("replaceRecord");
      const given = { annotationId: "n4", messageId: "m", text: "harmless" };
      const created = told(editor.createAnnotation("a", given).then(({ annotationId }) => annotationId));
      await settle();
      await world.process().eraseMessage("a", "secret");
      await editor.gates.open("replaceRecord");
      return `${await created}, ${notesLeft(world)} left`;
    },
  },
  {
    rule: "erase-until-clean",
    store: "atomic",
    what: "a copy that reads the message before it is erased, and writes it where the erasure has already looked",
    good: "copied 1, secret t, 0 left",
    async run(world) {
      const copier = await withSecret(world);
      const eraser = world.process();
      eraser.gates.close("overwriteEntry");
      const erased = eraser.eraseMessage("a", "secret");
      await settle();
      const copied = await copy(copier);
      await eraser.gates.open("overwriteEntry");
      await erased;
      return `${copied}, ${await world.process().ids("b")}, ${secretsLeft(world)} left`;
    },
  },
  {
    rule: "erase-ends-copies:owner",
    store: "atomic",
    what: "a copy that has read a message of the owner when everything of the owner is erased, and writes it afterwards",
    good: "not_found, t, 0 left",
    async run(world) {
      const copier = await withSecret(world, "ada");
      copier.gates.close("append");
      const copied = copy(copier);
      await settle();
      await world.process().eraseOwner("ada");
      await copier.gates.open("append");
      return `${await copied}, ${await world.process().ids("b")}, ${secretsLeft(world)} left`;
    },
  },
  {
    rule: "erase-until-clean:owner",
    store: "atomic",
    what: "a copy of a copy of the owner's message, written where the erasure of the owner has already looked",
    good: "copied 1, secret t, 0 left",
    async run(world) {
      const copier = await withSecret(world, "ada");
      await copier.createSession({ sessionId: "c" });
      await copier.forkConversation("a", "c", { as: "copy" });
      const eraser = world.process();
      let isFirst = true;
      eraser.gates.close("overwriteEntry", () => {
        const isHeld = !isFirst;
        isFirst = false;
        return isHeld;
      });
      const erased = eraser.eraseOwner("ada");
      await settle();
      const copied = await told(
        copier.forkConversation("c", "b", { as: "copy" }).then(({ copiedCount }) => `copied ${copiedCount}`),
      );
      await eraser.gates.open("overwriteEntry");
      await erased;
      return `${copied}, ${await world.process().ids("b")}, ${secretsLeft(world)} left`;
    },
  },
  {
    rule: "dropped-when-taken-back:waiting",
    store: "atomic",
    what: "an erasure of a message that waits for a follower, together with another edit",
    good: "truncated, appended m, appended o, appended secret, 0 told",
    async run(world) {
      const writer = await sessionOf(world, "m");
      const events = await follow(world);
      await events.next();
      const next = events.next();
      await writer.say("a", "o");
      await next;
      await writer.logMessages("a", [SECRET_MESSAGE]);
      await settle();
      await writer.updateMessage("a", "m", { role: "tool" });
      await writer.eraseMessage("a", "secret");
      await settle();
      return toldBy(events);
    },
  },
  {
    rule: "dropped-when-taken-back:catching-up",
    store: "atomic",
    what: "an erasure of a message that a follower has read but not given out",
    good: "appended secret, 0 told",
    async run(world) {
      const writer = await sessionOf(world, "m");
      await writer.logMessages("a", [SECRET_MESSAGE]);
      const events = await follow(world);
      await events.next();
      await writer.eraseMessage("a", "secret");
      await settle();
      return toldBy(events);
    },
  },
];

async function follow(world: World): Promise<AsyncIterator<FollowEvent>> {
  return (await world.process().followMessages("a", 0))[Symbol.asyncIterator]();
}

/** The events up to the next heartbeat, and how many of them hold the secret. */
async function toldBy(events: AsyncIterator<FollowEvent>): Promise<string> {
  const told: string[] = [];
  let secrets = 0;
  for (;;) {
    const { value: event } = await events.next();
    if (event.kind === "heartbeat") break;
    told.push(event.kind === "appended" ? `appended ${event.message.id}` : event.kind);
    if (JSON.stringify(event).includes(SECRET)) secrets++;
  }
  await events.return?.();
  return [...told, `${secrets} told`].join(", ");
}

/** Makes a session with a secret, which may have an owner, and another with a newer message. */
export async function withSecret(world: World, owner?: string): Promise<Process> {
  const process = await sessionOf(world);
  if (owner !== undefined) await process.updateSession("a", { owner });
  await process.logMessages("a", [{ ...SECRET_MESSAGE, timestampMicros: 1 }]);
  await process.createSession({ sessionId: "b" });
  await process.say("b", "t@2");
  return process;
}

/**
 * Makes a session with notes on these messages, of which one is secret, and a process that merges notes which are in
 * two logs more than they have to be.
 */
async function withNotes(world: World, messageIds: readonly string[]): Promise<Process> {
  const process = world.process({ maxSegments: 4 });
  await process.createSession({ sessionId: "a" });
  await process.say("a", "m@1");
  await process.logMessages("a", [{ ...SECRET_MESSAGE, timestampMicros: 2 }]);
  for (const [i, messageId] of messageIds.entries()) {
    const text = messageId === "secret" ? SECRET : "harmless";
    await process.createAnnotation("a", { annotationId: `n${i}`, messageId, text });
  }
  return process;
}

/** The number of notes that hold the secret, whether or not anybody can see them. */
function notesLeft({ db }: World): number {
  const entries = db.logNames().flatMap((log) => db.rows(log).map(({ entry }) => entry));
  return entries.filter((entry) => entry?.body.parts.some(({ data }) => data?.text === SECRET)).length;
}

/** The number of entries that hold the secret, whether or not anybody can see them. */
export function secretsLeft({ db }: World): number {
  const entries = db.logNames().flatMap((log) => db.rows(log).map(({ entry }) => entry));
  return entries.filter((entry) => entry?.body.parts.some(({ text }) => text === SECRET)).length;
}
