import type { Collection } from "mongodb";
import type { Call } from "../../domain/call.js";
import { DomainError } from "../../domain/errors.js";
import type { Todo, TodoList } from "../../domain/todo.js";
import type { TodosDocument } from "./mongo-collections.js";
import type { MongoCommands } from "./mongo-commands.js";
import { duplicateKey } from "./mongo-errors.js";
import type { SafeReads } from "./safe-reads.js";
import type { WriteIds } from "./write-ids.js";

/** The todo list of one namespace: one document that is replaced by compare-and-set. */
export class MongoTodos {
  readonly #namespace: string;
  readonly #todos: Collection<TodosDocument>;
  readonly #commands: MongoCommands;
  readonly #ids: WriteIds;
  readonly #safeReads: SafeReads;

  constructor(
    namespace: string,
    todos: Collection<TodosDocument>,
    commands: MongoCommands,
    ids: WriteIds,
    safeReads: SafeReads,
  ) {
    this.#namespace = namespace;
    this.#todos = todos;
    this.#commands = commands;
    this.#ids = ids;
    this.#safeReads = safeReads;
  }

  async read(call?: Call): Promise<TodoList> {
    const found = await this.#find(call);
    return found ? { todos: found.todos.map(toTodo), revision: found.revision } : { todos: [], revision: 0 };
  }

  async replace(todos: readonly Todo[], ifRevision: number, call?: Call): Promise<boolean> {
    const next = { todos: todos.map(toTodo), revision: ifRevision + 1, write: this.#ids.next() };
    const outcome = await this.#commands.settle(call, async (isRepeat) => {
      const isDone = ifRevision === 0 ? await this.#insert(next, call) : await this.#replace(next, call);
      return isDone || !isRepeat ? isDone : this.#outcomeOf(next, call);
    });
    if (outcome !== "unknown") return outcome;
    throw new DomainError("unavailable", "Whether the todos were changed is unknown");
  }

  /**
   * The outcome of a write whose answer was lost. `unknown`: the list has been changed since, after this write or
   * another one.
   */
  async #outcomeOf(next: Omit<TodosDocument, "_id">, call?: Call): Promise<boolean | "unknown"> {
    const found = await this.#find(call);
    if (found?.write.equals(next.write)) return true;
    return found?.revision === next.revision ? false : "unknown";
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

  async #replace(next: Omit<TodosDocument, "_id">, call?: Call): Promise<boolean> {
    const current = { _id: this.#namespace, revision: next.revision - 1 };
    const { matchedCount } = await this.#commands.write(call, (limits) =>
      this.#todos.replaceOne(current, next, limits),
    );
    return matchedCount === 1;
  }

  #find(call?: Call): Promise<TodosDocument | null> {
    return this.#commands.read(call, (limits) =>
      this.#todos.findOne({ _id: this.#namespace }, { ...limits, ...this.#safeReads.options }),
    );
  }
}

function toTodo({ id, content, status, priority }: Todo): Todo {
  return { id, content, status, priority };
}
