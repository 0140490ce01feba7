import { describe, expect, it } from "vitest";
import { BREAKABLE_RULES } from "./rules.js";

const SCHEDULES = "./rule-schedules/all.js";
const { RULE_SCHEDULES, runSchedule } = await load(SCHEDULES);

describe("each rule of histories is needed", () => {
  it("and has a schedule that proves it", () => {
    const rules = BREAKABLE_RULES.map(({ name }) => name);
    expect(RULE_SCHEDULES.map(({ rule }) => rule).sort()).toEqual(rules.sort());
  });

  it.each(RULE_SCHEDULES)("$rule: $what", async ({ rule, good }) => {
    expect(await runSchedule(rule)).toBe(good);
    const broken = await load(`${SCHEDULES}?without=${rule}`);
    expect(await broken.runSchedule(rule)).not.toBe(good);
  });
});

/** Loads the schedules with modules in which a rule may be broken. */
async function load(path: string): Promise<typeof import("./rule-schedules/all.js")> {
  return await import(/* @vite-ignore */ path);
}
