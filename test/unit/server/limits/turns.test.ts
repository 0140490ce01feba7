import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { Turns } from "../../../../src/server/limits/turns.js";

it("runs a limited number at a time, in the order of arrival, and skips those that gave up", async () => {
  const turns = new Turns(2);
  const begun: number[] = [];
  const ends = [0, 1, 2, 3, 4].map((i) => turns.take(() => begun.push(i)));
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
  turns.take(() => begun.push(5));
  turns.take(() => begun.push(6));
  turns.take(() => begun.push(7));
  await setImmediate();
  expect(begun).toEqual([0, 1, 3, 4, 5, 6]);
});
