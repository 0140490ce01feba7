import { invalidArgument } from "./errors.js";
import type { Limits } from "./limits.js";
import { embeddedSize } from "./message-size.js";
import type { Todo } from "./todo.js";
import { checkBytes, checkId, checkText } from "./validate.js";

/**
 * Checks a whole list: each todo by itself, that no id occurs twice, the number of todos, and their total size as a
 * protobuf list. A list that has outgrown a limit, which may have been lowered since, may change as long as it does not
 * grow beyond `before`.
 */
export function checkTodos(todos: readonly Todo[], limits: Limits, before: readonly Todo[] = []): void {
  if (todos.length > Math.max(limits.todoCount, before.length)) {
    throw invalidArgument(`todos holds ${todos.length} todos; at most ${limits.todoCount} are allowed`);
  }
  const known = new Set(before);
  const ids = new Set<string>();
  for (const [i, todo] of todos.entries()) {
    if (!known.has(todo)) checkTodo(`todos[${i}]`, todo, limits);
    if (ids.has(todo.id)) throw invalidArgument(`todos holds the id ${JSON.stringify(todo.id)} twice`);
    ids.add(todo.id);
  }
  const bytes = totalSize(todos);
  if (bytes > limits.todoBytes && bytes > totalSize(before)) checkBytes("todos", bytes, limits.todoBytes);
}

export function checkTodo(field: string, todo: Todo, limits: Limits): void {
  checkId(`${field}.id`, todo.id, limits);
  checkText(`${field}.content`, todo.content);
  checkText(`${field}.status`, todo.status);
  checkText(`${field}.priority`, todo.priority);
}

function totalSize(todos: readonly Todo[]): number {
  return todos.reduce((size, todo) => size + embeddedSize(todoSize(todo)), 0);
}

function todoSize({ id, content, status, priority }: Todo): number {
  return [id, content, status, priority].reduce(
    (size, text) => (text === "" ? size : size + embeddedSize(Buffer.byteLength(text))),
    0,
  );
}
