import { type Process, settle, told, type World } from "../world.js";
import { idsOf, LATER_MS, type RuleSchedule, sessionOf, sweepLater } from "./scenes.js";

const HOUR_MS = 3_600_000;

/** Rules of sessions that were deleted and can be brought back. */
export const BIN_SCHEDULES: readonly RuleSchedule[] = [
  {
    rule: "undelete-if-free",
    store: "atomic",
    what: "a session made under the id just before the deleted one comes back",
    good: "already_exists, x",
    async run(world) {
      const process = await deletedSession(world);
      process.gates.close("revive");
      process.gates.close("replaceRecord");
      const answer = undelete(process);
      await settle();
      const other = world.process();
      await other.createSession({ sessionId: "a" });
      await other.say("a", "x");
      await process.gates.open("revive", "replaceRecord");
      return `${await answer}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "binned-not-swept",
    store: "atomic",
    what: "sweeps while a session can be brought back",
    good: "back, m n",
    async run(world) {
      await deletedSession(world);
      await sweepLater(world);
      return `${await undelete(world.process())}, ${await idsOf(world, "a")}`;
    },
  },
  {
    rule: "bin-emptied-first",
    store: "atomic",
    what: "an undelete whose time ends before its request arrives, after a sweep has begun",
    good: "not_found",
    async run(world) {
      const process = await deletedSession(world);
      process.gates.close("revive");
      const answer = undelete(process);
      await settle();
      world.nowMs += 2 * HOUR_MS;
      const sweeper = world.process();
      sweeper.gates.close("listSweepable");
      const swept = sweeper.sweep();
      await settle();
      await process.gates.open("revive");
      const told = await answer;
      await sweeper.gates.open("listSweepable");
      await swept;
      return told;
    },
  },
  {
    rule: "expiry-reaches-the-bin:time",
    store: "weak",
    what: "a sweep after the expiry of a session that was deleted before it",
    good: "0 logs left",
    async run(world) {
      const process = await sessionOf(world, "m", "n");
      const expireTimeMicros = (world.nowMs + HOUR_MS) * 1000;
      await process.updateSession("a", { expireTimeMicros });
      await keeping(world, 24 * HOUR_MS).deleteSession("a");
      world.nowMs += 2 * HOUR_MS;
      await sweepLater(world);
      return `${world.db.logNames().length} logs left`;
    },
  },
  {
    rule: "expiry-reaches-the-bin:return",
    store: "weak",
    what: "a session whose retention is over by the flag of the process that is to bring it back",
    good: "not_found",
    async run(world) {
      const nowMicros = () => world.nowMs * 1000;
      const process = world.process({ nowMicros, undeleteMs: 24 * HOUR_MS });
      await process.createSession({ sessionId: "a" });
      await process.deleteSession("a");
      world.nowMs += LATER_MS;
      return undelete(world.process({ nowMicros, undeleteMs: HOUR_MS, retentionMs: LATER_MS / 2 }));
    },
  },
  {
    rule: "erased-leaves-the-bin",
    store: "atomic",
    what: "an undelete after an erasure of everything of the owner",
    good: "not_found",
    async run(world) {
      const process = keeping(world);
      await process.createSession({ sessionId: "a", owner: "ada" });
      await process.deleteSession("a");
      await world.process().eraseOwner("ada");
      return undelete(world.process());
    },
  },
  {
    rule: "tickets-stay-ended",
    store: "atomic",
    what: "a ticket of before the delete, once the session is back",
    good: "unauthenticated",
    async run(world) {
      const process = await sessionOf(world, "m");
      const mark = await process.getTicketMark("a");
      await keeping(world).deleteSession("a");
      await undelete(world.process());
      const access = { ticket: { sessionId: "a", ...mark } };
      return told(world.process().getMessageCount("a", { access }));
    },
  },
  {
    rule: "access-by-the-record:deleted",
    store: "atomic",
    what: "a deleted session of another owner",
    good: "not_found",
    async run(world) {
      const process = keeping(world);
      await process.createSession({ sessionId: "a", owner: "ada" });
      await process.deleteSession("a");
      return told(process.undeleteSession("a", { access: { owner: "bob" } }).then(() => "back"));
    },
  },
];

function keeping(world: World, undeleteMs = HOUR_MS): Process {
  return world.process({ undeleteMs });
}

/** A deleted session with the messages m and n, and a process that can bring it back. */
async function deletedSession(world: World): Promise<Process> {
  await sessionOf(world, "m", "n");
  const process = keeping(world);
  await process.deleteSession("a");
  return process;
}

function undelete(process: Process): Promise<string> {
  return told(process.undeleteSession("a").then(() => "back"));
}
