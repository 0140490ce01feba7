"""Runs the adapter with the real SDK. The model answers from a list, so that no other server is needed."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents import Agent, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from session_pool import AsyncSessionPoolClient, SessionPoolClient, new_id, text, text_of
from session_pool.adapters.openai_agents import SessionPoolSession

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
