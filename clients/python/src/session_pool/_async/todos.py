from __future__ import annotations

from collections.abc import Iterable

from sessionpool.v1.todo_service_pb2 import (
    AddTodoRequest,
    ListTodosRequest,
    RemoveTodoRequest,
    ReplaceTodosRequest,
    Todo,
    UpdateTodoRequest,
)

from session_pool._async.calls import Calls


class Todos(Calls):
    """The calls that read and write the one todo list, which all sessions share.

    Only the gRPC port serves those that write it. They are sent only once.
    """

    async def list_todos(self, session_id: str = "-") -> list[Todo]:
        """Returns the list. It is the same for every session id."""
        answer = await self._again(self.todos.ListTodos, ListTodosRequest(session_id=session_id))
        return list(answer.todos)

    async def replace_todos(self, todos: Iterable[Todo]) -> list[Todo]:
        """Replaces the whole list, and returns it as it was stored. Todos without an id get one."""
        answer = await self._once(self.todo_tracker.ReplaceTodos, ReplaceTodosRequest(todos=todos))
        return list(answer.todos)

    async def add_todo(self, content: str, *, id: str = "", status: str = "", priority: str = "") -> Todo:
        """Adds a todo at the end of the list. `ALREADY_EXISTS`: the list has the id."""
        todo = Todo(id=id, content=content, status=status, priority=priority)
        return await self._once(self.todo_tracker.AddTodo, AddTodoRequest(todo=todo))

    async def update_todo(
        self, todo_id: str, *, content: str | None = None, status: str | None = None, priority: str | None = None
    ) -> Todo:
        """Changes what is given, and returns the todo. `NOT_FOUND`: there is no such todo."""
        request = UpdateTodoRequest(todo=Todo(id=todo_id))
        for name, value in (("content", content), ("status", status), ("priority", priority)):
            if value is not None:
                setattr(request.todo, name, value)
                request.update_mask.paths.append(name)
        return await self._once(self.todo_tracker.UpdateTodo, request)

    async def remove_todo(self, todo_id: str) -> None:
        """Removes a todo. `NOT_FOUND`: there is no such todo."""
        await self._once(self.todo_tracker.RemoveTodo, RemoveTodoRequest(todo_id=todo_id))
