"""Runs the adapter with the real SDK. The model answers from a list, so that no other server is needed."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from agents import Agent, ModelResponse, RunConfig, Runner, SQLiteSession, Usage, function_tool
from agents.extensions.memory.encrypt_session import EncryptedSession
from agents.models.chatcmpl_converter import Converter
from agents.models.interface import Model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from session_pool import AsyncSessionPoolClient, SessionPoolClient, SessionPoolError, new_id, text, text_of
from session_pool.adapters.openai_agents import SessionPoolSession
from session_pool.adapters.openai_items import to_items, to_message
from session_pool.values import to_struct
from sessionpool.v1.message_service_pb2 import EraseMessageRequest, MessageInfo, MessageWithParts, Part

pytestmark = pytest.mark.asyncio
QUIET = RunConfig(tracing_disabled=True)


class ScriptedModel(Model):
    """A model that gives the next answer of a list, and keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []

    async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **more: Any) -> ModelResponse:
        self.asked.append(input)
        return ModelResponse(output=[self.answers.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *rest: Any, **more: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def said(words: str) -> ResponseOutputMessage:
    content = [ResponseOutputText(type="output_text", text=words, annotations=[])]
    return ResponseOutputMessage(
        id="__fake_id__", type="message", role="assistant", status="completed", content=content
    )


@function_tool
def bloom(place: str) -> str:
    """When the azaleas bloom."""
    return f"Late April in {place}"


async def test_an_agent_remembers_what_was_said(
    async_client: AsyncSessionPoolClient, client: SessionPoolClient
) -> None:
    session = SessionPoolSession(new_id(), async_client)
    call = ResponseFunctionToolCall(type="function_call", call_id="c1", name="bloom", arguments='{"place": "Kyoto"}')
    model = ScriptedModel(call, said("Late April."), said("You asked about azaleas."))
    agent = Agent(name="Guide", model=model, tools=[bloom])
    first = await Runner.run(agent, "When do the azaleas bloom?", session=session, run_config=QUIET)
    assert first.final_output == "Late April."
    await Runner.run(agent, "What did I ask?", session=session, run_config=QUIET)

    kinds = [item.get("type", "message") for item in model.asked[-1]]
    assert kinds == ["message", "function_call", "function_call_output", "message", "message"]
    texts = [text_of(message) for message in client.list_messages(session.session_id)]
    assert texts == ["When do the azaleas bloom?", "", "", "Late April.", "What did I ask?", "You asked about azaleas."]


async def test_items_come_back_as_they_were(async_client: AsyncSessionPoolClient) -> None:
    session = SessionPoolSession(new_id(), async_client)
    items: list[Any] = [
        {"role": "user", "content": "Hello"},
        {"type": "message", "role": "assistant", "content": ""},
        {"role": "user", "content": []},
        {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "Be brief"}]},
        {
            "role": "user",
            "content": [{"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"}],
        },
        {
            "type": "function_call",
            "id": "fc",
            "call_id": "c1",
            "name": "f",
            "arguments": '{"n": 3}',
            "status": "completed",
        },
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "4"}]},
        {
            "type": "reasoning",
            "id": "r1",
            "summary": [{"type": "summary_text", "text": "Short"}],
            "steps": 3,
            "share": 0.5,
        },
        {
            "id": "m1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hi", "annotations": [], "logprobs": []}],
        },
    ]
    assert await session.get_items() == []
    await session.add_items(items)
    await session.add_items(items[:1])
    assert await session.get_items() == [*items, items[0]]
    assert await session.get_items(limit=2) == [items[-1], items[0]]
    assert await session.get_items(limit=0) == []


async def test_more_items_are_added_at_once_than_fit_into_one_call(async_client: AsyncSessionPoolClient) -> None:
    session = SessionPoolSession(new_id(), async_client)
    items: list[Any] = [{"role": "user", "content": f"{i}" + "x" * 1_000_000} for i in range(9)]
    await session.add_items(items)
    assert await session.get_items() == items


async def test_more_values_are_added_at_once_than_fit_into_one_call(async_client: AsyncSessionPoolClient) -> None:
    session = SessionPoolSession(new_id(), async_client)
    items: list[Any] = [{"type": "rows", "rows": list(range(200))} for _ in range(600)]
    await session.add_items(items)
    assert await session.get_items() == items


async def test_items_are_popped_once_and_cleared(async_client: AsyncSessionPoolClient) -> None:
    session = SessionPoolSession(new_id(), async_client)
    assert await session.pop_item() is None
    await session.clear_session()
    items: list[Any] = [{"role": "user", "content": str(number)} for number in range(5)]
    await session.add_items(items)
    assert await session.pop_item() == items[4]
    popped = await asyncio.gather(session.pop_item(), session.pop_item())
    assert sorted(str(item) for item in popped) == sorted(str(item) for item in items[2:4])
    await session.clear_session()
    assert await session.get_items() == []


async def test_messages_of_other_clients_become_texts(async_client: AsyncSessionPoolClient) -> None:
    session = SessionPoolSession(new_id(), async_client)
    messages = [text("assistant", "Hi"), text("planner", "Think")]
    await async_client.append_all(session.session_id, messages, create_session=True)
    assert await session.get_items() == [{"role": "assistant", "content": "Hi"}, {"role": "user", "content": "Think"}]


ODD_ITEMS: list[Any] = [
    {"type": None, "role": "user", "content": "x"},
    {"type": "", "role": "user", "content": "x"},
    {"type": 3},
    {"id": "msg_1"},
    {},
    {"role": "assistant", "content": None},
    {"role": "assistant"},
    {"role": "", "content": "x"},
    {"role": None, "content": []},
    {"role": "user", "content": ["plain", None, 3, {"text": "no type"}, {"type": "text"}]},
    {"role": "user", "content": {"type": "input_text"}},
    {"role": "user", "content": "x", "form": "json"},
    {"role": "user", "content": [{"type": "item"}], "form": "json"},
    {"role": "user", "content": "x", "type": "message", "truncated": [], "deep": [[[[]]]]},
    {"type": "erased"},
    {"type": "item", "type_": "item"},
    {"type": "text", "text": "no message"},
    {"type": "function_call", "id": None, "call_id": "c1", "name": "f", "arguments": "{}", "n": 2**70},
    {"type": "unknown_output", "$number": "5", "one": {"$number": "5"}, "two": {"$$json": "[]"}},
    {"$number": "5"},
    {"type": "mcp_list_tools", "tools": [{"input_schema": {"maximum": 9223372036854775807, "minimum": -(2**63)}}]},
    {"type": "function_call_output", "call_id": "c1", "output": {"rows": [1.5, float("inf"), 1e300, 2**60]}},
    {"role": "user", "content": "x", "provider_data": {"large": "x" * 100_000}},
    {"role": "user", "content": [{"type": "input_text", "text": str(n)} for n in range(10_001)]},
    {"type": "reasoning", "rows": [[n, str(n)] for n in range(60_000)]},
    {"role": "assistant", "content": [{"type": "output_text", "text": "x", "annotations": [], "logprobs": []}]},
    {"role": "assistant", "content": [{"type": "output_text", "text": "x", "annotations": []}]},
]


async def test_items_of_any_form_come_back_as_from_sqlite(async_client: AsyncSessionPoolClient) -> None:
    nested: Any = "end"
    for level in range(100):
        nested = [nested] if level % 2 else {"a": nested}
    items = [*ODD_ITEMS, {"role": "user", "content": "x", "nested": nested}, {"type": "f", "nested": nested}]
    session, theirs = SessionPoolSession(new_id(), async_client), SQLiteSession("any")
    await session.add_items(items)
    await theirs.add_items(items)
    assert await session.get_items() == await theirs.get_items() == items


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
pieces = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["input_text", "output_text", "text", "input_image"]) | json_values,
        "text": json_values,
    },
)
any_items = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["message", "function_call", "function_call_output", "erased"]) | json_values,
        "role": st.sampled_from(["user", "assistant", "tool"]) | json_values,
        "content": st.text() | st.lists(pieces | json_values, max_size=3) | json_values,
        "id": json_values,
        "status": json_values,
    },
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(any_items, max_size=3))
async def test_any_json_object_comes_back_as_it_was(items: list[Any]) -> None:
    messages = [MessageWithParts.FromString(to_message(item).SerializeToString()) for item in items]
    assert to_items(messages) == items
    assert all(message.info.role and part.type for message in messages for part in message.parts)


async def test_items_with_the_mark_of_older_versions_are_read_whole() -> None:
    item = {"__enc__": 1, "payload": "gAAAA"}
    info = MessageInfo(id="m1", role="assistant", metadata=to_struct({"openai": {"form": "json"}}))
    assert to_items([MessageWithParts(info=info, parts=[Part(type="item", data=to_struct(item))])]) == [item]


async def test_the_encrypted_session_of_the_sdk_works(async_client: AsyncSessionPoolClient) -> None:
    inner = SessionPoolSession(new_id(), async_client)
    session = EncryptedSession(session_id="enc", underlying_session=inner, encryption_key="secret")
    await session.add_items(ODD_ITEMS[:2])
    assert await session.get_items() == ODD_ITEMS[:2]
    assert await session.pop_item() == ODD_ITEMS[1]
    assert all("payload" in item for item in await inner.get_items())


async def test_texts_are_found_whatever_the_form_of_their_item(
    async_client: AsyncSessionPoolClient, client: SessionPoolClient
) -> None:
    session = SessionPoolSession(new_id(), async_client)
    await session.add_items([ODD_ITEMS[0], {"role": "user", "content": ["azaleas", {"text": " bloom"}]}])
    assert [text_of(message) for message in client.list_messages(session.session_id)] == ["x", "azaleas bloom"]


async def test_half_a_character_does_not_fail_a_run(async_client: AsyncSessionPoolClient) -> None:
    @function_tool
    def names() -> str:
        """Names of files."""
        return b"caf\xe9.txt".decode("utf-8", "surrogateescape")

    session = SessionPoolSession(new_id(), async_client)
    call = ResponseFunctionToolCall(type="function_call", call_id="c1", name="names", arguments="{}")
    agent = Agent(name="Guide", model=ScriptedModel(call, said("One file.")), tools=[names])
    await Runner.run(agent, "Which files?", session=session, run_config=QUIET)
    items: list[Any] = await session.get_items()
    assert [item.get("output") for item in items] == [None, None, "caf\ufffd.txt", None]


CALLS: list[Any] = [
    {"role": "user", "content": "When?"},
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
    {"type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "secret"},
    {"type": "function_call_output", "call_id": "c2", "output": "secret"},
    {"role": "assistant", "content": "secret"},
    {"type": "custom_tool_call", "call_id": "c3", "name": "f", "input": "secret"},
    {"type": "custom_tool_call_output", "call_id": "c3", "output": "secret"},
    {"role": "user", "content": "And then?"},
]


@pytest.mark.parametrize(
    "erased", [[n] for n in range(9)] + [[1, 2], [3, 4], [1, 3], [1, 2, 3, 4], [5, 6], list(range(9))]
)
async def test_an_erased_message_leaves_calls_and_outputs_paired(
    async_client: AsyncSessionPoolClient, erased: list[int]
) -> None:
    session = SessionPoolSession(new_id(), async_client)
    await session.add_items(CALLS)
    messages = [message async for message in async_client.list_messages(session.session_id)]
    for place in erased:
        request = EraseMessageRequest(session_id=session.session_id, message_id=messages[place].info.id)
        await async_client.messages.EraseMessage(request)
    items: list[Any] = await session.get_items()
    assert len(items) == len(CALLS)
    assert all(item == CALLS[place] for place, item in enumerate(items) if place not in erased)
    calls = [(item["type"], item["call_id"]) for item in items if str(item.get("type")).endswith("_call")]
    outputs = [(item["type"].removesuffix("_output"), item["call_id"]) for item in items if "output" in item]
    assert sorted(calls) == sorted(outputs)
    assert all(items[place].get("role") in ("user", "assistant", None) for place in erased)
    plain = [item for item in items if "custom" not in str(item.get("type"))]
    assert Converter.items_to_messages(plain)
    model = ScriptedModel(said("Yes."))
    await Runner.run(Agent(name="Guide", model=model), "Go on", session=session, run_config=QUIET)
    asked = [item.get("call_id") for item in model.asked[0] if "call_id" in item]
    assert sorted(asked) == sorted(id for _, id in calls + outputs)
    assert len(await session.get_items()) == len(CALLS) + 2


async def test_a_deleted_session_does_not_come_back(async_client: AsyncSessionPoolClient) -> None:
    writer, reader = (SessionPoolSession(new_id(), async_client) for _ in range(2))
    reader.session_id = writer.session_id
    await writer.add_items(CALLS[:2])
    assert len(await reader.get_items()) == 2
    await async_client.delete_session(writer.session_id)
    for session in (writer, reader):
        with pytest.raises(grpc.RpcError) as refused:
            await session.add_items(CALLS[3:4])
        assert refused.value.code() is grpc.StatusCode.NOT_FOUND
        assert await session.get_items() == []
    # Whoever has not seen it begins a new one.
    await SessionPoolSession(writer.session_id, async_client).add_items(CALLS[:1])
    await writer.clear_session()
    await writer.add_items(CALLS[:1])
    assert await writer.get_items() == CALLS[:1]


LARGE: list[Any] = [
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "京都" * 700_000}]},
    {"type": "function_call_output", "call_id": "c1", "output": "x" * 4_194_304},
    {"role": "assistant", "content": "京都" * 700_000},
    {"type": "reasoning", "summary": [], "rows": [[n, "x" * 400] for n in range(2_000)]},
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "y" * 300_000},
            {"type": "input_image", "image_url": f"data:image/png;base64,{'A' * 40_000}", "detail": "auto"},
            {"type": "input_file", "filename": "a.pdf", "file_data": "B" * 39_999 + "="},
        ],
    },
    {"type": "image_generation_call", "id": "ig", "status": "completed", "result": "C" * 40_000},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "z" * 300_000}]},
    {"type": "f", "$attachments": [{"path": ["text"], "attachment_id": "a", "form": "text"}], "$$attachments": 1},
]


async def test_what_is_too_large_for_a_message_comes_back_as_it_was(async_client: AsyncSessionPoolClient) -> None:
    session = SessionPoolSession(new_id(), async_client)
    await session.add_items(LARGE)
    stored = (await async_client.load_session(session.session_id)).messages
    assert sum(message.ByteSize() for message in stored) < 150_000
    assert [text_of(message)[:9] for message in stored if text_of(message)] == ["京都" * 4 + "京", "y" * 9, "z" * 9]
    assert await session.get_items() == LARGE
    listed = [one async for one in async_client.list_attachments(session.session_id)]
    assert {one.media_type for one in listed} >= {"image/png", "application/json", "text/plain; charset=utf-8"}

    fork = await async_client.fork_session(session.session_id)
    await session.clear_session()
    assert await SessionPoolSession(fork.session_id, async_client).get_items() == LARGE
    # The same values again, which nothing shows any more.
    await session.add_items(LARGE[:3])
    assert await session.pop_item() == LARGE[2]
    assert await session.get_items() == LARGE[:2]


async def test_what_is_gone_leaves_its_beginning(
    async_client: AsyncSessionPoolClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = SessionPoolSession(new_id(), async_client)
    await session.add_items(LARGE[2:4])

    async def gone(session_id: str, attachment_id: str) -> None:
        raise SessionPoolError(grpc.StatusCode.NOT_FOUND)

    monkeypatch.setattr(async_client, "download_attachment", gone)
    output, answer = await session.get_items()
    assert output == {**LARGE[2], "output": "x" * 16384}
    assert answer == {"role": "assistant", "content": ("京都" * 2731)[: 16384 // 3]}


@pytest.mark.usefixtures("no_attachments")
async def test_what_is_over_3_mib_is_cut_and_costs_nothing_else(
    async_client: AsyncSessionPoolClient, client: SessionPoolClient, caplog: pytest.LogCaptureFixture
) -> None:
    session = SessionPoolSession(new_id(), async_client)
    large = "京都" * 1_000_000
    items: list[Any] = [
        CALLS[0],
        CALLS[1],
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": large}, "short"]},
        {"role": "assistant", "content": large},
        {"type": "reasoning", "summary": [], "rows": [[n, "x" * 200] for n in range(20_000)]},
        {"role": "user", "content": [{"type": "input_image", "image_url": "data:" + "A" * 4_000_000}]},
    ]
    with caplog.at_level(logging.WARNING, "session_pool"):
        await session.add_items(items)
    kept: list[Any] = await session.get_items()
    assert kept[:2] == items[:2]
    for text_kept in (kept[2]["output"][0]["text"], kept[3]["content"]):
        beginning, mark = text_kept.split("… ")
        assert mark == f"[truncated: {len(beginning)} of 2000000 characters]"
        assert large.startswith(beginning) and len(beginning.encode()) > 3_000_000
    assert kept[2]["output"][1] == "short" and kept[4]["summary"] == []
    # Models refuse half of an image.
    [image] = kept[5]["content"]
    assert image["type"] == "input_text" and image["text"].endswith(" of 4000005 characters]")
    assert len(caplog.records) == 4 and "京" not in caplog.text
    marks = [message.info.metadata["truncated"] for message in list(client.list_messages(session.session_id))[2:]]
    assert [mark[0]["length"] for mark in marks[:2]] == [2_000_000, 2_000_000]


async def test_items_of_openai_s_conversations_are_read(async_client: AsyncSessionPoolClient) -> None:
    session_id = new_id()
    image = {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"}
    picture = Part(type="input_image")
    picture.data.update(image)
    question = MessageWithParts(info=MessageInfo(role="user"), parts=[Part(type="text", text="This?"), picture])
    call = MessageWithParts(info=MessageInfo(id="fc_1", role="assistant"), parts=[Part(type="function_call")])
    call.info.metadata.update({"openai": {"type": "function_call"}})
    call.parts[0].data.update({"call_id": "c1", "name": "f", "arguments": "{}"})
    await async_client.append_all(session_id, [question, call, text("assistant", "Yes")], create_session=True)
    assert await SessionPoolSession(session_id, async_client).get_items() == [
        {"role": "user", "content": [{"type": "input_text", "text": "This?"}, image]},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"role": "assistant", "content": "Yes"},
    ]
