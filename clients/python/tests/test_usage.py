"""What calls of models took, as the adapters keep it after real runs of the SDKs with models that answer from lists."""

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from agents import Agent, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.exceptions import MaxTurnsExceeded
from agents.models.interface import Model
from claude_agent_sdk import fork_session_via_store, project_key_for_directory
from google.protobuf.json_format import MessageToDict
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseUsage,
)
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails
from session_pool import AsyncSessionPoolClient, SessionPoolClient, new_id
from session_pool.adapters.claude_agent import SessionPoolStore
from session_pool.adapters.langchain import SessionPoolChatMessageHistory
from session_pool.adapters.openai_agents import SessionPoolSession
from session_pool.adapters.usage import made

QUIET = RunConfig(tracing_disabled=True)


def usages(client: SessionPoolClient, session_id: str) -> list[dict[str, Any]]:
    """Returns the usages of the messages that have one, in their order."""
    kept = [one.info.usage for one in client.list_messages(session_id) if one.info.HasField("usage")]
    return [MessageToDict(one, preserving_proto_field_name=True) for one in kept]


class SpendingModel(Model):
    """A model that gives the next answer of a list, each with what it took."""

    def __init__(self, *answers: tuple[list[Any], Usage]) -> None:
        self.answers = list(answers)
        self.model = "fake-1"

    async def get_response(self, *rest: Any, **more: Any) -> ModelResponse:
        output, usage = self.answers.pop(0)
        return ModelResponse(output=output, usage=usage, response_id=None)

    async def stream_response(self, *rest: Any, **more: Any) -> AsyncIterator[Any]:
        output, usage = self.answers.pop(0)
        took = ResponseUsage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            total_tokens=usage.total_tokens,
            input_tokens_details=usage.input_tokens_details,
            output_tokens_details=usage.output_tokens_details,
        )
        done = Response(
            id="r",
            created_at=0,
            model="fake-1",
            object="response",
            output=output,
            tool_choice="none",
            tools=[],
            parallel_tool_calls=False,
            usage=took,
        )
        yield ResponseCompletedEvent(type="response.completed", response=done, sequence_number=0)


def spent(input: int, cached: int, output: int, reasoning: int) -> Usage:
    details = InputTokensDetails.model_validate({"cached_tokens": cached, "cache_write_tokens": 0})
    return Usage(
        requests=1,
        input_tokens=input,
        output_tokens=output,
        total_tokens=input + output,
        input_tokens_details=details,
        output_tokens_details=OutputTokensDetails(reasoning_tokens=reasoning),
    )


def said(words: str) -> ResponseOutputMessage:
    content = [ResponseOutputText(type="output_text", text=words, annotations=[])]
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=cast(Any, content))


def call(id: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(type="function_call", call_id=id, name="bloom", arguments='{"place": "Kyoto"}')


@function_tool
def bloom(place: str) -> str:
    """When the azaleas bloom."""
    return f"Late April in {place}"


TWO_STEPS = (([call("c1"), call("c2")], spent(100, 60, 20, 5)), ([said("April")], spent(130, 100, 7, 0)))
EXPECTED = [
    {
        "model": "fake-1",
        "input_tokens": "100",
        "output_tokens": "20",
        "cached_input_tokens": "60",
        "reasoning_tokens": "5",
    },
    {
        "model": "fake-1",
        "input_tokens": "130",
        "output_tokens": "7",
        "cached_input_tokens": "100",
        "reasoning_tokens": "0",
    },
]


@pytest.mark.asyncio
@pytest.mark.parametrize("streams", [False, True])
async def test_a_run_of_agents_counts_each_response_once(
    async_client: AsyncSessionPoolClient, client: SessionPoolClient, streams: bool
) -> None:
    session = SessionPoolSession(new_id(), async_client)
    agent = Agent(name="Guide", model=SpendingModel(*TWO_STEPS), tools=[bloom])
    if streams:
        streamed = Runner.run_streamed(agent, "When?", session=session, run_config=QUIET)
        async for _ in streamed.stream_events():
            pass
        result: Any = streamed
    else:
        result = await Runner.run(agent, "When?", session=session, run_config=QUIET)
    items = await session.get_items()
    for one in (session, session, SessionPoolSession(session.session_id, async_client)):
        await one.store_run_usage(result)
    assert usages(client, session.session_id) == EXPECTED
    assert await session.get_items() == items
    messages = [one for one in client.list_messages(session.session_id) if one.info.HasField("usage")]
    assert [one.parts[0].data["call_id"] if one.parts[0].type == "function_call" else "" for one in messages] == ["c2", ""]


@pytest.mark.asyncio
async def test_a_run_that_ends_early_counts_what_is_in_the_session(
    async_client: AsyncSessionPoolClient, client: SessionPoolClient
) -> None:
    session = SessionPoolSession(new_id(), async_client)
    agent = Agent(name="Guide", model=SpendingModel(*TWO_STEPS), tools=[bloom])
    with pytest.raises(MaxTurnsExceeded) as raised:
        await Runner.run(agent, "When?", session=session, run_config=QUIET, max_turns=1)
    assert raised.value.run_data is not None
    await session.store_run_usage(raised.value.run_data)
    assert usages(client, session.session_id) == EXPECTED[:1]
    await SessionPoolSession("missing " + new_id(), async_client).store_run_usage(raised.value.run_data)


@pytest.mark.asyncio
async def test_a_model_that_reports_nothing_or_nonsense_costs_no_message(
    async_client: AsyncSessionPoolClient, client: SessionPoolClient
) -> None:
    session = SessionPoolSession(new_id(), async_client)
    for usage in (Usage(), spent(-1, 0, 7, 10**10)):
        agent = Agent(name="Guide", model=SpendingModel(([said("odd")], usage)))
        await session.store_run_usage(await Runner.run(agent, "Odd?", session=session, run_config=QUIET))
    [usage_of_second] = usages(client, session.session_id)
    assert usage_of_second == {"model": "fake-1", "output_tokens": "7", "cached_input_tokens": "0"}


def answer(uuid: str, parent: str | None, id: str, output: int) -> dict[str, Any]:
    usage = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 7,
        "cache_read_input_tokens": 90,
        "output_tokens": output,
    }
    content = [{"type": "text", "text": uuid}]
    message = {"id": id, "role": "assistant", "model": "claude-opus-4", "content": content, "usage": usage}
    return {"type": "assistant", "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message}


def uuid(n: int) -> str:
    return f"00000000-0000-4000-8000-{n:012}"


TRANSCRIPT: list[Any] = [
    {
        "type": "user",
        "uuid": uuid(1),
        "parentUuid": None,
        "sessionId": "s",
        "timestamp": "2026-05-01T10:00:00.000Z",
        "message": {"role": "user", "content": "When?"},
    },
    answer(uuid(2), uuid(1), "msg_1", 1),
    answer(uuid(3), uuid(2), "msg_1", 1),
    answer(uuid(4), uuid(3), "msg_1", 25),
    answer(uuid(5), uuid(4), "msg_2", 8),
]
OF_CLAUDE = {"model": "claude-opus-4", "input_tokens": "100", "cached_input_tokens": "90"}
SPENT = [{**OF_CLAUDE, "output_tokens": "25"}, {**OF_CLAUDE, "output_tokens": "8"}]


def ids_of(client: SessionPoolClient, name: str) -> list[str]:
    sessions = client.list_sessions(view="full", page_size=1000)
    return [one.session_id for one in sessions if f'"{name}"' in str(one.metadata)]


@pytest.mark.asyncio
async def test_a_response_of_claude_counts_once_however_its_entries_come(
    async_client: AsyncSessionPoolClient, client: SessionPoolClient
) -> None:
    store = SessionPoolStore(async_client)
    splits = ([TRANSCRIPT, TRANSCRIPT], [TRANSCRIPT[:3], TRANSCRIPT[2:4], TRANSCRIPT[3:], TRANSCRIPT])
    for calls in splits:
        name = new_id()
        key: Any = {"project_key": "p", "session_id": name}
        for entries in calls:
            await store.append(key, entries)
        assert await store.load(key) == TRANSCRIPT
        [session_id] = ids_of(client, name)
        assert usages(client, session_id) == SPENT


@pytest.mark.asyncio
async def test_the_copies_in_a_fork_of_claude_count_nothing(
    async_client: AsyncSessionPoolClient, client: SessionPoolClient, tmp_path: Any
) -> None:
    store = SessionPoolStore(async_client)
    source = new_id()
    key: Any = {"project_key": project_key_for_directory(str(tmp_path)), "session_id": source}
    await store.append(key, TRANSCRIPT)
    forked = await fork_session_via_store(store, source, directory=str(tmp_path))
    [session_id] = ids_of(client, forked.session_id)
    assert client.load_session(session_id, limit=1).messages
    assert usages(client, session_id) == []


def test_messages_of_langchain_have_what_they_say(client: SessionPoolClient) -> None:
    took: Any = {
        "input_tokens": 100,
        "output_tokens": 20,
        "total_tokens": 120,
        "input_token_details": {"cache_read": 60},
        "output_token_details": {"reasoning": 5},
    }
    chunks = [
        AIMessageChunk("Late ", response_metadata={"model_name": "gpt-5", "model_provider": "openai"}),
        AIMessageChunk("April", usage_metadata=took),
    ]
    streamed = chunks[0] + chunks[1]
    model = GenericFakeChatModel(messages=iter([AIMessage("May", usage_metadata=took)]))
    raw = {"token_usage": {"prompt_tokens": 9, "completion_tokens": 2}, "model_name": "gpt-4"}
    history = SessionPoolChatMessageHistory(new_id(), client)
    messages = [
        HumanMessage("When?"),
        streamed,
        model.invoke("And then?"),
        ToolMessage("4", tool_call_id="c", response_metadata=raw),
        AIMessage("June", response_metadata=raw),
        AIMessage("July", response_metadata={"model_name": "gpt-4"}),
        AIMessage("Odd", usage_metadata=cast(Any, {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0})),
    ]
    history.add_messages(messages)
    tokens = {"input_tokens": "100", "output_tokens": "20", "cached_input_tokens": "60", "reasoning_tokens": "5"}
    assert usages(client, history.session_id) == [
        {"model": "gpt-5", "provider": "openai", **tokens},
        tokens,
        {"model": "gpt-4", "input_tokens": "9", "output_tokens": "2"},
        {"input_tokens": "0", "output_tokens": "0"},
    ]
    assert [one.content for one in history.messages] == [one.content for one in messages]
    assert cast(Any, history.messages[1]).usage_metadata == took


def test_what_no_usage_can_have_is_left_out() -> None:
    for odd in (-1, 2.5, True, 10**10, "5", float("nan"), None, [], {}):
        assert made(input_tokens=odd) is None
    for name in ("", "x" * 129, "a\u0000", "\ud83d", "\u0085", 5, None):
        assert made(model=name) is None
    assert made(model="é" * 64) is not None
    for cost in (-1, 1e12, float("nan"), float("inf"), True, "1"):
        assert made(cost_usd=cost) is None
    costs = [made(cost_usd=cost) for cost in (0, 12, 0.1, 1.5e-7, 1.234567890123456e-7, 5e-324)]
    assert [one.cost for one in costs if one] == [
        *("0", "12", "0.1", "0.00000015", "0.000000123456789012", "0.000000000000000000"),
    ]
