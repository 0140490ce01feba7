import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../support/toolchain.js";
import { allBlocks, type Block, TUTORIALS } from "./blocks.js";

/** What is no program: pictures, and what programs print. */
const SHOWN = ["", "text", "mermaid"];
/** Commands of a shell, which a test of their own runs. */
const COMMANDS = ["sh", "bash", "console"];

interface Claim {
  readonly test: string;
  readonly language: string;
  /** Undefined: all blocks in the language. */
  readonly contains: string | undefined;
}

const blocks = allBlocks().filter(
  ({ page, language }) => !page.startsWith(TUTORIALS) && ![...SHOWN, ...COMMANDS].includes(language),
);
const tests = readdirSync(join(ROOT, "test"), { recursive: true, encoding: "utf8" }).filter((name) =>
  name.endsWith(".ts"),
);
const claims = tests.flatMap((name) => claimsOf(join("test", name)));

it("every program on a page is used by a test, which reads it with documentedProgram or allDocumented", () => {
  expect(blocks.length).toBeGreaterThan(0);
  const unused = blocks.filter((block) => !claims.some((claim) => isFor(claim, block)));
  expect(unused.map(({ page, line, language }) => `${page}:${line}: ${language}`)).toEqual([]);
});

it("every test that names a program finds exactly one", () => {
  const named = claims.filter(({ contains }) => contains !== undefined);
  expect(named.length).toBeGreaterThan(0);
  const wrong = named.filter((claim) => blocks.filter((block) => isFor(claim, block)).length !== 1);
  expect(wrong.filter(({ language }) => !COMMANDS.includes(language) && !SHOWN.includes(language))).toEqual([]);
});

/** Returns the programs that a test reads. A call is known by its literals. */
function claimsOf(test: string): readonly Claim[] {
  const source = readFileSync(join(ROOT, test), "utf8");
  const named = [...source.matchAll(/\bdocumentedProgram\(\s*"(\w+)",\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)')/g)];
  const whole = [...source.matchAll(/\ballDocumented\("(\w+)"\)/g)];
  return [
    ...named.map(([, language = "", text, other]) => ({
      test,
      language,
      contains: other ?? (JSON.parse(`"${text}"`) as string),
    })),
    ...whole.map(([, language = ""]) => ({ test, language, contains: undefined })),
  ];
}

function isFor({ language, contains }: Claim, block: Block): boolean {
  return language === block.language && (contains === undefined || block.text.includes(contains));
}
