import { type Command, Option } from "commander";
import { parseText, positive, wholeNumber } from "../../config/flags.js";
import { undeleteFlag } from "../../config/retention-flags.js";
import { addNamespaceOption, addStorageOption } from "../../config/storage-flags.js";
import { audited, commands } from "./loaders.js";
import { collected, withAudit, withBulk, withOwner, withSelection, withVacuum } from "./options.js";

/** The commands below `sessions`. */
export function addSessionCommands(sessions: Command): void {
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
    .option("--yes", "as for label and delete; an export asks nothing", false)
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
