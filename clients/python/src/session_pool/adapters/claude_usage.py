"""Counts each response in a transcript of Claude once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from sessionpool.v1.message_service_pb2 import MessageWithParts
from sessionpool.v1.usage_service_pb2 import Usage

from session_pool.adapters.usage import anthropic_usage, set_usage

if TYPE_CHECKING:
    from claude_agent_sdk.types import SessionStoreEntry

_MOST_RESPONSES = 10_000
# The model that the SDK names where none was called, such as in the message of an error.
_NO_MODEL = "<synthetic>"


class Counted(NamedTuple):
    """The message that has the usage of a response."""

    message_id: str
    usage: Usage


class ResponseUsages:
    """Remembers which message has the usage of a response.

    A response is several entries, one for each block, which all repeat its usage; the number of tokens that it wrote is
    whole only in the last one. The first entry of a response has its usage, with the numbers of the last.
    """

    def __init__(self) -> None:
        self._counted: dict[tuple[str, str], Counted] = {}

    def set_usages(
        self, session_id: str, entries: Sequence[tuple[SessionStoreEntry, MessageWithParts]]
    ) -> tuple[dict[tuple[str, str], Counted], list[Counted]]:
        """Sets the usages of messages that are stored together.

        Returns what to give to `note` once they are stored, and the earlier messages whose usage has grown.
        """
        found: dict[tuple[str, str], Counted] = {}
        for entry, message in entries:
            response = _response_of(cast("dict[str, Any]", entry))
            if response is None:
                continue
            body = cast("dict[str, Any]", entry)["message"]
            usage = anthropic_usage(body.get("usage"), body.get("model")) if body.get("usage") else None
            if usage is None:
                continue
            name = (session_id, response)
            known = self._counted.get(name) or found.get(name)
            found[name] = Counted(known.message_id if known else message.info.id, usage)
        own = {message.info.id: message for _, message in entries}
        grown = []
        for name, one in found.items():
            if one.message_id in own:
                set_usage(own[one.message_id], one.usage)
            elif self._counted[name].usage != one.usage:
                grown.append(one)
        return found, grown

    def note(self, found: Mapping[tuple[str, str], Counted]) -> None:
        for name, one in found.items():
            self._counted.pop(name, None)
            self._counted[name] = one
        while len(self._counted) > _MOST_RESPONSES:
            del self._counted[next(iter(self._counted))]


def _response_of(entry: Mapping[str, Any]) -> str | None:
    """Returns the id of the response that an entry is from. None for copies, with which a fork begins."""
    message = entry.get("message")
    if entry.get("type") != "assistant" or not isinstance(message, dict) or isinstance(entry.get("forkedFrom"), dict):
        return None
    if message.get("model") == _NO_MODEL:
        return None
    id = message.get("id") or entry.get("uuid")
    return id if isinstance(id, str) else None
