import type { Command } from "commander";
import { auditLogFlag } from "../../config/auth-flags.js";
import { parseText, parseTime } from "../../config/flags.js";

/** The flags that select sessions by what lists filter by, besides the owner. */
export function withSelection(command: Command): Command {
  return command
    .option("--parent <id>", "only sessions that were made from this one", parseText)
    .option("--label <key=value>", "only sessions with this label; may be repeated", collected);
}

/** The flags of commands that print or change everything that matches. */
export function withBulk(command: Command): Command {
  return withOwnerFilter(withSelection(command))
    .option("--title <words>", "only sessions whose title has these words", parseText)
    .option("--updated-since <time>", "only sessions that were updated at or after this time", parseTime)
    .option("--updated-until <time>", "only sessions that were updated before this time", parseTime);
}

export function collected(text: string, all: readonly string[] = []): readonly string[] {
  return [...all, text];
}

/** The flag of commands that change or export what is stored. */
export function withAudit(command: Command): Command {
  return command.addOption(auditLogFlag());
}

export function withVacuum(command: Command): Command {
  return command
    .option("--vacuum", "also clear old versions of rows from a PostgreSQL database", false)
    .option("--vacuum-full", "also write its tables anew; meanwhile no server can use them", false);
}

/** The flags of commands that work on the sessions of one owner, or on those without one. */
export function withOwnerFilter(command: Command): Command {
  const given = new Set<string>();
  for (const flag of ["owner", "no-owner"]) {
    // Commander takes `--no-owner` for another value of `--owner`, of which the last one would count.
    command.on(`option:${flag}`, () => {
      if (given.add(flag).size > 1)
        command.error("error: option '--owner <name>' cannot be used with option '--no-owner'");
    });
  }
  return command
    .option("--owner <name>", "only sessions of this owner", parseText)
    .option("--no-owner", "only sessions without an owner");
}

/** Flags with the owner as lists have it: empty for sessions without one. Commander has false for `--no-owner`. */
export function withOwner<F extends { readonly owner?: string | false }>(flags: F) {
  return { ...flags, owner: flags.owner === false ? "" : flags.owner };
}
