"""Messages as callers usually write and read them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import uuid4

from google.protobuf.timestamp_pb2 import Timestamp
from sessionpool.v1.message_service_pb2 import MessageInfo, MessageWithParts, Part

from session_pool.times import optional_timestamp
from session_pool.values import to_struct


def new_id() -> str:
    """Returns an id that no other message or session has.

    It is made here and not by the server, so that a call can be repeated.
    """
    return str(uuid4())


def text(
    role: str,
    text: str,
    *,
    id: str = "",
    metadata: Mapping[str, Any] | None = None,
    timestamp: datetime | Timestamp | None = None,
) -> MessageWithParts:
    """Makes a message with one part of type `text`.

    `role` is `user`, `assistant`, `system`, `tool` or any other. Without `id`, one is made. Without `timestamp`, it is
    the time of storing.
    """
    info = MessageInfo(id=id or new_id(), role=role, timestamp=optional_timestamp(timestamp))
    if metadata:
        info.metadata.CopyFrom(to_struct(metadata))
    return MessageWithParts(info=info, parts=[Part(type="text", text=text)])


def text_of(message: MessageWithParts) -> str:
    """Returns the texts of the message's parts of type `text`, joined without a separator."""
    return "".join(part.text for part in message.parts if part.type == "text")


def with_id(message: MessageWithParts) -> MessageWithParts:
    """Returns the message itself if it has an id, else a copy with a new id."""
    if message.info.id:
        return message
    copy = MessageWithParts()
    copy.CopyFrom(message)
    copy.info.id = new_id()
    return copy
