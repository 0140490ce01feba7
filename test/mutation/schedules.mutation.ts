import { expect, it } from "vitest";
import { RULE_SCHEDULES, runSchedule } from "../simulation/rule-schedules/all.js";

it.each(RULE_SCHEDULES)("$rule: $what", async ({ rule, good }) => {
  expect(await runSchedule(rule)).toBe(good);
});
