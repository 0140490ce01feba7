import type { Command } from "commander";
import { DEFAULT_LIMITS, type Limits } from "../domain/limits.js";
import { contentLimitFlags, readContentLimits } from "./content-limits.js";
import { type Flags, flag, parseText, readLine } from "./flags.js";

const DEFAULT_STORAGE = "sqlite:./data/session-pool.db";

/** Adds the flag that every command with a store has. */
export function addStorageOption(command: Command): Command {
  return command
    .addOption(
      flag("--storage <url>", "sqlite:<path>, memory:, postgres://... or mongodb://...")
        .default(DEFAULT_STORAGE)
        .argParser(parseText),
    )
    .addOption(
      flag("--storage-file <file>", "file that holds the storage URL, for URLs with a password").argParser(parseText),
    )
    .hook("preAction", (_this, called) => readStorageFile(called));
}

/**
 * A file may name the store unless a flag on the command line does; other users of the machine can read command lines,
 * so a password belongs in a file.
 */
function readStorageFile(command: Command): void {
  const { storageFile } = command.opts<{ storageFile?: string }>();
  if (storageFile === undefined) return;
  if (command.getOptionValueSource("storage") === "cli") {
    if (command.getOptionValueSource("storageFile") !== "cli") return;
    throw new Error("--storage and --storage-file must not be given together");
  }
  command.setOptionValue("storage", readLine("--storage-file", storageFile));
}

/**
 * Adds the flag of commands that work on one namespace. They also get the flags of limits, which their help leaves out,
 * because they should keep to the same limits as the server when both have the same environment.
 */
export function addNamespaceOption(command: Command): Command {
  for (const option of contentLimitFlags()) command.addOption(option.hideHelp());
  return command
    .addOption(flag("--namespace <name>", "namespace to work on").default("default").argParser(parseText))
    .hook("preAction", (_this, called) => void called.setOptionValue("limits", commandLimits(called.opts())));
}

/** The limits of the server, but not those of pages: no client has to take these. */
function commandLimits(flags: Flags): Limits {
  const { pageMessages, pageBytes } = DEFAULT_LIMITS;
  return { ...readContentLimits(flags), pageMessages, pageBytes };
}
