import { simulateWatching } from "../watching.js";
import { settle, type World } from "../world.js";
import { type RuleSchedule, sessionOf } from "./scenes.js";

/** Rules of the feed. Most are broken in a random run whose seed shows that the rule is needed. */
export const FEED_SCHEDULES: readonly RuleSchedule[] = [
  watching("place-with-change", 2),
  watching("departure-with-change", 1),
  watching("read-before-open", 8),
  watching("heard-before-or-after", 1),
  watching("settled-before-untold", 38),
  watching("attached-before-read", 1),
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

function watching(rule: string, seed: number): RuleSchedule {
  return {
    rule,
    store: "atomic",
    what: "readers that resume while others write",
    good: "nothing missed",
    async run() {
      try {
        await simulateWatching(seed);
        return "nothing missed";
      } catch (error) {
        return (error as Error).message;
      }
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
