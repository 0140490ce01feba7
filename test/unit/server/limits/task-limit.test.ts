import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { TaskLimit } from "../../../../src/server/limits/task-limit.js";

it("runs a limited number at a time, in the order of arrival, and skips those that gave up", async () => {
  const tasks = new TaskLimit(2);
  const begun: number[] = [];
  const ends = [0, 1, 2, 3, 4].map((i) => tasks.start(() => begun.push(i)));
  await setImmediate();
  expect(begun).toEqual([0, 1]);
  ends[2]!();
  ends[0]!();
  await setImmediate();
  expect(begun).toEqual([0, 1, 3]);
  ends[1]!();
  ends[3]!();
  await setImmediate();
  expect(begun).toEqual([0, 1, 3, 4]);
  ends[4]!();
  tasks.start(() => begun.push(5));
  tasks.start(() => begun.push(6));
  tasks.start(() => begun.push(7));
  await setImmediate();
  expect(begun).toEqual([0, 1, 3, 4, 5, 6]);
});
