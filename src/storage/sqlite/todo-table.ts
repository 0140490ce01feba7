import type { Todo, TodoList } from "../../domain/todo.js";
import type { Statements } from "./statements.js";
import { toColumn } from "./text-column.js";

/** The todo list of one namespace: a body and its revision. */
export class TodoTable {
  readonly #sql: Statements;
  readonly #namespace: string;

  constructor(statements: Statements, namespace: string) {
    this.#sql = statements;
    this.#namespace = toColumn(namespace);
  }

  read(): TodoList {
    const row = this.#sql.readTodos.get(this.#namespace);
    if (row === undefined) return { todos: [], revision: 0 };
    return { todos: JSON.parse(row[1] as string) as Todo[], revision: row[0] as number };
  }

  replace(body: string, ifRevision: number): boolean {
    const changed =
      ifRevision === 0
        ? this.#sql.insertTodos.run(this.#namespace, body)
        : this.#sql.updateTodos.run(body, this.#namespace, ifRevision);
    return changed === 1;
  }
}
