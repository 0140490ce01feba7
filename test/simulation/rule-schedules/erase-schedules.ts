import { type Process, settle, told, type World } from "../world.js";
import { type RuleSchedule, sessionOf } from "./scenes.js";

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
];

/** Makes a session with a secret, and another with a newer message. */
export async function withSecret(world: World): Promise<Process> {
  const process = await sessionOf(world);
  const parts = [{ id: "", type: "text", text: SECRET }];
  await process.logMessages("a", [{ id: "secret", role: "user", parts, timestampMicros: 1 }]);
  await process.createSession({ sessionId: "b" });
  await process.say("b", "t@2");
  return process;
}

/** Copies the first session into the other. */
export function copy(process: Process): Promise<string> {
  return told(process.forkConversation("a", "b", { as: "copy" }).then(({ copiedCount }) => `copied ${copiedCount}`));
}

/** The number of entries that hold the secret, whether or not anybody can see them. */
export function secretsLeft({ db }: World): number {
  const entries = db.logNames().flatMap((log) => db.rows(log).map(({ entry }) => entry));
  return entries.filter((entry) => entry?.body.parts.some(({ text }) => text === SECRET)).length;
}

const SECRET = "a secret that must go";
