"""Runs the adapter with the SDK's own conformance suite for stores."""

import json
import logging
from pathlib import Path
from typing import Any

import grpc
import pytest
from claude_agent_sdk import project_key_for_directory, get_session_messages_from_store, list_sessions_from_store
from claude_agent_sdk.testing import run_session_store_conformance
from session_pool import AsyncSessionPoolClient, MessageInfo, MessageWithParts, Part, new_id, text, text_of
from session_pool.adapters.claude_agent import SessionPoolStore
from sessionpool.v1.message_service_pb2 import EraseMessageRequest

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


def transcript(directory: Path, *contents: Any) -> list[Any]:
    """A chain of entries, alternately by the user and the assistant."""
    entries: list[Any] = []
    for place, content in enumerate(contents):
        role = "assistant" if place % 2 else "user"
        entry = {
            "type": role,
            "uuid": new_id(),
            "parentUuid": entries[-1]["uuid"] if entries else None,
            "sessionId": "s",
            "cwd": str(directory),
            "isSidechain": False,
            "timestamp": f"2026-11-22T08:00:{place:02}.000Z",
            "message": {"role": role, "content": content},
        }
        entries.append(entry)
    return entries


USE = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "secret"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "secret"}


async def session_of(client: AsyncSessionPoolClient, uuid: str) -> str:
    async for session in client.list_sessions():
        if any(message.info.id == uuid for message in (await client.load_session(session.session_id)).messages):
            return session.session_id
    raise AssertionError(uuid)


@pytest.mark.parametrize("erased", [[0], [1], [2], [3], [1, 2], [0, 1, 2, 3, 4]])
async def test_an_erased_entry_keeps_the_chain(
    async_client: AsyncSessionPoolClient, tmp_path: Path, erased: list[int]
) -> None:
    store, id = SessionPoolStore(async_client), new_id()
    key: Any = {"project_key": project_key_for_directory(str(tmp_path)), "session_id": id}
    entries = transcript(tmp_path, "When?", [USE], [RESULT], [{"type": "text", "text": "secret"}], "Thanks")
    await store.append(key, [*entries, {"type": "mode", "value": "x"}])
    session_id = await session_of(async_client, entries[0]["uuid"])
    for place in erased:
        request = EraseMessageRequest(session_id=session_id, message_id=entries[place]["uuid"])
        await async_client.messages.EraseMessage(request)
    loaded: Any = await store.load(key)
    assert [entry["uuid"] for entry in loaded[:5]] == [entry["uuid"] for entry in entries]
    assert [entry["parentUuid"] for entry in loaded[:5]] == [entry["parentUuid"] for entry in entries]
    assert all(loaded[place] == entry for place, entry in enumerate(entries) if place not in erased)
    messages = await get_session_messages_from_store(store, id, directory=str(tmp_path))
    assert [message.uuid for message in messages] == [entry["uuid"] for entry in entries]
    blocks = [block for message in messages for block in message.message["content"] if isinstance(block, dict)]
    uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert uses == [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    await store.append(key, entries)
    await store.append(key, loaded[:5])
    assert await store.load(key) == loaded


async def test_an_erased_result_follows_its_call(async_client: AsyncSessionPoolClient, tmp_path: Path) -> None:
    store = SessionPoolStore(async_client)
    key: Any = {"project_key": new_id(), "session_id": "s"}
    entries = transcript(tmp_path, "When?", [USE], [RESULT], [{**USE, "id": "t2"}], [{**RESULT, "tool_use_id": "t2"}])
    question, first, first_result, second, second_result = entries
    # Both tools ran at once, and their results came afterwards.
    second["parentUuid"] = first["uuid"]
    await store.append(key, [question, first, second, first_result, second_result])
    session_id = await session_of(async_client, question["uuid"])
    for entry in (first_result, second_result):
        request = EraseMessageRequest(session_id=session_id, message_id=entry["uuid"])
        await async_client.messages.EraseMessage(request)
    loaded: Any = await store.load(key)
    assert [entry["parentUuid"] for entry in loaded[3:]] == [first["uuid"], second["uuid"]]


async def test_any_erased_entry_becomes_one_that_changes_nothing(async_client: AsyncSessionPoolClient) -> None:
    store, uuid = SessionPoolStore(async_client), new_id()
    key: Any = {"project_key": new_id(), "session_id": "s"}
    await store.append(key, [{"type": "summary", "uuid": uuid}])
    session_id = await session_of(async_client, uuid)
    await async_client.messages.EraseMessage(EraseMessageRequest(session_id=session_id, message_id=uuid))
    await async_client.append(session_id, text("user", "from elsewhere", id="m1"))
    await async_client.append(
        session_id, MessageWithParts(info=MessageInfo(role="x"), parts=[Part(type="claude_agent")])
    )
    loaded: Any = await store.load(key)
    assert [entry["type"] for entry in loaded] == ["system", "user", "system"]
    assert loaded[1]["message"] == {"role": "user", "content": "from elsewhere"}
    assert loaded[1]["parentUuid"] == uuid


async def test_a_deleted_transcript_does_not_come_back(async_client: AsyncSessionPoolClient) -> None:
    writer, reader, other = (SessionPoolStore(async_client) for _ in range(3))
    key: Any = {"project_key": new_id(), "session_id": "s"}
    subkey: Any = {**key, "subpath": "subagents/a"}
    await writer.append(key, [{"type": "user", "uuid": "u1"}])
    assert await reader.load(key) == [{"type": "user", "uuid": "u1"}]
    await other.delete(key)
    for late in (key, subkey):
        for store in (writer, reader):
            with pytest.raises(grpc.RpcError) as refused:
                await store.append(late, [{"type": "assistant", "uuid": "u2", "parentUuid": "u1"}])
            assert refused.value.code() is grpc.StatusCode.NOT_FOUND
        assert await writer.load(late) is None
    assert await writer.list_sessions(key["project_key"]) == []


async def test_an_append_is_kept_when_another_makes_the_transcript_meanwhile(
    async_client: AsyncSessionPoolClient,
) -> None:
    key: Any = {"project_key": new_id(), "session_id": "s"}

    class Overtaken(SessionPoolStore):
        """A store in which a second append is done before the first learns that the transcript is missing."""

        waits = True

        async def _append(self, *args: Any) -> None:
            try:
                await super()._append(*args)
            except grpc.RpcError:
                if self.waits:
                    self.waits = False
                    await self.append(key, [{"type": "user", "uuid": "u1"}])
                raise

    store = Overtaken(async_client)
    await store.append(key, [{"type": "user", "uuid": "u2"}])
    loaded: Any = await store.load(key)
    assert [entry["uuid"] for entry in loaded] == ["u1", "u2"]


async def test_a_main_transcript_exists_only_once_it_was_written(async_client: AsyncSessionPoolClient) -> None:
    store = SessionPoolStore(async_client)
    key: Any = {"project_key": new_id(), "session_id": "s"}
    await store.append({**key, "subpath": "subagents/a"}, [{"type": "user"}])
    assert await store.load(key) is None
    assert await store.list_sessions(key["project_key"]) == []
    assert await store.list_subkeys(key) == ["subagents/a"]
    await store.append(key, [{"type": "user"}])
    assert await store.load(key) == [{"type": "user"}]
    assert [one["session_id"] for one in await store.list_sessions(key["project_key"])] == ["s"]
    await store.delete(key)
    assert await store.list_subkeys(key) == []


async def test_forks_and_other_sessions_beside_transcripts_are_left_alone(
    async_client: AsyncSessionPoolClient,
) -> None:
    store = SessionPoolStore(async_client)
    key: Any = {"project_key": new_id(), "session_id": new_id()}
    uuids = [new_id(), new_id()]
    await store.append(key, [{"type": "user", "uuid": uuids[0]}])
    await store.append({**key, "subpath": "subagents/a"}, [{"type": "user", "uuid": uuids[1]}])
    main = await session_of(async_client, uuids[0])
    project = (await async_client.get_session(main)).parent_id
    fork = (await async_client.fork_session(main)).session_id
    notes = [(await async_client.create_session(parent_id=parent)).session_id for parent in (main, project)]
    for note in notes:
        await async_client.append(note, text("user", "A note."))
    assert await store.list_subkeys(key) == ["subagents/a"]
    assert [one["session_id"] for one in await store.list_sessions(key["project_key"])] == [key["session_id"]]
    await store.delete(key)
    assert await store.load({**key, "subpath": "subagents/a"}) is None
    for kept in (fork, *notes):
        assert await async_client.count_messages(kept) == 1


async def test_a_transcript_whose_metadata_was_replaced_costs_the_others_nothing(
    async_client: AsyncSessionPoolClient,
) -> None:
    store = SessionPoolStore(async_client)
    project, uuid = new_id(), new_id()
    for session_id, one in (("a", uuid), ("b", new_id())):
        await store.append({"project_key": project, "session_id": session_id}, [{"type": "user", "uuid": one}])
    await async_client.update_session(await session_of(async_client, uuid), metadata={"claude_agent": "mine"})
    assert [one["session_id"] for one in await store.list_sessions(project)] == ["b"]


async def test_halves_of_characters_in_keys_cost_nothing(async_client: AsyncSessionPoolClient) -> None:
    store = SessionPoolStore(async_client)
    main: Any = {"project_key": new_id() + "\udce9", "session_id": "\udce9"}
    key: Any = {**main, "subpath": "\udce9"}
    await store.append(key, [{"type": "user"}])
    assert await store.load(key) == [{"type": "user"}]
    [subpath] = await store.list_subkeys(main)
    assert await store.load({**main, "subpath": subpath}) == [{"type": "user"}]


async def test_people_find_what_was_said(async_client: AsyncSessionPoolClient, tmp_path: Path) -> None:
    store, marker = SessionPoolStore(async_client), f"word{new_id().replace('-', '')}"
    said = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": f"In {marker}."}, USE]
    entries = transcript(tmp_path, "When?", said, [RESULT])
    await store.append({"project_key": new_id(), "session_id": "s"}, entries)
    session_id = await session_of(async_client, entries[0]["uuid"])
    messages = (await async_client.load_session(session_id)).messages
    shown = [[(part.type, part.text) for part in message.parts if part.type == "text"] for message in messages]
    assert shown == [[("text", "When?")], [("text", f"In {marker}.")], []]
    assert [json.loads(message.parts[-1].text) for message in messages] == entries


async def test_transcripts_that_were_stored_without_words_are_read(async_client: AsyncSessionPoolClient) -> None:
    store, project = SessionPoolStore(async_client), new_id()
    key: Any = {"project_key": project, "session_id": "s"}
    entry: Any = {"type": "user", "uuid": new_id(), "message": {"role": "user", "content": "When?"}}
    await store.append(key, [{"type": "mode", "uuid": "m1"}])
    session_id = await session_of(async_client, "m1")
    part = Part(type="claude_agent", text=json.dumps(entry))
    await async_client.append(
        session_id, MessageWithParts(info=MessageInfo(id=entry["uuid"], role="user"), parts=[part])
    )
    await store.append(key, [entry])
    assert await store.load(key) == [{"type": "mode", "uuid": "m1"}, entry]


async def test_what_is_too_large_for_a_message_comes_back_as_it_was(
    async_client: AsyncSessionPoolClient, tmp_path: Path
) -> None:
    store = SessionPoolStore(async_client)
    key: Any = {"project_key": new_id(), "session_id": "s"}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 40_000}}
    large = [{**RESULT, "content": [{"type": "text", "text": "\n" * 4_194_304}, image]}]
    entries: list[Any] = [
        *transcript(tmp_path, "京都" * 100_000, [USE], large),
        {"type": "progress", "uuid": new_id(), "data": [0.125] * 100_000, "n": 2**70},
        {"type": "user", "uuid": new_id(), "toolUseResult": "x" * 400_000 + "\ud83d", "name": "caf\udce9"},
        {"type": "user", "uuid": new_id(), "toolUseResult": {"$attachments": [1], "stdout": "\ud83d" * 100_000}},
    ]
    await store.append(key, entries)
    await store.append(key, entries[-2:])
    assert await store.load(key) == entries
    session_id = await session_of(async_client, entries[0]["uuid"])
    stored = (await async_client.load_session(session_id)).messages
    assert sum(message.ByteSize() for message in stored) < 200_000
    assert text_of(stored[0]) == ("京都" * 2731)[: 16384 // 3]


@pytest.mark.usefixtures("no_attachments")
async def test_entries_over_3_mib_are_cut(
    async_client: AsyncSessionPoolClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = SessionPoolStore(async_client)
    key: Any = {"project_key": new_id(), "session_id": "s"}
    large = [{**RESULT, "content": "\n" * 4_000_000}, {"type": "text", "text": "short"}]
    numbers = {"type": "progress", "uuid": new_id(), "data": [0.125] * 600_000}
    fits = {"type": "user", "uuid": new_id(), "message": {"role": "user", "content": "x" * 2_500_000}}
    with caplog.at_level(logging.WARNING, "session_pool"):
        await store.append(key, [*transcript(tmp_path, "When?", [USE], large), numbers, fits])
        await store.append(key, [numbers])
    loaded: Any = await store.load(key)
    assert len(loaded) == 5 and loaded[4] == fits
    result, words = loaded[2]["message"]["content"]
    assert words == large[1] and result["content"].endswith(" of 4000000 characters]")
    assert loaded[3]["data"].startswith("[0.125,") and "truncated" in loaded[3]["data"]
    assert len(caplog.records) == 2


@pytest.mark.usefixtures("no_attachments")
async def test_entries_of_many_fields_or_long_names_are_cut(async_client: AsyncSessionPoolClient) -> None:
    store = SessionPoolStore(async_client)
    key: Any = {"project_key": new_id(), "session_id": "s"}
    own = {"type": "user", "uuid": new_id(), "parentUuid": None}
    fields = {f"field{n}": "v" * 200 if n % 9 else "\0" * 500 for n in range(20_000)}
    entries: list[Any] = [{**own, **fields}, {**own, "uuid": new_id(), "k" * 4_000_000: 1}]
    await store.append(key, entries)
    loaded: Any = await store.load(key)
    assert [list(entry) for entry in loaded] == [[*own, "others"]] * 2
    assert loaded[0].items() >= own.items()
    assert all("… [truncated: " in entry["others"] for entry in loaded)


@pytest.mark.usefixtures("no_attachments")
@pytest.mark.parametrize("content", ["x" * 4_000_000 + "\ud83d", "\ud83d" * 1_000_000])
async def test_an_entry_over_3_mib_with_half_a_character_is_cut(
    async_client: AsyncSessionPoolClient, content: str
) -> None:
    store = SessionPoolStore(async_client)
    key: Any = {"project_key": new_id(), "session_id": "s"}
    entries: list[Any] = [
        {"type": "user", "uuid": new_id(), "toolUseResult": content, "name": "caf\udce9"},
        {"type": "user", "uuid": new_id()},
    ]
    await store.append(key, entries)
    first, second = await store.load(key) or []
    assert first.get("name") == "caf\udce9" and second == entries[1]
    assert str(first.get("toolUseResult")).endswith(f" of {len(content)} characters]")


@pytest.mark.parametrize("uuid", ["", 3, None, "x" * 200, "a\nb", ".", "\ud800"])
async def test_an_odd_uuid_costs_nothing(async_client: AsyncSessionPoolClient, uuid: Any) -> None:
    store = SessionPoolStore(async_client)
    key: Any = {"project_key": new_id(), "session_id": "s"}
    entries: list[Any] = [{"type": "user", "uuid": uuid}, {"type": "", "uuid": new_id()}, {"uuid": new_id()}]
    await store.append(key, entries)
    assert await store.load(key) == entries
