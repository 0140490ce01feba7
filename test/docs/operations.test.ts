import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { addServeOptions } from "../../src/config/config.js";
import { VERSION } from "../../src/version.js";

const ROOT = join(import.meta.dirname, "../..");
const FOLDER = "docs/operations";
const entry = readFileSync(join(ROOT, "docs/operations.md"), "utf8");
const pages = readdirSync(join(ROOT, FOLDER)).filter((name) => name.endsWith(".md"));
const CLI = "src/commands/cli";
/** The flags that commands declare, and those that commander has. */
const known = new Set([
  ...addServeOptions(new Command()).options.map(({ long }) => long),
  ...[
    "src/main.ts",
    "src/config/storage-flags.ts",
    ...readdirSync(join(ROOT, CLI)).map((name) => `${CLI}/${name}`),
  ].flatMap((path) =>
    [...readFileSync(join(ROOT, path), "utf8").matchAll(/"(--[a-z-]+)[ "]/g)].map(([, flag]) => flag),
  ),
  ...["--help", "--version"],
]);

describe("the pages for operators", () => {
  it("begin at a page that is read at a glance and leads to each of them", () => {
    expect(Buffer.byteLength(entry)).toBeLessThan(4096);
    const linked = new Set([...entry.matchAll(/\(operations\/([\w-]+\.md)/g)].map(([, name]) => name));
    expect([...linked].sort()).toEqual([...pages].sort());
  });

  it("name this version where they show the program or its package", () => {
    const texts = pages.map((name) => readFileSync(join(ROOT, FOLDER, name), "utf8")).join("\n");
    const versions = [...texts.matchAll(/session-pool[ -](\d+\.\d+\.\d+)/g)].map(([, version]) => version);
    expect(new Set(versions)).toEqual(new Set([VERSION]));
  });

  it("explain every metric of the service", () => {
    const source = readFileSync(join(ROOT, "src/server/call/metrics.ts"), "utf8");
    const metrics = [...source.matchAll(/"(session_pool_\w+)"/g)].map(([, name]) => name as string);
    expect(metrics.length).toBeGreaterThan(4);
    const table = readFileSync(join(ROOT, FOLDER, "watch.md"), "utf8");
    expect(metrics.filter((name) => !new RegExp(`^\\|.*\`${name}\\b.* \\|`, "m").test(table))).toEqual([]);
  });

  it.each(pages)("%s names only flags that the program has", (name) => {
    const text = readFileSync(join(ROOT, FOLDER, name), "utf8");
    const commands = [...text.matchAll(/^.*dist\/main\.js (.*)$/gm)].map(([, rest]) => rest as string);
    const spans = [...text.matchAll(/`(--[^`]*)`/g)].map(([, span]) => span as string);
    const named = [...commands, ...spans].flatMap((code) => code.match(/(?<=^|\s)--[a-z][\w-]*\w(?![\w…-])/g) ?? []);
    expect(named.filter((flag) => !known.has(flag))).toEqual([]);
  });

  it.each(pages)("%s runs the program by a path, and nothing by a registered name", (name) => {
    const text = readFileSync(join(ROOT, FOLDER, name), "utf8");
    const blocks = [...text.matchAll(/^```(?:sh|console)\n(.*?)^```$/gms)].map(([, block]) => block as string);
    expect(blocks.filter((block) => /\bnpx session-pool\b|npm (?:install|i) session-pool\b/.test(block))).toEqual([]);
  });
});
