import { type Command, Option } from "commander";
import { parseText } from "../../config/flags.js";
import { addNamespaceOption, addStorageOption } from "../../config/storage-flags.js";
import { audited, commands } from "./loaders.js";
import { withAudit, withOwner, withOwnerFilter } from "./options.js";

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

/** The commands that move sessions out of a store and into it. */
export function addTransferCommands(program: Command): void {
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
}
