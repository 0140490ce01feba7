import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { BREAKABLE_RULES } from "../simulation/rules.js";
import { unbrokenMarks } from "../support/broken-rules.js";

const ROOT = join(import.meta.dirname, "../..");
const files = listFiles();
const pages = files.filter((path) => path.endsWith(".md"));
const sources = files.filter((path) => /^(src|test|proto|scripts|examples)\/.*\.(ts|mjs|js|proto)$/.test(path));

describe("the documents", () => {
  it.each(pages)("%s links only to existing files and headings", (page) => {
    expect(linksOf(page).filter((target) => !isThere(page, target))).toEqual([]);
  });

  it.each(pages.filter((page) => page.startsWith("docs/")))("no heading occurs twice in %s", (page) => {
    const anchors = anchorsOf(page);
    expect(anchors.filter((anchor, i) => anchors.indexOf(anchor) !== i)).toEqual([]);
  });

  it("include every document that the code refers to", () => {
    const missing = sources.flatMap((path) =>
      [...read(path).matchAll(/\bdocs\/[\w/-]+\.md\b/g)]
        .map(([name]) => name)
        .filter((name) => !existsSync(join(ROOT, name)))
        .map((name) => `${path}: ${name}`),
    );
    expect(missing).toEqual([]);
  });

  it("describe every rule that the code names", () => {
    const described = new Set(anchorsOf("docs/history.md"));
    expect(rulesInCode().filter((rule) => !described.has(rule))).toEqual([]);
  });

  it("describe no rule that the code does not name", () => {
    const named = new Set(rulesInCode());
    const described = [...read("docs/history.md").matchAll(/^#### (.*)$/gm)].map(([, rule]) => rule as string);
    expect(described.length).toBeGreaterThan(0);
    expect(described.filter((rule) => !named.has(rule))).toEqual([]);
  });

  it("describe rules that tests break at every place of the history engine that names one", () => {
    const unbroken = sources
      .filter((path) => path.startsWith("src/storage/history/"))
      .flatMap((path) => unbrokenMarks(read(path), path, BREAKABLE_RULES).map((mark) => `${path}:${mark}`));
    expect(unbroken).toEqual([]);
  });

  it("list every decision", () => {
    const records = files.filter((path) => /^docs\/decisions\/\d{4}-/.test(path)).map((path) => path.slice(15));
    const listed = linksOf("docs/decisions/README.md").filter((target) => /^\d{4}-/.test(target));
    expect(listed).toEqual(records.sort());
  });
});

it("comments wrap at the formatter's width", () => {
  const { formatter } = JSON.parse(read(".biome.json")) as { formatter: { lineWidth: number } };
  const wide = sources.flatMap((path) =>
    read(path)
      .split("\n")
      .flatMap((line, i) =>
        isCommentThatWraps(line) && line.length > formatter.lineWidth ? [`${path}:${i + 1}`] : [],
      ),
  );
  expect(wide).toEqual([]);
});

/** Addresses and instructions to tools cannot be wrapped. */
function isCommentThatWraps(line: string): boolean {
  return /^\s*(\*|\/\/|\/\*)/.test(line) && !/https?:\/\/|biome-ignore/.test(line);
}

/** The names in the comments `Rule: name.` of the source. */
function rulesInCode(): readonly string[] {
  return files
    .filter((path) => path.startsWith("src/"))
    .flatMap((path) => [...read(path).matchAll(/\bRule: ([a-z-]+)\./g)].map(([, rule]) => rule as string));
}

function listFiles(): readonly string[] {
  const tracked = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  return tracked.split("\n").filter((path) => path !== "" && existsSync(join(ROOT, path)));
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

/** Returns the targets of the page's links and pictures, except those on the web. */
function linksOf(page: string): readonly string[] {
  const text = read(page).replace(/^```.*?^```$/gms, "");
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target as string);
  return targets.filter((target) => !/^[a-z]+:/.test(target));
}

function isThere(page: string, target: string): boolean {
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? page : join(dirname(page), path);
  if (!existsSync(join(ROOT, file))) return false;
  return anchor === undefined || anchorsOf(file).includes(anchor);
}

/** Returns the anchors that GitHub makes for a page's headings. */
function anchorsOf(page: string): readonly string[] {
  const headings = [...read(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) => heading as string);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}
