import { beforeEach, describe, expect, it } from "vitest";
import type { SessionSnapshot, StoredRange } from "../../../../../src/domain/session-image.js";
import { cut, fork, LATER_MS, sessionOf } from "../../../../simulation/rule-schedules/scenes.js";
import { type Process, told, World } from "../../../../simulation/world.js";

const OLD_MS = 61_000;

describe("a backup that is more than a minute old", () => {
  let world: World;
  let process: Process;

  beforeEach(async () => {
    world = new World("weak");
    process = await sessionOf(world, "m", "n");
  });

  /** Takes a snapshot, lets something happen and the time pass, and reads what the snapshot names. */
  async function readAfter(sessionId: string, happen: (other: Process) => Promise<unknown>): Promise<string> {
    const reader = world.process();
    const snapshot = (await reader.snapshotSession(sessionId)) as SessionSnapshot;
    world.nowMs += OLD_MS;
    await happen(world.process());
    const range = snapshot.messages[0] as StoredRange;
    return told(reader.readStored(snapshot, range).then((messages) => messages.map(({ id }) => id).join(" ")));
  }

  it("goes on where the session still names the messages", async () => {
    expect(await readAfter("a", (other) => other.say("a", "o"))).toBe("m n");
    await cut(process, "a", "n");
    expect(await readAfter("a", (other) => other.say("a", "p"))).toBe("m n");
  });

  it("goes on with messages that were removed, until a sweep has marked them for more than a minute", async () => {
    expect(await readAfter("a", (other) => cut(other, "a", "m"))).toBe("m n");
    await process.say("a", "n2");
    const afterSweep = (waitMs: number) =>
      readAfter("a", async (other) => {
        await cut(other, "a", null);
        await other.sweep();
        world.nowMs += waitMs;
      });
    expect(await afterSweep(0)).toBe("m");
    await process.say("a", "x");
    expect(await afterSweep(OLD_MS)).toBe("aborted");
  });

  it("ends when the session has let go of messages of its source", async () => {
    await fork(process, "a", "b");
    const answer = readAfter("b", async (other) => {
      await cut(other, "b", null);
      world.nowMs += LATER_MS;
    });
    expect(await answer).toBe("aborted");
  });

  it("ends when the session was deleted, or made again", async () => {
    expect(await readAfter("a", (other) => other.deleteSession("a"))).toBe("aborted");
    const again = await sessionOf(world, "m");
    const answer = readAfter("a", async () => {
      await again.deleteSession("a");
      await sessionOf(world, "m");
    });
    expect(await answer).toBe("aborted");
  });
});
