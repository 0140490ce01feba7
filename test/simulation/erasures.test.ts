import { describe, expect, it } from "vitest";
import { copy, secretsLeft, withSecret } from "./rule-schedules/erase-schedules.js";
import { settle, World } from "./world.js";

describe("an erasure reaches a copy into a session with messages", () => {
  it.each(["readRange", "answer of readRange", "replaceRecord", "append", "answer of append", "seal"])(
    "that is held up at each %s in turn",
    async (request) => {
      for (let before = 0, isHeld = true; isHeld; before++) {
        const world = new World("atomic");
        const copier = await withSecret(world);
        let left = before;
        copier.gates.close(request, () => left-- <= 0);
        const copied = copy(copier);
        await settle();
        isHeld = copier.gates.waiting(request) > 0;
        await world.process().eraseMessage("a", "secret");
        await copier.gates.open(request);
        expect(await copied).toBe("copied 1");
        if (!isHeld) await world.process().eraseMessage("b", "secret");
        expect(secretsLeft(world)).toBe(0);
        expect(await world.process().ids("b")).toBe("secret t");
      }
    },
  );
});

it("a copy that finds nothing new replaces no record", async () => {
  const world = new World("atomic");
  const copier = await withSecret(world);
  await copy(copier);
  const { revision } = world.record("b");
  expect(await copy(copier)).toBe("copied 0");
  expect(world.record("b").revision).toBe(revision);
});
