import type { ListTodosRequest, ListTodosResponse, TodoService } from "../../gen/sessionpool/v1/todo_service_pb.js";
import type { Todo } from "../domain/todo.js";
import type { ApiContext, ServiceMethods } from "./api-method.js";
import { callOf } from "./call-options.js";
import { toTodo } from "./convert.js";

export const todoMethods: ServiceMethods<typeof TodoService> = {
  listTodos: { scope: "read", ticket: "none", handle: listTodos },
};

/**
 * Caches the answer for lists that the store returns frozen: always for the memory store, and for SQLite until the list
 * changes. The answers are frozen too, so that a front can reuse its encoding. An agent reads the list again and again,
 * and it seldom changes.
 */
const answers = new WeakMap<readonly Todo[], ListTodosResponse>();

/** Any session id is accepted, because there is only one list. */
async function listTodos(_request: ListTodosRequest, context: ApiContext): Promise<ListTodosResponse> {
  const todos = await context.rootPool.todos.list(callOf(context));
  return answers.get(todos) ?? answer(todos);
}

function answer(todos: readonly Todo[]): ListTodosResponse {
  const response = { $typeName: "sessionpool.v1.ListTodosResponse", todos: todos.map(toTodo) } as const;
  if (!Object.isFrozen(todos)) return response;
  answers.set(todos, Object.freeze(response));
  return response;
}
