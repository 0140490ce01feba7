"""Keeps the message histories of LangChain (`pip install langchain-core`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import grpc
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    message_to_dict,
    messages_from_dict,
)
from sessionpool.v1.message_service_pb2 import MessageInfo, MessageWithParts, Part, TruncateMessagesRequest

from session_pool import SessionPoolClient
from session_pool.adapters.batches import batches
from session_pool.messages import new_id, text_of
from session_pool.retry import code_of
from session_pool.values import from_struct, to_struct

_PAGE = 1000
_KEPT = "langchain"
_ROLES = {"human": "user", "ai": "assistant"}
_CLASSES: dict[str, type[HumanMessage | AIMessage | SystemMessage]] = {
    "user": HumanMessage,
    "assistant": AIMessage,
    "system": SystemMessage,
}


class SessionPoolChatMessageHistory(BaseChatMessageHistory):
    """A history that is kept as a session of session-pool. The session is made with the first message.

    The text of a message is a part of type `text`, which all clients of the session can read. A part of type
    `langchain` holds the rest of the message. Numbers in it are doubles.
    """

    def __init__(self, session_id: str, client: SessionPoolClient) -> None:
        """The caller closes the client."""
        self.session_id = session_id
        self._client = client

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """All messages, oldest first. Empty when the session does not exist."""
        try:
            return [to_langchain(message) for message in self._client.list_messages(self.session_id, page_size=_PAGE)]
        except grpc.RpcError as error:
            _ignore_missing(error)
            return []

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Appends messages, all or none up to 1,000 messages and 7 MiB; more are appended in several steps."""
        for batch in batches([to_message(message) for message in messages]):
            self._client.append_all(self.session_id, batch, create_session=True)

    def clear(self) -> None:
        """Removes all messages for good. The session keeps its title and metadata."""
        try:
            request = TruncateMessagesRequest(session_id=self.session_id, to_start=True)
            self._client.messages.TruncateMessages(request)
        except grpc.RpcError as error:
            _ignore_missing(error)


def to_message(message: BaseMessage) -> MessageWithParts:
    """Converts a message of LangChain to a message of the session."""
    kept: dict[str, Any] = message_to_dict(message)
    if isinstance(message.content, str):
        del kept["data"]["content"]
    role = message.role if isinstance(message, ChatMessage) else _ROLES.get(message.type, message.type)
    parts = [Part(type="text", text=str(message.text)), Part(type=_KEPT, data=to_struct(kept))]
    return MessageWithParts(info=MessageInfo(id=new_id(), role=role), parts=parts)


def to_langchain(message: MessageWithParts) -> BaseMessage:
    """Converts a message of the session back. From a message of another client, only its text is taken."""
    text = text_of(message)
    for part in message.parts:
        if part.type == _KEPT:
            kept = from_struct(part.data)
            kept["data"].setdefault("content", text)
            return messages_from_dict([kept])[0]
    role = message.info.role
    known = _CLASSES.get(role)
    return ChatMessage(role=role, content=text) if known is None else known(content=text)


def _ignore_missing(error: grpc.RpcError) -> None:
    if code_of(error) is not grpc.StatusCode.NOT_FOUND:
        raise error
