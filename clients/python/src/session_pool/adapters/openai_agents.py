"""Keeps the sessions of the OpenAI Agents SDK (`pip install openai-agents`)."""

from __future__ import annotations

import grpc
from agents.items import TResponseInputItem
from agents.memory.session import SessionABC
from agents.memory.session_settings import SessionSettings, resolve_session_limit
from google.protobuf.field_mask_pb2 import FieldMask
from sessionpool.v1.message_service_pb2 import (
    DeleteMessageRequest,
    MessageInfo,
    MessageWithParts,
    TruncateMessagesRequest,
    UpdateMessageRequest,
)
from sessionpool.v1.usage_service_pb2 import Usage

from session_pool import AsyncSessionPoolClient
from session_pool.adapters.attaching import attach, restore
from session_pool.adapters.batches import batches
from session_pool.adapters.fitted import fitted
from session_pool.adapters.openai_items import to_items, to_message
from session_pool.adapters.openai_usage import AgentRun, key_of, spent_responses
from session_pool.retry import code_of

_PAGE = 1000
# How far back the items of a run are looked for.
_MOST_OF_RUN = 1000


class SessionPoolSession(SessionABC):
    """A session of agents that is kept as a session of session-pool, which is made with the first item.

    Items are messages that all clients of the session can read. The texts of a message are parts of type `text`. Any
    other item, such as a function call, is a part that holds its JSON. Any JSON object is an item, and comes back
    equal. What is too large for a message is kept in attachments.

    If the session is deleted after this object has read or written it, adding items raises `NOT_FOUND`.
    """

    def __init__(
        self, session_id: str, client: AsyncSessionPoolClient, *, session_settings: SessionSettings | None = None
    ) -> None:
        """The caller closes the client. `session_settings.limit` limits what `get_items` returns."""
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()
        self._client = client
        self._was_seen = False

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Returns all items or the last `limit`, oldest first, and none when the session does not exist."""
        limit = resolve_session_limit(limit, self.session_settings)
        messages: list[MessageWithParts] = []
        if limit is not None and limit <= 0:
            return []
        try:
            size = None if limit is None else min(limit, _PAGE)
            async for message in self._client.list_messages(
                self.session_id, newest_first=True, page_size=size or _PAGE
            ):
                messages.append(message)
                if len(messages) == limit:
                    break
            self._was_seen = True
        except grpc.RpcError as error:
            _ignore_missing(error)
        return to_items(await restore(self._client, self.session_id, messages[::-1]))

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Appends items, all or none up to 1,000 items and 7 MiB; more are appended in several steps."""
        create = not self._was_seen
        messages = [to_message(item) for item in items]
        fitting = await attach(self._client, self.session_id, messages, fitted, create_session=create)
        for batch in batches(fitting):
            await self._client.append_all(self.session_id, batch, create_session=not self._was_seen)
            self._was_seen = True

    async def store_run_usage(self, run: AgentRun) -> None:
        """Keeps what the responses of a run took, after the run or its stream has ended.

        The last message or call of each response gets its usage. The SDK tells a session only items, so without this
        call they have none. A response that has its usage already keeps it, so a repeated call changes nothing. What is
        not in the session, for example because the run failed before it was added, is passed over.
        """
        responses = spent_responses(run)
        seen = 0
        try:
            async for message in self._client.list_messages(self.session_id, newest_first=True, page_size=100):
                seen += 1
                if not responses or seen > _MOST_OF_RUN:
                    return
                key = key_of(to_items([message])[0])
                place = next((at for at, one in enumerate(responses) if key is not None and key in one.keys), None)
                if place is None:
                    continue
                # Responses after this one are not in the session.
                usage = responses[place].usage
                del responses[: place + 1]
                if not message.info.HasField("usage"):
                    await self._set_usage(message.info.id, usage)
        except grpc.RpcError as error:
            _ignore_missing(error)

    async def _set_usage(self, message_id: str, usage: Usage) -> None:
        request = UpdateMessageRequest(
            session_id=self.session_id,
            message_id=message_id,
            message=MessageWithParts(info=MessageInfo(usage=usage)),
            update_mask=FieldMask(paths=["info.usage"]),
        )
        await self._client.messages.UpdateMessage(request)

    async def pop_item(self) -> TResponseInputItem | None:
        """Removes the newest item for good and returns it, or None when there is none.

        Two simultaneous calls get two different items.
        """
        try:
            while True:
                newest = (await self._client.load_session(self.session_id, limit=1)).messages
                self._was_seen = True
                if not newest:
                    return None
                # The attachments go with the message.
                whole = await restore(self._client, self.session_id, newest)
                request = DeleteMessageRequest(session_id=self.session_id, message_id=newest[0].info.id)
                try:
                    await self._client.messages.DeleteMessage(request)
                except grpc.RpcError as error:
                    # Somebody else has popped it meanwhile.
                    _ignore_missing(error)
                    continue
                [item] = to_items(whole)
                return item
        except grpc.RpcError as error:
            _ignore_missing(error)
            return None

    async def clear_session(self) -> None:
        """Removes all items for good. The session keeps its title and metadata."""
        try:
            request = TruncateMessagesRequest(session_id=self.session_id, to_start=True)
            await self._client.messages.TruncateMessages(request)
        except grpc.RpcError as error:
            _ignore_missing(error)


def _ignore_missing(error: grpc.RpcError) -> None:
    if code_of(error) is not grpc.StatusCode.NOT_FOUND:
        raise error
