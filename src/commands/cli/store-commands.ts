import type { Command } from "commander";
import { addSweepOptions } from "../../config/config.js";
import { parseText } from "../../config/flags.js";
import { readFeedRetention, readRetention } from "../../config/retention-flags.js";
import { addNamespaceOption, addStorageOption } from "../../config/storage-flags.js";
import { audited, commands } from "./loaders.js";
import { withAudit, withOwner, withOwnerFilter, withVacuum } from "./options.js";

/** The commands that look after a store, and add up what is in it. */
export function addStoreCommands(program: Command): void {
  addSweepOptions(withAudit(addStorageOption(program.command("sweep"))))
    .description("delete what has expired, and clear away what deleted and changed sessions left behind")
    .option("--repair", "also recount forks and delete what no record owns; only while no server runs", false)
    .action(async ({ storage, repair, retentionDays, attachmentIdleS, feedRetentionH, auditLog }) =>
      audited({ auditLog }, "sweep", { repair }, async () =>
        (await commands.sweep()).sweep(storage, {
          repair,
          retentionMs: readRetention(retentionDays),
          attachmentIdleMs: attachmentIdleS * 1000,
          feedRetentionMs: readFeedRetention(feedRetentionH),
        }),
      ),
    );

  withVacuum(withAudit(addNamespaceOption(addStorageOption(program.command("erase")))))
    .description("overwrite the content of a message and of all its copies; servers may run meanwhile")
    .argument("<session>", "session that has the message")
    .argument("<message>", "id of the message")
    .action(async (session: string, message: string, flags) =>
      audited(flags, "erase", { sessionId: session, messageId: message }, async () =>
        (await commands.erase()).eraseMessage(flags, session, message, flags),
      ),
    );

  program
    .command("indexes")
    .description("print the indexes that a MongoDB database needs, as lines for mongosh")
    .action(async () => (await commands.indexes()).printIndexes());

  program
    .command("schema")
    .description("print the SQL that makes the schema of a PostgreSQL database, for a role that may")
    .option("--schema <name>", "name of the schema", "session_pool")
    .requiredOption("--role <name>", "role as which session-pool will connect; it gets the rights that it needs")
    .option("--upgrade", "print the SQL that upgrades the tables of an older version instead", false)
    .action(async (flags) => (await commands.schema()).printSchema(flags));

  withOwnerFilter(addNamespaceOption(addStorageOption(program.command("usage"))))
    .description("print what calls of models and tools took: tokens, cost and time")
    .option("--since <time>", "only messages from then on: 7d, 12h, 2026-11-28 or 2026-11-28T10:00:00Z", parseText)
    .option("--until <time>", "only messages before then, in the same forms", parseText)
    .option("--group-by <names>", "day, model, provider, owner, session, label:KEY, tool, separated by commas", "day")
    .option("--time-zone <name>", "time zone of days, such as Europe/Berlin; UTC when absent", parseText)
    .option("--label <key=value>", "only sessions with this label; may be repeated", (label, all: string[] = []) => [
      ...all,
      label,
    ])
    .option("--session <id>", "only this session", parseText)
    .option("--model <name>", "only messages of this model", parseText)
    .option("--csv", "print comma-separated values", false)
    .action(async (flags) => (await commands.usage()).printUsage(flags, withOwner(flags)));
}
