import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vitest/config";

/** One statement that keeps a rule, and the statement that replaces it when the rule is broken. */
export interface BrokenStatement {
  /** Path from the root of the repository. */
  readonly file: string;
  readonly statement: string;
  readonly broken: string;
}

/**
 * A rule that tests break, to show that a test notices: the statements that keep it are marked `// Rule: name.` in the
 * source.
 */
export interface BreakableRule {
  readonly name: string;
  readonly statements: readonly BrokenStatement[];
}

const QUERY = "?without=";

/**
 * Loads modules with a rule broken. `import("./x.js?without=name")` is x, and everything that it imports by relative
 * paths, with the statements of that rule replaced. Such modules are loaded apart from the others, so that one test may
 * compare both.
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
      const path = pathOf(id);
      const code = readFileSync(path, "utf8");
      return rule.statements
        .filter(({ file }) => join(root, file) === path)
        .reduce((text, statement) => breakStatement(text, rule.name, statement), code);
    },
  };
}

/**
 * The code with the statement replaced. Throws unless the statement is there exactly once, with the rule's name in the
 * comment above it.
 */
export function breakStatement(code: string, rule: string, { file, statement, broken }: BrokenStatement): string {
  const parts = code.split(statement);
  if (parts.length !== 2) {
    throw new Error(
      `The statement of rule ${rule} occurs ${parts.length - 1} times in ${file}, not once: ${statement}`,
    );
  }
  const [before, after] = parts as [string, string];
  if (!commentAbove(before).includes(`Rule: ${rule}.`)) {
    throw new Error(`No comment "Rule: ${rule}." is directly above its statement in ${file}: ${statement}`);
  }
  return before + broken + after;
}

/** Returns the comment lines directly above the line in which `before` ends. */
function commentAbove(before: string): string {
  const lines = before.split("\n").slice(0, -1);
  const isComment = (line: string) => /^\s*(\/\/|\/?\*)/.test(line);
  return lines.slice(lines.findLastIndex((line) => !isComment(line)) + 1).join("\n");
}

function ruleOf(id: string): string | undefined {
  const at = id.indexOf(QUERY);
  return at < 0 ? undefined : id.slice(at + QUERY.length);
}

function pathOf(id: string): string {
  return id.split(QUERY)[0] as string;
}
