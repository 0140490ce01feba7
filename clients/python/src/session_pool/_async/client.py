from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from sessionpool.v1.message_service_pb2 import (
    AppendMessageRequest,
    AppendMessageResponse,
    AppendMessagesRequest,
    AppendMessagesResponse,
    CountMessagesRequest,
    GetMessageRequest,
    ListMessagesRequest,
    MessageWithParts,
    SearchHit,
    SearchMessagesRequest,
)
from sessionpool.v1.session_service_pb2 import (
    CreateSessionRequest,
    DeleteSessionRequest,
    ForkSessionRequest,
    GetSessionRequest,
    ListSessionsRequest,
    LoadSessionRequest,
    LoadSessionResponse,
    RevertSessionRequest,
    Session,
    UnrevertSessionRequest,
)
from sessionpool.v1.todo_service_pb2 import ListTodosRequest, Todo

from session_pool._async.draft import Drafting
from session_pool.messages import new_id, with_id
from session_pool.values import to_struct


class AsyncSessionPoolClient(Drafting):
    """A client of one server. It keeps its connection until `close` or the end of the `with` block.

    Reads, and calls that make something, are sent again when the server cannot be reached or does not answer in time.
    The client makes the ids, so nothing is stored twice. Errors are gRPC's: `grpc.RpcError`, with a `code()` and
    `details()`.
    """

    async def create_session(
        self, session_id: str = "", *, title: str = "", parent_id: str = "", metadata: Mapping[str, Any] | None = None
    ) -> Session:
        """Makes an empty session.

        If a session with this id has the same title, parent and metadata, returns that session. `ALREADY_EXISTS`:
        another session has the id. `NOT_FOUND`: there is no session `parent_id`.
        """
        request = CreateSessionRequest(session_id=session_id or new_id(), title=title, parent_id=parent_id)
        if metadata:
            request.metadata.CopyFrom(to_struct(metadata))
        return await self._again(self.sessions.CreateSession, request)

    async def get_session(self, session_id: str) -> Session:
        """Returns the session with its exact `message_count` and `update_time`.

        `NOT_FOUND`: there is no such session.
        """
        return await self._again(self.sessions.GetSession, GetSessionRequest(session_id=session_id))

    async def load_session(self, session_id: str, *, limit: int | None = None) -> LoadSessionResponse:
        """Returns the session and its last `limit` messages, oldest first.

        The default is 100, and at most 1,000 or about 3 MiB are returned.
        """
        return await self._again(self.sessions.LoadSession, LoadSessionRequest(session_id=session_id, limit=limit))

    async def list_sessions(self, *, parent_id: str = "") -> AsyncIterator[Session]:
        """Yields all sessions, or those with this parent, the most recently updated first.

        Pages are read as they are needed.
        """
        request = ListSessionsRequest(parent_id=parent_id)
        while True:
            page = await self._again(self.sessions.ListSessions, request)
            for session in page.sessions:
                yield session
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def delete_session(self, session_id: str) -> None:
        """Deletes a session and its messages. Forks keep theirs.

        The call is sent only once. `NOT_FOUND`: there is no such session.
        """
        await self._once(self.sessions.DeleteSession, DeleteSessionRequest(session_id=session_id))

    async def fork_session(
        self, session_id: str, *, up_to_message_id: str = "", new_session_id: str = "", title: str = ""
    ) -> Session:
        """Makes a session that begins with the messages of this one.

        They are those up to and including `up_to_message_id`, or all when it is empty.
        """
        request = ForkSessionRequest(session_id=session_id, up_to_message_id=up_to_message_id, title=title)
        request.new_session_id = new_session_id or new_id()
        return (await self._again(self.sessions.ForkSession, request)).session

    async def revert_session(self, session_id: str, *, up_to_message_id: str = "") -> int:
        """Removes the messages after `up_to_message_id`, or all messages when it is empty.

        Returns how many were removed. The call is sent only once. `unrevert_session` undoes it.
        """
        request = RevertSessionRequest(session_id=session_id, up_to_message_id=up_to_message_id)
        request.to_start = not up_to_message_id
        return (await self._once(self.sessions.RevertSession, request)).removed_count

    async def unrevert_session(self, session_id: str) -> int:
        """Brings back the messages that reverts removed, unless the history has changed since.

        Returns how many were restored. The call is sent only once.
        """
        request = UnrevertSessionRequest(session_id=session_id)
        return (await self._once(self.sessions.UnrevertSession, request)).restored_count

    async def append(
        self,
        session_id: str,
        message: MessageWithParts,
        *,
        expected_position: int | None = None,
        create_session: bool = False,
    ) -> AppendMessageResponse:
        """Appends a message of at most 3 MiB. It is stored once, however often it is sent.

        Returns its position and its id, which is made here if it had none.

        `ABORTED`: the message would not get `expected_position`. `ALREADY_EXISTS`: the id has other content.
        `NOT_FOUND`: there is no such session, and `create_session` is false.
        """
        request = AppendMessageRequest(
            session_id=session_id,
            message=with_id(message),
            expected_position=expected_position,
            create_session=create_session,
        )
        return await self._again(self.messages.AppendMessage, request)

    async def append_all(
        self,
        session_id: str,
        messages: Iterable[MessageWithParts],
        *,
        expected_position: int | None = None,
        create_session: bool = False,
    ) -> AppendMessagesResponse:
        """Appends 1 to 1,000 messages of at most 8 MiB together, all or none.

        Otherwise it works like `append`. The position is that of the first message.
        """
        request = AppendMessagesRequest(
            session_id=session_id,
            messages=map(with_id, messages),
            expected_position=expected_position,
            create_session=create_session,
        )
        return await self._again(self.messages.AppendMessages, request)

    async def get_message(self, session_id: str, message_id: str) -> MessageWithParts:
        """Returns one message. `NOT_FOUND`: there is no such session or message."""
        request = GetMessageRequest(session_id=session_id, message_id=message_id)
        return await self._again(self.messages.GetMessage, request)

    async def count_messages(self, session_id: str) -> int:
        """Returns the number of messages of a session."""
        return (await self._again(self.messages.CountMessages, CountMessagesRequest(session_id=session_id))).count

    async def list_messages(
        self,
        session_id: str,
        *,
        newest_first: bool = False,
        include_ancestors: bool = False,
        page_size: int | None = None,
    ) -> AsyncIterator[MessageWithParts]:
        """Yields all messages of a session.

        Pages are read as they are needed. Appends meanwhile cause no message to be skipped or repeated.
        """
        request = ListMessagesRequest(
            session_id=session_id, limit=page_size, newest_first=newest_first, include_ancestors=include_ancestors
        )
        while True:
            page = await self._again(self.messages.ListMessages, request)
            for message in page.messages:
                yield message
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def search_messages(
        self, q: str, *, labels: Iterable[str] = (), session_id: str = "", page_size: int | None = None
    ) -> AsyncIterator[SearchHit]:
        """Yields the messages of all sessions that contain the words of `q`, newest first.

        Pages are read as they are needed. `labels` selects sessions that have all of these labels, each written
        `key=value`. `UNIMPLEMENTED`: the server was started without `--search`, or its store cannot search.
        """
        request = SearchMessagesRequest(q=q, label=labels, session_id=session_id, limit=page_size)
        while True:
            page = await self._again(self.messages.SearchMessages, request)
            for hit in page.hits:
                yield hit
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def list_todos(self) -> list[Todo]:
        """Returns the one todo list that all sessions share."""
        answer = await self._again(self.todos.ListTodos, ListTodosRequest(session_id="-"))
        return list(answer.todos)
