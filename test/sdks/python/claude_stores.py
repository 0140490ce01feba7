"""A plug-in for pytest that puts our store in place of the one that the tests of claude-agent-sdk use."""

from __future__ import annotations

from typing import Any

import claude_agent_sdk
import pytest
from claude_agent_sdk._internal import session_store
from outcomes import note_store
from stores import apart, client, wait_for

from session_pool import new_id
from session_pool.adapters.claude_agent import SessionPoolStore


class StoredTranscripts(SessionPoolStore):
    """Takes what `InMemorySessionStore` takes. The transcripts of each instance are in projects of their own."""

    def __init__(self) -> None:
        note_store()
        super().__init__(client)
        self._prefix = f"{new_id()}/"

    async def append(self, key: Any, entries: Any) -> None:
        await apart(super().append(self._own(key), entries))

    async def load(self, key: Any) -> Any:
        return await apart(super().load(self._own(key)))

    async def list_sessions(self, project_key: str) -> Any:
        return await apart(super().list_sessions(self._prefix + project_key))

    async def delete(self, key: Any) -> None:
        await apart(super().delete(self._own(key)))

    async def list_subkeys(self, key: Any) -> Any:
        return await apart(super().list_subkeys(self._own(key)))

    def get_entries(self, key: Any) -> list[Any]:
        """The tests read what was stored without awaiting it."""
        return wait_for(self.load(key)) or []

    def _own(self, key: Any) -> Any:
        return {**key, "project_key": self._prefix + key["project_key"]}


def pytest_configure(config: pytest.Config) -> None:
    for module in (claude_agent_sdk, session_store):
        module.InMemorySessionStore = StoredTranscripts  # type: ignore[misc]
