import type {
  AddTodoRequest,
  RemoveTodoRequest,
  RemoveTodoResponse,
  ReplaceTodosRequest,
  ReplaceTodosResponse,
  Todo,
  TodoTrackerService,
  UpdateTodoRequest,
} from "../../gen/sessionpool/v1/todo_service_pb.js";
import { checkId } from "../domain/validate.js";
import type { ApiContext, ServiceMethods } from "./api-method.js";
import { callOf } from "./call-options.js";
import { fromTodo, toTodo } from "./convert.js";
import { maskedFields } from "./field-mask.js";

export const todoTrackerMethods: ServiceMethods<typeof TodoTrackerService> = {
  replaceTodos: { scope: "write", ticket: "none", handle: replaceTodos },
  addTodo: { scope: "write", ticket: "none", handle: addTodo },
  updateTodo: { scope: "write", ticket: "none", handle: updateTodo },
  removeTodo: { scope: "write", ticket: "none", handle: removeTodo },
};

async function replaceTodos(request: ReplaceTodosRequest, context: ApiContext): Promise<ReplaceTodosResponse> {
  const given = request.todos.map((todo, i) => fromTodo(`todos[${i}]`, todo));
  const todos = await context.rootPool.todos.replace(given, callOf(context));
  return { $typeName: "sessionpool.v1.ReplaceTodosResponse", todos: todos.map(toTodo) };
}

async function addTodo(request: AddTodoRequest, context: ApiContext): Promise<Todo> {
  return toTodo(await context.rootPool.todos.add(fromTodo("todo", request.todo), callOf(context)));
}

async function updateTodo(request: UpdateTodoRequest, context: ApiContext): Promise<Todo> {
  const todo = fromTodo("todo", request.todo);
  const masked = maskedFields(request);
  const fields = masked ?? (["content", "status", "priority"] as const).filter((field) => todo[field] !== "");
  return toTodo(await context.rootPool.todos.update(todo, fields, callOf(context)));
}

async function removeTodo(request: RemoveTodoRequest, context: ApiContext): Promise<RemoveTodoResponse> {
  checkId("todo_id", request.todoId, context.limits);
  await context.rootPool.todos.remove(request.todoId, callOf(context));
  return { $typeName: "sessionpool.v1.RemoveTodoResponse" };
}
