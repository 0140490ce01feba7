import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/toolchain.js";

/** A fenced block of a page. */
export interface Block {
  readonly page: string;
  /** The line of its opening fence, counted from 1. */
  readonly line: number;
  /** Empty for a block that names none. */
  readonly language: string;
  /** Its lines without the indentation of the fence. */
  readonly text: string;
}

/** Where the tutorials are. Their own test runs all of their blocks, in order. */
export const TUTORIALS = "docs/tutorials/";

/** Returns the fenced blocks of all pages but the changelog, in order. */
export function allBlocks(): readonly Block[] {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"];
  const pages = execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim().split("\n");
  return pages.filter((page) => page !== "CHANGELOG.md" && existsSync(join(ROOT, page))).flatMap(blocksOf);
}

export function blocksOf(page: string): readonly Block[] {
  const lines = readFileSync(join(ROOT, page), "utf8").split("\n");
  const blocks: Block[] = [];
  for (let i = 0; i < lines.length; i++) {
    const [, indent, language] = /^( *)```(.*)$/.exec(lines[i] as string) ?? [];
    if (indent === undefined || language === undefined) continue;
    const end = lines.indexOf(`${indent}\`\`\``, i + 1);
    if (end < 0) throw new Error(`${page}:${i + 1}: this block does not end`);
    const text = lines
      .slice(i + 1, end)
      .map((line) => `${line.startsWith(indent) ? line.slice(indent.length) : line}\n`);
    blocks.push({ page, line: i + 1, language: language.trim(), text: text.join("") });
    i = end;
  }
  return blocks;
}
