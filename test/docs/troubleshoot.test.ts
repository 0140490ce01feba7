import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const page = readFileSync(join(ROOT, "docs/operations/troubleshoot.md"), "utf8");
const headings = [...page.matchAll(/^### `(.+)`$/gm)].map(([, text]) => text as string);
/** The lines of the source that hold a text, and are no comments. */
const lines = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts") && !path.startsWith("console/"))
  .flatMap((path) => readFileSync(join(ROOT, "src", path), "utf8").split("\n"))
  .filter((line) => /["`]/.test(line) && !/^\s*(\*|\/)/.test(line));

it("the page explains the errors that operators are most likely to see", () => {
  expect(headings.length).toBeGreaterThan(20);
  expect([...page.matchAll(/^### (?!`).*$/gm)].map(([heading]) => heading)).toEqual([]);
});

it.each(headings)("the program says: %s", (heading) => {
  expect(lines.some((line) => holds(line, heading))).toBe(true);
});

/** Whether a line of the source has all pieces of a text in their order. `…` stands for what differs. */
function holds(line: string, text: string): boolean {
  const pieces = text.split("…").filter((piece) => piece.trim() !== "");
  let at = 0;
  return pieces.every((piece) => {
    const found = line.indexOf(piece, at);
    at = found + piece.length;
    return found >= 0;
  });
}
