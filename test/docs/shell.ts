import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/toolchain.js";

/** Returns the paths of the repository's files, new ones included. */
export function repositoryFiles(): readonly string[] {
  const options = { cwd: ROOT, encoding: "utf8" } as const;
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], options);
  return listed.split("\n").filter((path) => path !== "" && existsSync(join(ROOT, path)));
}

export interface ShellBlock {
  readonly page: string;
  /** Of the block's first line of text, counted from 1. */
  readonly line: number;
  /** What is typed, in order; lines that a backslash continues are one. */
  readonly commands: readonly ShownCommand[];
}

export interface ShownCommand {
  readonly text: string;
  /** What the page says that the command prints. */
  readonly output: string;
}

/** Returns the blocks of a page that show a shell: scripts, and sessions with a prompt. */
export function shellBlocks(page: string): readonly ShellBlock[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  return [...text.matchAll(/^( *)```(sh|bash|console)\n(.*?)^ *```$/gms)].map((match) => {
    const [, indent = "", kind, body = ""] = match;
    const unindented = body.replaceAll(`\n${indent}`, "\n").slice(indent.length);
    const lines = unindented.replaceAll("\\\n", " ").trimEnd().split("\n");
    const line = text.slice(0, match.index).split("\n").length + 1;
    return { page, line, commands: kind === "console" ? typed(lines) : scripted(lines) };
  });
}

function scripted(lines: readonly string[]): readonly ShownCommand[] {
  const commands = lines.map((line) => line.replace(/(^|\s)#.*$/, "").trim()).filter((line) => line !== "");
  return commands.map((text) => ({ text, output: "" }));
}

function typed(lines: readonly string[]): readonly ShownCommand[] {
  const parts = `\n${lines.join("\n")}`.split("\n$ ").slice(1);
  return parts.map((part) => {
    const [text = "", ...output] = part.split("\n");
    return { text, output: output.join("\n").trim() };
  });
}

/** Returns the single commands of a line, as words without quotes. Assignments before a command are left out. */
export function wordsOf(line: string): readonly (readonly string[])[] {
  const words = line.match(/&&|\|\||[;|]|>>?|(?:'[^']*'|"[^"]*"|[^\s;|&'">])+/g) ?? [];
  const commands: string[][] = [[]];
  for (const word of words) {
    if (/^(&&|\|\||[;|])$/.test(word)) commands.push([]);
    else commands.at(-1)?.push(word.replace(/'([^']*)'|"([^"]*)"/g, "$1$2"));
  }
  return commands
    .map((command) => {
      const first = command.findIndex((word) => !/^[A-Z_]+=/.test(word));
      return command.slice(first < 0 ? command.length : first);
    })
    .filter((command) => command.length > 0);
}
