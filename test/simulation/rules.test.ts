import { describe, expect, it } from "vitest";
import { RULES } from "../../src/storage/history/rules.js";
import { APPEND_SCHEDULES } from "./rule-schedules/append-schedules.js";
import { EDIT_SCHEDULES } from "./rule-schedules/edit-schedules.js";
import { FORK_SCHEDULES } from "./rule-schedules/fork-schedules.js";
import { SWEEP_SCHEDULES } from "./rule-schedules/sweep-schedules.js";
import { World } from "./world.js";

const RULE_SCHEDULES = [...EDIT_SCHEDULES, ...FORK_SCHEDULES, ...SWEEP_SCHEDULES, ...APPEND_SCHEDULES];

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
