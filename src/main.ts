import "./harden.js";
import { Command, Option } from "commander";
import { fail } from "./commands/fail.js";
import { stopSignal } from "./commands/signals.js";
import type { TodoFields } from "./commands/todo.js";
import { auditLogFlag, hideTodosFlag } from "./config/auth-flags.js";
import { addHealthOptions, addServeOptions, addSweepOptions, readServeConfig } from "./config/config.js";
import { parseScope, parseText, parseTime, positive, wholeNumber } from "./config/flags.js";
import { readFeedRetention, readRetention, undeleteFlag } from "./config/retention-flags.js";
import { addNamespaceOption, addStorageOption } from "./config/storage-flags.js";
import { VERSION } from "./version.js";

/** Each command is loaded when it is called, because each needs only part of the program. */
const commands = {
  audited: () => import("./commands/audited.js"),
  assign: () => import("./commands/assign-sessions.js"),
  bulk: () => import("./commands/bulk-sessions.js"),
  deleteOwner: () => import("./commands/delete-owner.js"),
  erase: () => import("./commands/erase.js"),
  export: () => import("./commands/transfer/export-sessions.js"),
  health: () => import("./commands/health.js"),
  import: () => import("./commands/transfer/import-sessions.js"),
  indexes: () => import("./commands/indexes.js"),
  schema: () => import("./commands/schema.js"),
  keys: () => import("./commands/keys.js"),
  mcp: () => import("./commands/mcp/mcp.js"),
  serve: () => import("./commands/serve.js"),
  sessions: () => import("./commands/sessions.js"),
  sweep: () => import("./commands/sweep.js"),
  ticketSecret: () => import("./commands/ticket-secret.js"),
  todo: () => import("./commands/todo.js"),
  usage: () => import("./commands/usage.js"),
};

const TICKET_SECRET_HELP = `
To change the secret without ending tickets:
  1. keys ticket-secret --file F             the new secret signs, and the old one still verifies
  2. wait until the tickets of before have ended, at most 30 days
  3. keys ticket-secret --file F --drop-old`;

const IMPORT_HELP = `
The file is recognised by its content:
  session-pool           what export and the console write
  ChatGPT, Claude.ai     the ZIP archive as it was downloaded, or conversations.json
  Claude Code, Codex CLI their JSONL files, or a folder of them
  OpenCode               the output of opencode export, or opencode.db
  LibreChat              a conversation exported as JSON
  the AI SDK             a JSON list of UIMessages, or chats with messages
  the OpenAI Agents SDK  the SQLite file of SQLiteSession
`;

/** The exit code of an import that left something out. */
const INCOMPLETE = 3;

const program = new Command("session-pool")
  .description("Keeps conversation sessions, their message history and one shared todo list.")
  .version(VERSION);

addServeOptions(program.command("serve").description("serve gRPC, REST, Connect and the console")).action(
  async (flags) => {
    // Before the rest is loaded, because the first process of a container ignores signals that it does not listen to.
    const signalled = stopSignal();
    await (await commands.serve()).serve(readServeConfig(flags), signalled);
  },
);

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

withOwnerFilter(withAudit(addNamespaceOption(addStorageOption(program.command("export")))))
  .description("write sessions with their messages, and the todos, as JSON Lines")
  .argument("[file]", "file to write, or - for standard output", "-")
  .option("--all-namespaces", "write every namespace of the store to the one file", false)
  .addOption(
    new Option("--session <id>", "write only this session, without the todos; may be repeated")
      .argParser((id, ids: string[] = []) => [...ids, parseText(id)])
      .conflicts(["allNamespaces", "owner"]),
  )
  .option("--no-attachments", "leave out the bytes of attachments, which messages then call missing")
  .action(async (file: string, { session: sessions, ...flags }, command: Command) => {
    const source = command.getOptionValueSource("namespace");
    if (flags.allNamespaces && source === "cli") {
      throw new Error("--namespace and --all-namespaces must not be given together");
    }
    const isNamespaceGiven = source !== "default";
    const request = { ...withOwner(flags), sessions, isNamespaceGiven };
    const { auditLog, namespace, allNamespaces } = flags;
    const about = { owner: request.owner, sessionIds: sessions?.join(" ") };
    await audited({ auditLog, namespace: allNamespaces ? undefined : namespace }, "export", about, async (audit) =>
      (await commands.export()).exportSessions({ ...request, audit }, file),
    );
  });

withAudit(addNamespaceOption(addStorageOption(program.command("import"))))
  .description("read sessions that session-pool or another program exported; can be repeated")
  .argument("<file>", "file, archive or folder to read")
  .addHelpText("after", IMPORT_HELP)
  .option("--owner <name>", "owner that every imported session gets, whatever the file says", parseText)
  .option("--strict", "refuse another program's file if something of it has to be mended or left out", false)
  .action(async (file: string, flags, command: Command) => {
    const isNamespaceGiven = command.getOptionValueSource("namespace") !== "default";
    const { auditLog, namespace, owner } = flags;
    const { leftOut } = await audited({ auditLog, namespace }, "import", { owner }, async (audit) =>
      (await commands.import()).importSessions({ ...flags, isNamespaceGiven, audit }, file),
    );
    if (leftOut > 0) process.exitCode = INCOMPLETE;
  });

addHealthOptions(
  program.command("health").description("tell by the exit code whether the server on this machine is ready"),
).action(async (flags) => (await commands.health()).checkHealth(flags));

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

withAudit(addNamespaceOption(addStorageOption(program.command("mcp"))))
  .description(
    "serve the Model Context Protocol on standard input and output, for agents; only reads unless --allow-writes is given",
  )
  .option("--allow-writes", "also offer the tools that append, fork, revert and change todos", false)
  .option("--owner <name>", "owner whose sessions alone are read and changed; new ones get this owner", parseText)
  .addOption(hideTodosFlag())
  .action(async (flags) =>
    audited(flags, "mcp", { owner: flags.owner }, async (audit) =>
      (await commands.mcp()).serveMcp({ ...flags, audit }),
    ),
  );

addSessionCommands(program.command("sessions").description("list, show, watch, assign and delete sessions"));
addTodoCommands(program.command("todo").description("read and change the todo list"));
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

addKeyCommands(program.command("keys").description("make, list and remove API keys"));

program.parseAsync().catch(fail).finally(endSoon);

function addSessionCommands(sessions: Command): void {
  const command = (usage: string, description: string) =>
    addNamespaceOption(addStorageOption(sessions.command(usage).description(description))).option(
      "--json",
      "print JSON as REST answers it, one object a line",
      false,
    );
  withBulk(command("list", "print sessions, the most recently updated first"))
    .option("--limit <n>", "most sessions to print; all when absent", positive)
    .option(
      "--order-by <order>",
      'update_time, create_time or title, with " desc" after it for the other way',
      parseText,
    )
    .option("--deleted", "only deleted sessions that can be brought back, the newest delete first", false)
    .action(async (flags) => (await commands.sessions()).listSessions(flags, withOwner(flags)));
  command("show <id>", "print a session and its last messages")
    .option("--limit <n>", "most messages to print, 1000 at most", positive, 100)
    .action(async (id: string, flags) => (await commands.sessions()).showSession(flags, id, flags));
  command("tail <id>", "print the last messages of a session, and watch it until Ctrl-C")
    .option("--limit <n>", "messages to begin with", wholeNumber, 10)
    .action(async (id: string, flags) => (await commands.sessions()).tailSession(flags, id, flags));
  withAudit(withSelection(command("assign", "give an owner to sessions that have none")))
    .requiredOption("--owner <name>", "owner that they get", parseText)
    .option("--from <name>", "take the sessions of this owner instead of those without one", parseText)
    .addOption(new Option("--all", "take all of these sessions").default(false).conflicts(["label", "parent"]))
    .option("--yes", "do not ask", false)
    .action(async (flags) =>
      audited(flags, "sessions assign", { owner: flags.owner, from: flags.from }, async (audit) =>
        (await commands.assign()).assignSessions({ ...flags, audit }, flags),
      ),
    );
  withAudit(command("undelete <id>", "bring back the session with this id that was deleted last")).action(
    async (id: string, flags) =>
      audited(flags, "sessions undelete", { sessionId: id }, async () =>
        (await commands.sessions()).undeleteSession(flags, id),
      ),
  );
  withBulk(withAudit(command("label", "set and remove labels of all sessions that match")))
    .option("--set <key=value>", "label that they get; may be repeated", collected)
    .option("--remove <key>", "label that they lose; may be repeated", collected)
    .option("--yes", "do not ask", false)
    .action(async (flags) =>
      audited(flags, "sessions label", { owner: withOwner(flags).owner }, async (audit) =>
        (await commands.bulk()).labelMatching({ ...flags, audit }, withOwner(flags), {
          set: flags.set ?? [],
          remove: flags.remove ?? [],
        }),
      ),
    );
  withBulk(withAudit(command("export [file]", "write all sessions that match, as export does, to a file or -")))
    .option("--no-attachments", "leave out the bytes of attachments, which messages then call missing")
    .action(async (file = "-", flags) =>
      audited(flags, "sessions export", { owner: withOwner(flags).owner }, async (audit) =>
        (await commands.bulk()).exportMatching({ ...flags, audit }, withOwner(flags), {
          file,
          attachments: flags.attachments,
        }),
      ),
    );
  withBulk(withVacuum(withAudit(command("delete [ids...]", "delete sessions and their messages; forks keep theirs"))))
    .addOption(undeleteFlag())
    .option("--erase", "with --owner: also overwrite everything that the owner's sessions hold", false)
    .option("--yes", "without ids: do not ask", false)
    .action(async (ids: string[], flags) => {
      const { erase, vacuum, vacuumFull } = flags;
      const { owner } = withOwner(flags);
      const isNarrowed = ["label", "parent", "title", "updatedSince", "updatedUntil"].some((name) => name in flags);
      const isSelected = owner !== undefined || isNarrowed;
      if (ids.length > 0 === isSelected) throw new Error("Give either ids of sessions or --owner, --label or the like");
      if (erase && !owner) throw new Error("--erase needs --owner");
      if (erase && isNarrowed) throw new Error("--erase takes all sessions of an owner: no other flag selects some");
      if ((vacuum || vacuumFull) && !erase) throw new Error("--vacuum and --vacuum-full need --erase");
      await audited(flags, "sessions delete", { owner, erase: erase || undefined }, async (audit) =>
        ids.length > 0
          ? (await commands.sessions()).deleteSessions({ ...flags, audit }, ids)
          : owner && !isNarrowed
            ? (await commands.deleteOwner()).deleteOwner({ ...flags, audit }, { ...flags, owner })
            : (await commands.bulk()).deleteMatching({ ...flags, audit }, withOwner(flags)),
      );
    });
}

/** The flags that select sessions by what lists filter by, besides the owner. */
function withSelection(command: Command): Command {
  return command
    .option("--parent <id>", "only sessions that were made from this one")
    .option("--label <key=value>", "only sessions with this label; may be repeated", collected);
}

/** The flags of commands that print or change everything that matches. */
function withBulk(command: Command): Command {
  return withOwnerFilter(withSelection(command))
    .option("--title <words>", "only sessions whose title has these words", parseText)
    .option("--updated-since <time>", "only sessions that were updated at or after this time", parseTime)
    .option("--updated-until <time>", "only sessions that were updated before this time", parseTime);
}

function collected(text: string, all: readonly string[] = []): readonly string[] {
  return [...all, text];
}

/** The flag of commands that change or export what is stored. */
function withAudit(command: Command): Command {
  return command.addOption(auditLogFlag());
}

async function audited<T>(...call: Parameters<typeof import("./commands/audited.js").audited<T>>): Promise<T> {
  return (await commands.audited()).audited(...call);
}

function withVacuum(command: Command): Command {
  return command
    .option("--vacuum", "also clear old versions of rows from a PostgreSQL database", false)
    .option("--vacuum-full", "also write its tables anew; meanwhile no server can use them", false);
}

/** The flags of commands that work on the sessions of one owner, or on those without one. */
function withOwnerFilter(command: Command): Command {
  return command
    .option("--owner <name>", "only sessions of this owner", parseText)
    .option("--no-owner", "only sessions without an owner");
}

/** Flags with the owner as lists have it: empty for sessions without one. Commander has false for `--no-owner`. */
function withOwner<F extends { readonly owner?: string | false }>(flags: F) {
  return { ...flags, owner: flags.owner === false ? "" : flags.owner };
}

function addTodoCommands(todo: Command): void {
  const command = (usage: string, description: string) =>
    addNamespaceOption(addStorageOption(todo.command(usage).description(description)));
  command("list", "print all todos, one JSON object a line").action(async (flags) =>
    (await commands.todo()).listTodos(flags),
  );
  const changing = (usage: string, description: string) => withAudit(command(usage, description));
  withTodoFields(changing("add <content>", "add a todo at the end"))
    .option("--id <id>", "id; made when absent")
    .action(async (content: string, flags) =>
      audited(flags, "todo add", { todoId: flags.id }, async () =>
        (await commands.todo()).addTodo(flags, content, flags),
      ),
    );
  withTodoFields(changing("update <id>", "change a todo"))
    .option("--content <text>", "what is to be done")
    .action(async (id: string, flags) =>
      audited(flags, "todo update", { todoId: id }, async () =>
        (await commands.todo()).updateTodo(flags, id, flags as TodoFields),
      ),
    );
  changing("remove <id>", "remove a todo").action(async (id: string, flags) =>
    audited(flags, "todo remove", { todoId: id }, async () => (await commands.todo()).removeTodo(flags, id)),
  );
  changing("clear", "remove all todos").action(async (flags) =>
    audited(flags, "todo clear", {}, async () => (await commands.todo()).clearTodos(flags)),
  );
}

function withTodoFields(command: Command): Command {
  return command
    .option("--status <text>", "pending, in_progress, completed, ...")
    .option("--priority <text>", "high, medium, low, ...");
}

function addKeyCommands(keys: Command): void {
  withAudit(keys.command("add <name>"))
    .description("make a key, add its hash to the keys file, and print the key")
    .requiredOption("--keys-file <file>", "file to add it to")
    .option("--namespace <name>", "namespace that the key opens", "default")
    .option("--scope <scope>", "read, write or admin", parseScope, "write")
    .option("--owner <name>", "owner whose sessions alone the key opens; not with the scope admin", parseText)
    .action(async (name: string, { auditLog, keysFile, namespace, scope, owner }) =>
      audited({ auditLog, namespace }, "keys add", { key: name, scope, owner }, async () =>
        (await commands.keys()).addKey(keysFile, { name, namespace, scope, owner }),
      ),
    );
  keys
    .command("list")
    .description("print the name, scope, namespace and owner of each key, in the order of the file")
    .requiredOption("--keys-file <file>", "file to read")
    .option("--json", "print JSON, one object a line", false)
    .action(async ({ keysFile, json }) => (await commands.keys()).listKeys(keysFile, { json }));
  withAudit(keys.command("remove <name>"))
    .description("remove a key from the keys file; a server that reads it ends what runs under the key")
    .requiredOption("--keys-file <file>", "file to remove it from")
    .action(async (name: string, { auditLog, keysFile }) =>
      audited({ auditLog }, "keys remove", { key: name }, async () =>
        (await commands.keys()).removeKey(keysFile, name),
      ),
    );
  keys
    .command("hash")
    .description("print the hash of a key of your own, read from standard input")
    .action(async () => (await commands.keys()).hashKey());
  withAudit(keys.command("ticket-secret"))
    .description(
      "make a secret that signs tickets, for --ticket-secret-file of serve, and print it or add it to a file",
    )
    .option("--file <file>", "file to make, or to put the new secret into, in front of the one that it has")
    .option("--drop-old", "remove the older secret of the file instead, and end the tickets that it signed", false)
    .addHelpText("after", TICKET_SECRET_HELP)
    .action(async ({ auditLog, file, dropOld }) => {
      const { addTicketSecret, dropOldTicketSecret } = await commands.ticketSecret();
      await audited({ auditLog }, "keys ticket-secret", { dropOld: dropOld || undefined }, () =>
        dropOld ? dropOldTicketSecret(file) : addTicketSecret(file),
      );
    });
}

/** Ends a process that has written its output but is kept alive by a connection to a store that does not answer. */
function endSoon(): void {
  setTimeout(() => (process.stdout.writableLength > 0 ? endSoon() : process.exit()), 500).unref();
}
