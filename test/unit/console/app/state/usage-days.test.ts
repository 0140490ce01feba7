import { expect, it } from "vitest";
import { daysBetween, seriesOf, sumsBy, valuesOf } from "../../../../../src/console/app/state/usage-days.js";

const usd = (amount: string) => [{ currency: "USD", amount }];
const row = (day: string, model: string, calls: number, cost = "0.1") => ({
  ...{ day, model, calls: `${calls}`, inputTokens: "10" },
  costs: usd(cost),
});

it("has every day of the time, and days outside of it that have calls", () => {
  const rows = [row("2026-02-27", "a", 1), row("2026-03-02", "a", 1)];
  expect(daysBetween(rows, "2026-02-26T00:00", "2026-03-01T00:00")).toEqual([
    "2026-02-26",
    "2026-02-27",
    "2026-02-28",
    "2026-03-01",
    "2026-03-02",
  ]);
  expect(daysBetween([], "", "2026-03-01T00:00")).toEqual([]);
  expect(daysBetween([], "2026-03-01T00:00", "2026-03-02T00:00")).toEqual(["2026-03-01"]);
  expect(daysBetween([], "2026-03-01T00:00", "2026-03-02T00:01")).toEqual(["2026-03-01", "2026-03-02"]);
});

it("gives the models with the most calls a colour of their own, and puts the others together", () => {
  const rows = ["a", "b", "c", "d", "e", "f", "g", "h"].map((model, i) => row("2026-01-01", model, 10 - i));
  expect(seriesOf(rows)).toEqual(["a", "b", "c", "d", "e", "f", "others"]);
  expect(seriesOf(rows.slice(0, 7))).toEqual(["a", "b", "c", "d", "e", "f", "g"]);
  const values = valuesOf(rows, seriesOf(rows), ({ calls }) => Number(calls));
  expect(values.at(-1)).toEqual({ day: "2026-01-01", series: "others", value: 4 + 3 });
  expect(seriesOf([row("2026-01-01", "", 1)])).toEqual(["unnamed"]);
  expect(seriesOf([row("2026-01-01", "b", 9), row("2026-01-01", "a", 1)])).toEqual(["a", "b"]);
});

it("adds up exactly by name", () => {
  const sums = sumsBy(
    [row("1", "a", 1, "0.1"), row("2", "a", 2, "0.2"), row("2", "b", 1, "5")],
    ({ model }) => model ?? "",
  );
  expect([...sums].map(([name, { calls, costs }]) => [name, calls, costs])).toEqual([
    ["a", "3", usd("0.3")],
    ["b", "1", usd("5")],
  ]);
});
