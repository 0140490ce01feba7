"""Keeps the sessions of the OpenAI Agents SDK (`pip install openai-agents`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import grpc
from agents.items import TResponseInputItem
from agents.memory.session import SessionABC
from agents.memory.session_settings import SessionSettings, resolve_session_limit
from sessionpool.v1.message_service_pb2 import (
    DeleteMessageRequest,
    MessageInfo,
    MessageWithParts,
    Part,
    TruncateMessagesRequest,
)

from session_pool import AsyncSessionPoolClient
from session_pool.adapters.batches import batches
from session_pool.messages import new_id, text_of
from session_pool.retry import code_of
from session_pool.values import from_struct, to_struct

_PAGE = 1000
_KEPT = "openai"
_ROLES = ("user", "assistant", "system", "developer")


class SessionPoolSession(SessionABC):
    """A session of agents that is kept as a session of session-pool, which is made with the first item.

    Items are messages that all clients of the session can read. The texts of a message are parts of type `text`. Any
    other item, such as a function call, is a part that holds its JSON. Numbers in items are doubles.
    """

    def __init__(
        self, session_id: str, client: AsyncSessionPoolClient, *, session_settings: SessionSettings | None = None
    ) -> None:
        """The caller closes the client. `session_settings.limit` limits what `get_items` returns."""
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()
        self._client = client

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Returns all items or the last `limit`, oldest first, and none when the session does not exist."""
        limit = resolve_session_limit(limit, self.session_settings)
        items: list[TResponseInputItem] = []
        if limit is not None and limit <= 0:
            return items
        try:
            size = None if limit is None else min(limit, _PAGE)
            async for message in self._client.list_messages(
                self.session_id, newest_first=True, page_size=size or _PAGE
            ):
                items.append(to_item(message))
                if len(items) == limit:
                    break
        except grpc.RpcError as error:
            _ignore_missing(error)
        return items[::-1]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Appends items, all or none up to 1,000 items and 7 MiB; more are appended in several steps."""
        for batch in batches([to_message(cast("Mapping[str, Any]", item)) for item in items]):
            await self._client.append_all(self.session_id, batch, create_session=True)

    async def pop_item(self) -> TResponseInputItem | None:
        """Removes the newest item for good and returns it, or None when there is none.

        Two simultaneous calls get two different items.
        """
        try:
            while True:
                newest = (await self._client.load_session(self.session_id, limit=1)).messages
                if not newest:
                    return None
                request = DeleteMessageRequest(session_id=self.session_id, message_id=newest[0].info.id)
                try:
                    await self._client.messages.DeleteMessage(request)
                except grpc.RpcError as error:
                    # Somebody else has popped it meanwhile.
                    _ignore_missing(error)
                    continue
                return to_item(newest[0])
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


def to_message(item: Mapping[str, Any]) -> MessageWithParts:
    """Converts an item to a message. The message gets a new id, because the ids of items need not be unique."""
    kind = item.get("type", "message")
    if kind != "message":
        role = "tool" if kind.endswith("_output") else "assistant"
        info = MessageInfo(id=new_id(), role=role, metadata=to_struct({_KEPT: {"type": kind}}))
        return MessageWithParts(info=info, parts=[Part(type=kind, data=to_struct(item))])
    content = item.get("content")
    kept = {key: value for key, value in item.items() if key not in ("role", "content")}
    if isinstance(content, str):
        kept["content"] = "text"
        content = [content]
    info = MessageInfo(id=new_id(), role=item["role"], metadata=to_struct({_KEPT: kept}))
    return MessageWithParts(info=info, parts=[_to_part(piece) for piece in content or []])


def to_item(message: MessageWithParts) -> TResponseInputItem:
    """Converts a message back to an item.

    A message of another client becomes a text of its role, or of the user if OpenAI has no such role.
    """
    kept = from_struct(message.info.metadata).get(_KEPT)
    if not isinstance(kept, dict):
        role = message.info.role if message.info.role in _ROLES else "user"
        return cast(TResponseInputItem, {"role": role, "content": text_of(message)})
    if kept.get("type", "message") != "message":
        data = from_struct(message.parts[0].data) if message.parts else {}
        return cast(TResponseInputItem, {**data, "type": kept["type"]})
    is_text = kept.pop("content", None) == "text"
    content = text_of(message) if is_text else [_to_piece(part) for part in message.parts]
    return cast(TResponseInputItem, {**kept, "role": message.info.role, "content": content})


def _to_part(piece: str | Mapping[str, Any]) -> Part:
    if isinstance(piece, str):
        return Part(type="text", text=piece)
    if not isinstance(piece.get("text"), str):
        return Part(type=piece["type"], data=to_struct(piece))
    return Part(type="text", text=piece["text"], data=to_struct({k: v for k, v in piece.items() if k != "text"}))


def _to_piece(part: Part) -> dict[str, Any]:
    data = from_struct(part.data)
    return {"type": "input_text", **data, "text": part.text} if part.type == "text" else data


def _ignore_missing(error: grpc.RpcError) -> None:
    if code_of(error) is not grpc.StatusCode.NOT_FOUND:
        raise error
