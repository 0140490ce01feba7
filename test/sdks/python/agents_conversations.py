"""A plug-in for pytest that runs the tests of sessions of openai-agents with the SDK's own OpenAIConversationsSession.

Its conversations are kept by our server below SESSION_POOL_URL.
"""

from __future__ import annotations

import os
import re
from typing import Any

import agents
import agents.memory
import pytest
from agents.memory import OpenAIConversationsSession, sqlite_session
from openai import AsyncOpenAI
from outcomes import note_store
from stores import apart, wait_for


async def _open() -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{os.environ['SESSION_POOL_URL']}/v1", api_key="none")


_client = wait_for(_open())
_conversations: dict[str, str] = {}
_NEW_ID = re.compile("[0-9A-HJKMNP-TV-Z]{26}")


class StoredConversation(OpenAIConversationsSession):
    """Takes what `SQLiteSession` takes. A session's id in a file is one conversation."""

    def __init__(self, session_id: str, db_path: object = ":memory:", *_: Any, session_settings: Any = None) -> None:
        note_store()
        name = f"{db_path}\0{session_id}"
        known = None if str(db_path) == ":memory:" else _conversations.get(name)
        super().__init__(conversation_id=known, openai_client=_client, session_settings=session_settings)
        self._name = name

    async def get_items(self, limit: int | None = None) -> list[Any]:
        return [_as_given(item) for item in await self._noted(super().get_items(limit))]

    async def add_items(self, items: list[Any]) -> None:
        await self._noted(super().add_items(items))

    async def pop_item(self) -> Any:
        item = await self._noted(super().pop_item())
        return None if item is None else _as_given(item)

    async def clear_session(self) -> None:
        # The next call begins another conversation.
        _conversations.pop(self._name, None)
        await apart(super().clear_session())

    def close(self) -> None:
        """Does nothing: a conversation needs no end."""

    async def _noted(self, call: Any) -> Any:
        """Awaits a call, and remembers the conversation that the first one has made."""
        result = await apart(call)
        if self._session_id is not None:
            _conversations[self._name] = self._session_id
        return result


def _as_given(item: dict[str, Any]) -> dict[str, Any]:
    """Undoes what OpenAI's API adds to an item that was given in short: an id and the status, and a list of texts."""
    if not _NEW_ID.fullmatch(item.get("id", "")):
        return item
    kept = {name: value for name, value in item.items() if name not in ("id", "status")}
    if kept.get("type") != "message" or kept["role"] == "assistant":
        return kept
    return {"role": kept["role"], "content": kept["content"][0]["text"]}


def pytest_configure(config: pytest.Config) -> None:
    for module in (agents, agents.memory, sqlite_session):
        module.SQLiteSession = StoredConversation  # type: ignore[attr-defined, misc]
