import type { ListTodosRequest, ListTodosResponse, TodoService } from "../../gen/sessionpool/v1/todo_service_pb.js";
import type { ApiContext, ServiceMethods } from "./api-method.js";
import { callOf } from "./call-options.js";
import { toTodo } from "./convert.js";

export const todoMethods: ServiceMethods<typeof TodoService> = {
  listTodos: { scope: "read", handle: listTodos },
};

/** The session id does not filter: any is accepted. */
async function listTodos(_request: ListTodosRequest, context: ApiContext): Promise<ListTodosResponse> {
  const todos = await context.rootPool.todos.list(callOf(context));
  return { $typeName: "sessionpool.v1.ListTodosResponse", todos: todos.map(toTodo) };
}
