import { World } from "../world.js";
import { ACCESS_SCHEDULES } from "./access-schedules.js";
import { APPEND_SCHEDULES } from "./append-schedules.js";
import { ATTACHMENT_SCHEDULES } from "./attachment-schedules.js";
import { BIN_SCHEDULES } from "./bin-schedules.js";
import { DRAFT_SCHEDULES } from "./draft-schedules.js";
import { EDIT_SCHEDULES } from "./edit-schedules.js";
import { ERASE_SCHEDULES } from "./erase-schedules.js";
import { FEED_SCHEDULES } from "./feed-schedules.js";
import { FORK_SCHEDULES } from "./fork-schedules.js";
import type { RuleSchedule } from "./scenes.js";
import { SWEEP_SCHEDULES } from "./sweep-schedules.js";

export const RULE_SCHEDULES: readonly RuleSchedule[] = [
  ...EDIT_SCHEDULES,
  ...FORK_SCHEDULES,
  ...SWEEP_SCHEDULES,
  ...APPEND_SCHEDULES,
  ...DRAFT_SCHEDULES,
  ...ERASE_SCHEDULES,
  ...ACCESS_SCHEDULES,
  ...ATTACHMENT_SCHEDULES,
  ...BIN_SCHEDULES,
  ...FEED_SCHEDULES,
];

/** Runs the schedule of a rule. Resolves to its outcome. */
export async function runSchedule(name: string): Promise<string> {
  const schedule = RULE_SCHEDULES.find(({ rule }) => rule === name);
  if (!schedule) throw new Error(`Rule ${name} has no schedule`);
  return await schedule.run(new World(schedule.store));
}
