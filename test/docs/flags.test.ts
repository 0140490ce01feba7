import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command, type Option } from "commander";
import { describe, expect, it } from "vitest";
import { addServeOptions } from "../../src/config/config.js";

const page = readFileSync(join(import.meta.dirname, "../../docs/operations/flags.md"), "utf8");
const rows = new Map(
  [...page.matchAll(/^\| `(--[\w-]+)` \| (.*) \|$/gm)].map(([, flag, cells]) => [flag, (cells as string).split(" | ")]),
);
const options = addServeOptions(new Command()).options;

/** The unit that the end of a flag's name says. */
const UNITS: Readonly<Record<string, string>> = { bytes: "bytes", s: "seconds", ms: "milliseconds", days: "days" };

describe("the page of flags", () => {
  it("has one row for each flag of the program, and no other", () => {
    const names = [...page.matchAll(/^\| `(--[\w-]+)` /gm)].map(([, flag]) => flag);
    expect(names.sort()).toEqual(options.map(({ long }) => long).sort());
  });

  it.each(options.map((option) => [option.long, option] as const))(
    "has the variable, the default and the unit of %s, and says what it means",
    (long, option) => {
      const [variable, value, unit, meaning = ""] = rows.get(long ?? "") ?? [];
      expect(variable).toBe(`\`${option.envVar}\``);
      expect(value).toMatch(defaultOf(option));
      const [, end = ""] = /-(?:(bytes|s|ms|days))(?:-per-key)?$/.exec(long ?? "") ?? [];
      if (end !== "") expect(unit).toBe(UNITS[end]);
      expect(unit).not.toBe("");
      expect(meaning.length).toBeGreaterThan(5);
    },
  );
});

/** What the cell must hold: the value, or words where the program computes it or has none. */
function defaultOf({ defaultValue, negate }: Option): string | RegExp {
  if (negate || defaultValue === false) return /^off$/;
  if (defaultValue === undefined) return /^[^`]+$/;
  return new RegExp(`^\`${String(defaultValue).replace(/[.?*+^$()[\]{}|\\]/g, "\\$&")}\`$`);
}
