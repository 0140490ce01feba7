import { simulateWatching } from "../watching.js";
import { settle, type World } from "../world.js";
import { type RuleSchedule, sessionOf } from "./scenes.js";

/** Rules of the feed. Most are broken in random runs with seeds of which one shows that the rule is needed. */
export const FEED_SCHEDULES: readonly RuleSchedule[] = [
  watching("place-with-change", 1, 5),
  watching("departure-with-change", 1, 5),
  watching("read-before-open", 5, 12),
  watching("heard-before-or-after", 1, 5),
  watching("settled-before-untold", 36, 40),
  watching("attached-before-read", 1, 5),
  {
    rule: "successor-told-after",
    store: "atomic",
    what: "a session made under the id of one that is deleted meanwhile",
    good: "created a, deleted a, created a",
    async run(world) {
      world.db.keepFeed();
      const process = await sessionOf(world);
      const { at } = await readFeed(world);
      const other = world.process();
      other.gates.close("createRecord");
      const made = other.createSession({ sessionId: "a" });
      await settle();
      await process.deleteSession("a");
      await other.gates.open("createRecord");
      await made;
      return (await readFeed(world, at)).events.join(", ");
    },
  },
];

function watching(rule: string, firstSeed: number, lastSeed: number): RuleSchedule {
  return {
    rule,
    store: "atomic",
    what: "readers that resume while others write",
    good: "nothing missed",
    async run() {
      for (let seed = firstSeed; seed <= lastSeed; seed++) {
        try {
          await simulateWatching(seed);
        } catch (error) {
          return `Seed ${seed}: ${(error as Error).message}`;
        }
      }
      return "nothing missed";
    },
  };
}

/** Reads what the feed tells in a new process, from a token on, until nothing comes any more. */
async function readFeed(world: World, from?: string): Promise<{ readonly events: readonly string[]; at: string }> {
  const events: string[] = [];
  let [at, heartbeats] = ["", 0];
  for await (const event of await world.process({ heartbeatMs: 100 }).watchSessions({}, from)) {
    at = event.at;
    if (event.kind === "heartbeat" && ++heartbeats > 1) break;
    if (event.kind === "deleted") events.push(`deleted ${event.sessionId}`);
    else if (event.kind !== "heartbeat") events.push(`${event.kind} ${event.session.sessionId}`);
  }
  return { events, at };
}
