import { describe, expect, it } from "vitest";
import { RULES } from "../../src/storage/history/rules.js";
import { RULE_SCHEDULES } from "./rule-schedules.js";
import { World } from "./world.js";

describe("each rule of histories is needed", () => {
  it("and has a schedule that shows it", () => {
    expect(RULE_SCHEDULES.map(({ rule }) => rule).sort()).toEqual([...RULES].sort());
  });

  for (const { rule, store, what, good, run } of RULE_SCHEDULES) {
    it(`${rule}: ${what}`, async () => {
      expect(await run(new World(store))).toBe(good);
      expect(await run(new World(store, [rule]))).not.toBe(good);
    });
  }
});
