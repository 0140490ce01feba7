import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vitest/config";

/**
 * One place that keeps a rule, which tests break to show that one of them notices. The comment `// Rule: name.` stands
 * above its statement in the source.
 */
export interface BreakableRule {
  /** The name of the rule. When several places keep it, a colon and a name for the place follow. */
  readonly name: string;
  /** Path from the root of the repository. */
  readonly file: string;
  readonly statement: string;
  /** What replaces the statement when the rule is broken. */
  readonly broken: string;
}

const QUERY = "?without=";

/**
 * Loads modules with a rule broken at one place. `import("./x.js?without=name")` is x, and everything that it imports
 * by relative paths, with the statement of that name replaced. Such modules are loaded apart from the others, so that
 * one test may compare both.
 */
export function brokenRules(rules: readonly BreakableRule[], root: string): Plugin {
  const byName = new Map(rules.map((rule) => [rule.name, rule]));
  return {
    name: "broken-rules",
    enforce: "pre",
    async resolveId(source, importer) {
      const name = ruleOf(source) ?? (source.startsWith(".") && importer ? ruleOf(importer) : undefined);
      if (name === undefined) return null;
      if (!byName.has(name)) throw new Error(`There is no rule ${name} to break`);
      const found = await this.resolve(pathOf(source), importer && pathOf(importer), { skipSelf: true });
      return found && !found.external ? `${found.id}${QUERY}${name}` : found;
    },
    load(id) {
      const rule = byName.get(ruleOf(id) ?? "");
      if (!rule) return null;
      const code = readFileSync(pathOf(id), "utf8");
      return join(root, rule.file) === pathOf(id) ? breakStatement(code, rule) : code;
    },
  };
}

/**
 * The code with the statement replaced. Throws unless the statement is there exactly once, with the rule's name in the
 * comment above it.
 */
export function breakStatement(code: string, rule: BreakableRule): string {
  const { statement, broken } = rule;
  if (!marksAbove(code, rule).some(({ name }) => name === nameOf(rule))) {
    throw new Error(
      `No comment "Rule: ${nameOf(rule)}." is directly above its statement in ${rule.file}: ${statement}`,
    );
  }
  return code.replace(statement, () => broken);
}

/** The name of a rule in a comment of the source, and where it stands. */
interface Mark {
  readonly name: string;
  readonly line: number;
}

/** The marks in the source of a file that none of these rules breaks, as `line: name`. */
export function unbrokenMarks(code: string, file: string, rules: readonly BreakableRule[]): readonly string[] {
  const broken = rules
    .filter((rule) => rule.file === file)
    .flatMap((rule) => marksAbove(code, rule).filter(({ name }) => name === nameOf(rule)));
  return marksIn(code.split("\n"))
    .filter((mark) => !broken.some(({ name, line }) => name === mark.name && line === mark.line))
    .map(({ name, line }) => `${line}: ${name}`);
}

/** The marks in the comment directly above the line in which a rule's statement begins. */
function marksAbove(code: string, { name, file, statement }: BreakableRule): readonly Mark[] {
  const parts = code.split(statement);
  if (parts.length !== 2) {
    throw new Error(
      `The statement of rule ${name} occurs ${parts.length - 1} times in ${file}, not once: ${statement}`,
    );
  }
  const lines = (parts[0] as string).split("\n").slice(0, -1);
  const isComment = (line: string) => /^\s*(\/\/|\/?\*)/.test(line);
  const start = lines.findLastIndex((line) => !isComment(line)) + 1;
  return marksIn(lines).filter(({ line }) => line > start);
}

function marksIn(lines: readonly string[]): readonly Mark[] {
  return lines.flatMap((text, i) =>
    [...text.matchAll(/\bRule: ([a-z-]+)\./g)].map(([, name]) => ({ name: name as string, line: i + 1 })),
  );
}

function nameOf({ name }: BreakableRule): string {
  return name.split(":")[0] as string;
}

function ruleOf(id: string): string | undefined {
  const at = id.indexOf(QUERY);
  return at < 0 ? undefined : id.slice(at + QUERY.length);
}

function pathOf(id: string): string {
  return id.split(QUERY)[0] as string;
}
