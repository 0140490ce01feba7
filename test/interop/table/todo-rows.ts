import type { Call, Row } from "./row.js";

const TODO = { id: "t1", content: "Fahrplan prüfen", status: "pending", priority: "high" };
const GIVEN: readonly Call[] = [["TodoTrackerService.ReplaceTodos", { todos: [TODO] }]];

export const TODO_ROWS: readonly Row[] = [
  { rpc: "TodoService.ListTodos", what: "none", request: { sessionId: "s" }, answer: {} },
  {
    rpc: "TodoService.ListTodos",
    what: "the same for every session",
    given: GIVEN,
    request: { sessionId: "nobody" },
    answer: { todos: [TODO] },
  },
  {
    rpc: "TodoService.ListTodos",
    what: "an id that no session can have",
    given: GIVEN,
    request: { sessionId: "x".repeat(129) },
    answer: { todos: [TODO] },
  },
  {
    rpc: "TodoTrackerService.ReplaceTodos",
    what: "the list",
    given: GIVEN,
    request: { todos: [{ ...TODO, id: "t2" }, { content: "new" }] },
    answer: {
      todos: [
        { ...TODO, id: "t2" },
        { id: "$any", content: "new" },
      ],
    },
  },
  {
    rpc: "TodoTrackerService.ReplaceTodos",
    what: "one id twice",
    request: { todos: [TODO, TODO] },
    error: { code: "invalid_argument", message: 'todos holds the id "t1" twice' },
  },
  {
    rpc: "TodoTrackerService.ReplaceTodos",
    what: "a list over its limit",
    request: { todos: Array.from({ length: 10_001 }, (_none, i) => ({ id: String(i), content: "x" })) },
    error: { code: "invalid_argument", message: "todos holds 10001 todos; at most 10000 are allowed" },
  },
  { rpc: "TodoTrackerService.AddTodo", what: "a todo", request: { todo: TODO }, answer: TODO },
  {
    rpc: "TodoTrackerService.AddTodo",
    what: "an id that is taken",
    given: GIVEN,
    request: { todo: TODO },
    error: { code: "already_exists", message: 'Todo "t1" already exists' },
  },
  {
    rpc: "TodoTrackerService.AddTodo",
    what: "an id over its limit",
    request: { todo: { ...TODO, id: "x".repeat(129) } },
    error: { code: "invalid_argument", message: "todo.id is 129 bytes; at most 128 are allowed" },
  },
  {
    rpc: "TodoTrackerService.AddTodo",
    what: "an id that is only a dot",
    request: { todo: { ...TODO, id: "." } },
    error: { code: "invalid_argument", message: 'todo.id must not be "." or ".."' },
  },
  {
    rpc: "TodoTrackerService.UpdateTodo",
    what: "the fields that are not empty",
    given: GIVEN,
    request: { todo: { id: "t1", content: "", status: "completed" } },
    answer: { ...TODO, status: "completed" },
  },
  {
    rpc: "TodoTrackerService.UpdateTodo",
    what: "the fields of the mask",
    given: GIVEN,
    request: { todo: { id: "t1", status: "completed" }, updateMask: "status,priority" },
    answer: { id: "t1", content: "Fahrplan prüfen", status: "completed" },
  },
  {
    rpc: "TodoTrackerService.UpdateTodo",
    what: "an unknown todo",
    request: { todo: { id: "nothing", status: "completed" } },
    error: { code: "not_found", message: 'Todo "nothing" not found' },
  },
  { rpc: "TodoTrackerService.RemoveTodo", what: "a todo", given: GIVEN, request: { todoId: "t1" }, answer: {} },
  {
    rpc: "TodoTrackerService.RemoveTodo",
    what: "an unknown todo",
    request: { todoId: "nothing" },
    error: { code: "not_found", message: 'Todo "nothing" not found' },
  },
];
