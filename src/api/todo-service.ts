import type { ListTodosRequest, ListTodosResponse, TodoService } from "../../gen/sessionpool/v1/todo_service_pb.js";
import type { Todo } from "../domain/todo.js";
import type { ApiContext, ServiceMethods } from "./api-method.js";
import { callOf } from "./call-options.js";
import { toTodo } from "./convert.js";

export const todoMethods: ServiceMethods<typeof TodoService> = {
  listTodos: { scope: "read", handle: listTodos },
};

/**
 * Answers for lists that a store gives frozen: the memory store, and SQLite until the list changes. They are frozen too, so that a front need not write them again: the list is read with
 * every turn of an agent and seldom changes.
 */
const answers = new WeakMap<readonly Todo[], ListTodosResponse>();

/** The session id does not filter: any is accepted. */
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
