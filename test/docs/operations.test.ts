import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const FOLDER = "docs/operations";
const entry = readFileSync(join(ROOT, "docs/operations.md"), "utf8");
const pages = readdirSync(join(ROOT, FOLDER)).filter((name) => name.endsWith(".md"));

describe("the pages for operators", () => {
  it("begin at a page that is read at a glance and leads to each of them", () => {
    expect(Buffer.byteLength(entry)).toBeLessThan(4096);
    const linked = new Set([...entry.matchAll(/\(operations\/([\w-]+\.md)/g)].map(([, name]) => name));
    expect([...linked].sort()).toEqual([...pages].sort());
  });

  it.each(pages)("%s runs the program by a path, and nothing by a registered name", (name) => {
    const text = readFileSync(join(ROOT, FOLDER, name), "utf8");
    const blocks = [...text.matchAll(/^```(?:sh|console)\n(.*?)^```$/gms)].map(([, block]) => block as string);
    expect(blocks.filter((block) => /\bnpx session-pool\b|npm (?:install|i) session-pool\b/.test(block))).toEqual([]);
  });
});
