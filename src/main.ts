import "./harden.js";
import { Command } from "commander";
import { addKeyCommands } from "./commands/cli/key-commands.js";
import { audited, commands } from "./commands/cli/loaders.js";
import { withAudit } from "./commands/cli/options.js";
import { addSessionCommands } from "./commands/cli/session-commands.js";
import { addStoreCommands } from "./commands/cli/store-commands.js";
import { addTodoCommands } from "./commands/cli/todo-commands.js";
import { addTransferCommands } from "./commands/cli/transfer-commands.js";
import { fail } from "./commands/fail.js";
import { stopSignal } from "./commands/signals.js";
import { hideTodosFlag } from "./config/auth-flags.js";
import { addHealthOptions, addServeOptions, readServeConfig } from "./config/config.js";
import { parseText } from "./config/flags.js";
import { addNamespaceOption, addStorageOption } from "./config/storage-flags.js";
import { VERSION } from "./version.js";

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

addHealthOptions(
  program.command("health").description("tell by the exit code whether the server on this machine is ready"),
).action(async (flags) => (await commands.health()).checkHealth(flags));

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
addTransferCommands(program);
addStoreCommands(program);
addKeyCommands(program.command("keys").description("make, list and remove API keys"));

program.parseAsync().catch(fail).finally(endSoon);

/** Ends a process that has written its output but is kept alive by a connection to a store that does not answer. */
function endSoon(): void {
  setTimeout(() => (process.stdout.writableLength > 0 ? endSoon() : process.exit()), 500).unref();
}
