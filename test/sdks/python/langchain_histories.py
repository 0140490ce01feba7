"""A plug-in for pytest that puts our history in place of the one that the tests of langchain-core use."""

from __future__ import annotations

from collections.abc import Sequence

import langchain_core.chat_history
import pytest
from langchain_core.messages import BaseMessage
from outcomes import note_store
from stores import ADDRESS

from session_pool import SessionPoolClient, new_id
from session_pool.adapters.langchain import SessionPoolChatMessageHistory

_client = SessionPoolClient(ADDRESS)


class StoredHistory(SessionPoolChatMessageHistory):
    """Takes what `InMemoryChatMessageHistory` takes, and equals another history with the same messages."""

    __doc__ = langchain_core.chat_history.InMemoryChatMessageHistory.__doc__
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, messages: Sequence[BaseMessage] = ()) -> None:
        note_store()
        super().__init__(new_id(), _client)
        if messages:
            self.add_messages(messages)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoredHistory) and self.messages == other.messages


def pytest_configure(config: pytest.Config) -> None:
    langchain_core.chat_history.InMemoryChatMessageHistory = StoredHistory  # type: ignore[assignment, misc]
