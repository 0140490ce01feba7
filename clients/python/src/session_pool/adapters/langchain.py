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
    ToolMessage,
    messages_from_dict,
)
from sessionpool.v1.message_service_pb2 import MessageInfo, MessageWithParts, Part, TruncateMessagesRequest

from session_pool import SessionPoolClient
from session_pool.adapters.attaching import attach_sync, restore_sync
from session_pool.adapters.batches import batches
from session_pool.adapters.erased import ERASED, PairedMessage, is_erased, pair_erased
from session_pool.adapters.fitted import fitted, without_cut_files
from session_pool.adapters.storable import from_storable, to_storable, well_formed
from session_pool.adapters.usage import langchain_usage, set_usage
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
    `langchain` holds the rest of the message, with what `json.dumps` takes, and bytes. Other values, such as dates in
    an artifact, come back as texts. What is too large for a message is kept in attachments. The usage of a message of a
    model is what its `usage_metadata` and `response_metadata` say.

    If the session is deleted after this object has read or written it, adding messages raises `NOT_FOUND`.
    """

    def __init__(self, session_id: str, client: SessionPoolClient) -> None:
        """The caller closes the client."""
        self.session_id = session_id
        self._client = client
        self._was_seen = False

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """All messages, oldest first. Empty when the session does not exist."""
        try:
            stored = list(self._client.list_messages(self.session_id, page_size=_PAGE))
            self._was_seen = True
        except grpc.RpcError as error:
            _ignore_missing(error)
            return []
        return _to_history(restore_sync(self._client, self.session_id, stored))

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Appends messages, all or none up to 1,000 messages and 7 MiB; more are appended in several steps."""
        create = not self._was_seen
        converted = [to_message(message) for message in messages]
        fitting = attach_sync(self._client, self.session_id, converted, fitted, create_session=create)
        for batch in batches(fitting):
            self._client.append_all(self.session_id, batch, create_session=not self._was_seen)
            self._was_seen = True

    def clear(self) -> None:
        """Removes all messages for good. The session keeps its title and metadata."""
        try:
            request = TruncateMessagesRequest(session_id=self.session_id, to_start=True)
            self._client.messages.TruncateMessages(request)
        except grpc.RpcError as error:
            _ignore_missing(error)


def to_message(message: BaseMessage) -> MessageWithParts:
    """Converts a message of LangChain to a message of the session, of any size."""
    kept: dict[str, Any] = to_storable({"type": message.type, "data": dict(message)}, keep_bytes=True)
    content = kept["data"].get("content")
    if isinstance(content, str):
        del kept["data"]["content"]
    text = content if isinstance(content, str) else well_formed(str(message.text))
    parts = [Part(type="text", text=text), Part(type=_KEPT, data=to_struct(kept))]
    usage = langchain_usage(message.usage_metadata, message.response_metadata) if isinstance(message, AIMessage) else None
    made = MessageWithParts(info=MessageInfo(id=new_id(), role=_role_of(message)), parts=parts)
    return set_usage(made, usage)


def to_langchain(message: MessageWithParts) -> BaseMessage:
    """Converts a message of the session back. From a message of another client, only its text is taken."""
    text = text_of(message)
    for part in message.parts:
        if part.type == _KEPT:
            kept = from_storable(from_struct(part.data), keep_bytes=True)
            if "truncated" in message.info.metadata:
                kept = without_cut_files(kept, "text")
            try:
                return messages_from_dict([{**kept, "data": {"content": text, **kept["data"]}}])[0]
            except (KeyError, TypeError, ValueError):
                # A class of messages that this version of LangChain does not know.
                break
    return _of_role(message.info.role, text)


def _to_history(stored: Sequence[MessageWithParts]) -> list[BaseMessage]:
    """Converts all messages. An erased one has the calls or the result that others need, so that models take it."""
    messages = [_of_role(one.info.role, ERASED) if is_erased(one) else to_langchain(one) for one in stored]
    all_paired = [_paired(message, is_erased(one)) for message, one in zip(messages, stored)]
    ids = pair_erased(all_paired, results=1, both=True)
    return [
        _with_calls(message, paired, own) if paired.erased else message
        for message, paired, own in zip(messages, all_paired, ids)
    ]


def _paired(message: BaseMessage, was_erased: bool) -> PairedMessage:
    if was_erased and isinstance(message, ChatMessage) and message.role == "tool":
        return PairedMessage(erased="result")
    if isinstance(message, AIMessage):
        calls = [call["id"] for call in (*message.tool_calls, *message.invalid_tool_calls)]
        return PairedMessage(calls=[id for id in calls if id], erased="call" if was_erased else "")
    if isinstance(message, ToolMessage):
        return PairedMessage(results=[message.tool_call_id])
    return PairedMessage(is_question=isinstance(message, HumanMessage))


def _with_calls(message: BaseMessage, paired: PairedMessage, ids: list[str]) -> BaseMessage:
    if paired.erased == "call":
        return AIMessage(ERASED, tool_calls=[{"name": "erased", "args": {}, "id": id} for id in ids])
    return ToolMessage(ERASED, tool_call_id=ids[0]) if ids else AIMessage(ERASED)


def _of_role(role: str, text: str) -> BaseMessage:
    known = _CLASSES.get(role)
    return ChatMessage(role=role, content=text) if known is None else known(content=text)


def _role_of(message: BaseMessage) -> str:
    if isinstance(message, ChatMessage):
        return well_formed(message.role) or "chat"
    kind = message.type.removesuffix("MessageChunk").lower()
    return _ROLES.get(kind, kind) or "chat"


def _ignore_missing(error: grpc.RpcError) -> None:
    if code_of(error) is not grpc.StatusCode.NOT_FOUND:
        raise error
