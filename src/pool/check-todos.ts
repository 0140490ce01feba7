import { invalidArgument } from "../domain/errors.js";
import type { Limits } from "../domain/limits.js";
import { embeddedSize } from "../domain/message-size.js";
import type { Todo } from "../domain/todo.js";
import { checkBytes, checkId, checkText } from "../domain/validate.js";

/**
 * Checks a whole list: each todo by itself, that no id occurs twice, the number of todos, and their total size as a
 * protobuf list.
 */
export function checkTodos(todos: readonly Todo[], limits: Limits): void {
  if (todos.length > limits.todoCount) {
    throw invalidArgument(`todos holds ${todos.length} todos; at most ${limits.todoCount} are allowed`);
  }
  const ids = new Set<string>();
  let bytes = 0;
  for (const [i, todo] of todos.entries()) {
    checkTodo(`todos[${i}]`, todo, limits);
    if (ids.has(todo.id)) throw invalidArgument(`todos holds the id ${JSON.stringify(todo.id)} twice`);
    ids.add(todo.id);
    bytes += embeddedSize(todoSize(todo));
  }
  checkBytes("todos", bytes, limits.todoBytes);
}

export function checkTodo(field: string, todo: Todo, limits: Limits): void {
  checkId(`${field}.id`, todo.id, limits);
  checkText(`${field}.content`, todo.content);
  checkText(`${field}.status`, todo.status);
  checkText(`${field}.priority`, todo.priority);
}

function todoSize({ id, content, status, priority }: Todo): number {
  return [id, content, status, priority].reduce(
    (size, text) => (text === "" ? size : size + embeddedSize(Buffer.byteLength(text))),
    0,
  );
}
