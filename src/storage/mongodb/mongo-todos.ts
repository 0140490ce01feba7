import type { Collection } from "mongodb";
import type { Call } from "../../domain/call.js";
import type { Todo, TodoList } from "../../domain/todo.js";
import type { MongoCommands } from "./mongo-commands.js";
import { duplicateKey } from "./mongo-errors.js";
import type { TodosDocument } from "./mongo-schema.js";
import type { SafeReads } from "./safe-reads.js";

/** The todo list of one namespace: one document, replaced by compare-and-set. */
export class MongoTodos {
  readonly #namespace: string;
  readonly #todos: Collection<TodosDocument>;
  readonly #commands: MongoCommands;
  readonly #safeReads: SafeReads;

  constructor(namespace: string, todos: Collection<TodosDocument>, commands: MongoCommands, safeReads: SafeReads) {
    this.#namespace = namespace;
    this.#todos = todos;
    this.#commands = commands;
    this.#safeReads = safeReads;
  }

  async read(call?: Call): Promise<TodoList> {
    const found = await this.#commands.read(call, (limits) =>
      this.#todos.findOne({ _id: this.#namespace }, { ...limits, ...this.#safeReads.options }),
    );
    return found ? { todos: found.todos.map(toTodo), revision: found.revision } : { todos: [], revision: 0 };
  }

  async replace(todos: readonly Todo[], ifRevision: number, call?: Call): Promise<boolean> {
    const next = { todos: todos.map(toTodo), revision: ifRevision + 1 };
    if (ifRevision === 0) return this.#insert(next, call);
    const { matchedCount } = await this.#commands.write(call, (limits) =>
      this.#todos.replaceOne({ _id: this.#namespace, revision: ifRevision }, next, limits),
    );
    return matchedCount === 1;
  }

  async #insert(next: Omit<TodosDocument, "_id">, call?: Call): Promise<boolean> {
    try {
      await this.#commands.write(call, (limits) => this.#todos.insertOne({ _id: this.#namespace, ...next }, limits));
      return true;
    } catch (error) {
      if (duplicateKey(error)) return false;
      throw error;
    }
  }
}

function toTodo({ id, content, status, priority }: Todo): Todo {
  return { id, content, status, priority };
}
