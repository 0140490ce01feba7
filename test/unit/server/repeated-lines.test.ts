import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { RepeatedLines } from "../../../src/server/repeated-lines.js";
import { TestLogger } from "../../support/test-logger.js";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

it("writes the first line of a kind at once, and then one a second that counts the others", () => {
  const logger = new TestLogger();
  const lines = new RepeatedLines(logger.pino);
  const fail = (number: number) => lines.log("warn", "kind", "Failed", () => ({ number }));
  for (let i = 1; i <= 1000; i++) fail(i);
  expect(logger.lines).toMatchObject([{ msg: "Failed", number: 1 }]);
  vi.advanceTimersByTime(1000);
  expect(logger.lines.slice(1)).toMatchObject([{ msg: "Failed", number: 1000, count: 999 }]);
  fail(1001);
  fail(1002);
  expect(logger.lines).toHaveLength(2);
  vi.advanceTimersByTime(1000);
  expect(logger.lines.slice(2)).toMatchObject([{ number: 1002, count: 2 }]);
  vi.advanceTimersByTime(1000);
  fail(1003);
  expect(logger.lines.slice(3)).toMatchObject([{ number: 1003 }]);
});

it("counts kinds separately up to a limit, and further ones by their text", () => {
  const logger = new TestLogger();
  const lines = new RepeatedLines(logger.pino);
  for (let i = 0; i < 5000; i++) lines.log("warn", `kind ${i}`, "Failed", () => ({}));
  vi.advanceTimersByTime(1000);
  expect(logger.lines.length).toBeLessThan(1100);
  const total = logger.lines.reduce((sum, { count = 1 }) => sum + (count as number), 0);
  expect(total).toBe(5000);
});
