import type { Todo, TodoList } from "../../domain/todo.js";
import { toColumn } from "../text-column.js";
import type { Statements } from "./statements.js";

/** The todo list of one namespace: a body and its revision. */
export class TodoTable {
  readonly #sql: Statements;
  readonly #namespace: string;
  /**
   * The list as it was last read. Reading it again at the same revision returns the same frozen object, so that callers
   * may cache what they derive from it.
   */
  #last: TodoList = { todos: Object.freeze([]), revision: 0 };

  constructor(statements: Statements, namespace: string) {
    this.#sql = statements;
    this.#namespace = toColumn(namespace);
  }

  read(): TodoList {
    const row = this.#sql.readTodos.get(this.#namespace, this.#last.revision);
    if (row === undefined) return { todos: [], revision: 0 };
    const [revision, body] = row as [number, string | null];
    if (body !== null) {
      const todos = JSON.parse(body) as Todo[];
      this.#last = { todos: Object.freeze(todos.map((todo) => Object.freeze(todo))), revision };
    }
    return this.#last;
  }

  replace(body: string, ifRevision: number): boolean {
    const changed =
      ifRevision === 0
        ? this.#sql.insertTodos.run(this.#namespace, body)
        : this.#sql.updateTodos.run(body, this.#namespace, ifRevision);
    return changed === 1;
  }
}
