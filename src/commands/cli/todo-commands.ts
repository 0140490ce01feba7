import type { Command } from "commander";
import { addNamespaceOption, addStorageOption } from "../../config/storage-flags.js";
import type { TodoFields } from "../todo.js";
import { audited, commands } from "./loaders.js";
import { withAudit } from "./options.js";

/** The commands below `todo`. */
export function addTodoCommands(todo: Command): void {
  const command = (usage: string, description: string) =>
    addNamespaceOption(addStorageOption(todo.command(usage).description(description)));
  command("list", "print all todos, one JSON object a line").action(async (flags) =>
    (await commands.todo()).listTodos(flags),
  );
  const changing = (usage: string, description: string) => withAudit(command(usage, description));
  withTodoFields(changing("add <content>", "add a todo at the end"))
    .option("--id <id>", "id; made when absent")
    .action(async (content: string, flags) =>
      audited(flags, "todo add", { todoId: flags.id }, async (audit) => {
        audit.summary = { todoId: await (await commands.todo()).addTodo(flags, content, flags) };
      }),
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
