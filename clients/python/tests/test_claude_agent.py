"""Runs the adapter with the SDK's own conformance suite for stores."""

from typing import Any

import pytest
from claude_agent_sdk import project_key_for_directory, get_session_messages_from_store, list_sessions_from_store
from claude_agent_sdk.testing import run_session_store_conformance
from session_pool import AsyncSessionPoolClient, new_id
from session_pool.adapters.claude_agent import SessionPoolStore

pytestmark = pytest.mark.asyncio


class OwnProjects(SessionPoolStore):
    """A store that looks new to each case of the suite: it has projects of its own on the same server."""

    def __init__(self, client: AsyncSessionPoolClient) -> None:
        super().__init__(client)
        self._own = new_id()

    def _keyed(self, key: Any) -> Any:
        return {**key, "project_key": self._own + key["project_key"]}

    async def append(self, key: Any, entries: Any) -> None:
        await super().append(self._keyed(key), entries)

    async def load(self, key: Any) -> Any:
        return await super().load(self._keyed(key))

    async def list_sessions(self, project_key: str) -> Any:
        return await super().list_sessions(self._own + project_key)

    async def delete(self, key: Any) -> None:
        await super().delete(self._keyed(key))

    async def list_subkeys(self, key: Any) -> Any:
        return await super().list_subkeys(self._keyed(key))


async def test_passes_the_conformance_suite_of_the_sdk(async_client: AsyncSessionPoolClient) -> None:
    await run_session_store_conformance(lambda: OwnProjects(async_client))


async def test_an_entry_is_kept_once_and_exactly(async_client: AsyncSessionPoolClient) -> None:
    store = SessionPoolStore(async_client)
    key: Any = {"project_key": new_id() * 10, "session_id": new_id()}
    first: Any = {"type": "user", "uuid": new_id(), "message": {"big": 2**60, "deep": [[[[None, 0.5, "京都"]]]]}}
    unmarked: Any = {"type": "mode"}
    await store.append(key, [first, first, unmarked])
    await store.append(key, [{**first, "message": "other"}, unmarked])
    assert await store.load(key) == [first, unmarked, unmarked]


async def test_an_entry_with_half_a_character_is_kept_exactly(async_client: AsyncSessionPoolClient) -> None:
    store = SessionPoolStore(async_client)
    key: Any = {"project_key": new_id(), "session_id": new_id()}
    entry: Any = {"type": "user", "uuid": new_id(), "toolUseResult": "京都, cut in the middle of \ud83d"}
    await store.append(key, [entry])
    assert await store.load(key) == [entry]


async def test_many_large_entries_are_stored_in_several_calls(async_client: AsyncSessionPoolClient) -> None:
    store = SessionPoolStore(async_client)
    key: Any = {"project_key": new_id(), "session_id": new_id()}
    large: list[Any] = [{"type": "user", "uuid": new_id(), "text": "x" * 1_500_000} for _ in range(7)]
    small: list[Any] = [{"type": "user", "uuid": new_id()} for _ in range(1100)]
    await store.append(key, [*large, *small])
    assert await store.load(key) == [*large, *small]


async def test_the_sdk_reads_its_transcripts_from_the_store(
    async_client: AsyncSessionPoolClient, tmp_path: Any
) -> None:
    store = SessionPoolStore(async_client)
    session_id = new_id()
    key: Any = {"project_key": project_key_for_directory(str(tmp_path)), "session_id": session_id}
    common = {
        "sessionId": session_id,
        "cwd": str(tmp_path),
        "timestamp": "2026-11-22T08:00:00.000Z",
        "isSidechain": False,
    }
    question = {
        **common,
        "type": "user",
        "uuid": new_id(),
        "parentUuid": None,
        "message": {"role": "user", "content": "When?"},
    }
    content = [{"type": "text", "text": "In May."}]
    answer = {
        **common,
        "type": "assistant",
        "uuid": new_id(),
        "parentUuid": question["uuid"],
        "message": {"role": "assistant", "content": content},
    }
    await store.append(key, [question, answer])  # type: ignore[list-item]
    messages = await get_session_messages_from_store(store, session_id, directory=str(tmp_path))
    assert [message.message["content"] for message in messages] == ["When?", content]
    listed = await list_sessions_from_store(store, directory=str(tmp_path))
    assert [(one.session_id, one.first_prompt) for one in listed] == [(session_id, "When?")]
