import { describe, expect, it } from "vitest";
import { simulateErasing } from "./erasing.js";
import { secretsLeft, withSecret } from "./rule-schedules/erase-schedules.js";
import { copy, sweepLater } from "./rule-schedules/scenes.js";
import { settle, told, World } from "./world.js";

describe("an erasure reaches a copy into a session with messages", () => {
  it.each(["readRange", "answer of readRange", "replaceRecord", "append", "answer of append", "seal"])(
    "that is held up at each %s in turn",
    async (request) => {
      let isHeld = true;
      let before = 0;
      for (; isHeld; before++) {
        const world = new World("atomic");
        const copier = await withSecret(world);
        let left = before;
        copier.gates.close(request, () => left-- <= 0);
        const copied = copy(copier);
        await settle();
        isHeld = copier.gates.waiting(request) > 0;
        await world.process().eraseMessage("a", "secret");
        if (isHeld) await copier.gates.open(request);
        expect(await copied).toBe("copied 1");
        if (!isHeld) await world.process().eraseMessage("b", "secret");
        expect(secretsLeft(world)).toBe(0);
        expect(await world.process().ids("b")).toBe("secret t");
      }
      // In the last run nothing was held up any more.
      expect(before).toBeGreaterThan(1);
    },
  );
});

it("an update that arrives after the erasure and the sweep leaves nothing in the log that was cleared away", async () => {
  const world = new World("weak");
  const process = await withSecret(world);
  const writer = world.process();
  writer.gates.close("insert");
  const updated = told(writer.updateMessage("a", "secret", { role: "agent" }));
  await settle();
  await process.eraseMessage("a", "secret");
  await sweepLater(world);
  await writer.gates.open("insert");
  await updated;
  expect(secretsLeft(world)).toBe(0);
});

it("a copy that finds nothing new replaces no record", async () => {
  const world = new World("atomic");
  const copier = await withSecret(world);
  await copy(copier);
  const { revision } = world.record("b");
  expect(await copy(copier)).toBe("copied 0");
  expect(world.record("b").revision).toBe(revision);
});

const SEEDS = Number(process.env.SIM_SEEDS ?? 40);

it.each([
  ["a message", "atomic"],
  ["a message", "weak"],
  ["an owner", "atomic"],
  ["an owner", "weak"],
] as const)(
  "an erasure of %s leaves nothing while others copy, fork and edit, on the %s store",
  async (erased, store) => {
    let deaths = 0;
    let copies = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      try {
        const report = await simulateErasing(seed, store, erased);
        deaths += report.deaths;
        copies += report.copies;
      } catch (error) {
        throw new Error(`Seed ${seed}: ${(error as Error).message}`, { cause: error });
      }
    }
    // The runs must have included each of these at least once.
    expect(deaths).toBeGreaterThan(0);
    expect(copies).toBeGreaterThan(SEEDS);
  },
  300_000,
);
