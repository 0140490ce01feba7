"""A plug-in for pytest that puts our sessions in place of those that the tests of openai-agents use.

`SQLiteSession` becomes `SessionPoolSession`. `SimpleListSession`, which the tests define in a module of their own and
derive from, stays a class of theirs, but keeps its items in a `SessionPoolSession`.
"""

from __future__ import annotations

import hashlib
import importlib
import time
from types import SimpleNamespace
from typing import Any

import agents.extensions.memory.encrypt_session  # It tells the original SQLiteSession from other sessions.
import agents.memory
import pytest
from agents.memory import sqlite_session
from agents.memory.session_settings import coerce_session_settings
from cryptography import fernet
from outcomes import note_store
from stores import apart, client, wait_for

from session_pool import new_id
from session_pool.adapters.openai_agents import SessionPoolSession


class StoredSession(SessionPoolSession):
    """Takes what `SQLiteSession` takes. A file, a table and a session's id make one session of ours."""

    def __init__(
        self,
        session_id: str,
        db_path: object = ":memory:",
        sessions_table: str = "",
        messages_table: str = "",
        session_settings: Any = None,
    ) -> None:
        note_store()
        file = new_id() if str(db_path) == ":memory:" else str(db_path)
        name = hashlib.sha256(f"{file}\0{messages_table}\0{session_id}".encode()).hexdigest()[:24]
        super().__init__(name, client, session_settings=coerce_session_settings(session_settings or {}))

    async def get_items(self, limit: int | None = None) -> list[Any]:
        return await apart(super().get_items(limit))

    async def add_items(self, items: list[Any]) -> None:
        await apart(super().add_items(items))

    async def pop_item(self) -> Any:
        return await apart(super().pop_item())

    async def clear_session(self) -> None:
        await apart(super().clear_session())

    def close(self) -> None:
        """Does nothing: the caller closes the client."""


class StoredList:
    """The methods of `SimpleListSession`, over a session of ours."""

    def __init__(self, session_id: str = "test", history: list[Any] | None = None) -> None:
        self.session_id = session_id
        self._ignore_ids_for_matching = False
        self.stored = StoredSession(session_id)
        if history:
            wait_for(self.stored.add_items(history))

    async def get_items(self, limit: int | None = None) -> list[Any]:
        return await self.stored.get_items(limit)

    async def add_items(self, items: list[Any]) -> None:
        await self.stored.add_items(items)

    async def pop_item(self) -> Any:
        return await self.stored.pop_item()

    async def clear_session(self) -> None:
        await self.stored.clear_session()

    @property
    def saved_items(self) -> list[Any]:
        return wait_for(self.stored.get_items())

    _items = saved_items


def pytest_configure(config: pytest.Config) -> None:
    for module in (agents, agents.memory, sqlite_session):
        module.SQLiteSession = StoredSession  # type: ignore[attr-defined, misc]
    theirs = importlib.import_module("tests.utils.simple_session").SimpleListSession
    for name in ("__init__", "get_items", "add_items", "pop_item", "clear_session", "saved_items", "_items"):
        setattr(theirs, name, vars(StoredList)[name])
    # Tests stop the clock of the encryption. The deadlines of calls need one that goes on.
    fernet.time = SimpleNamespace(time=time.time)  # type: ignore[assignment]
