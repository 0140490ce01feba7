"""Runs the adapter with the real package."""

import logging
import math
from datetime import date
from typing import Any

import grpc
import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
)
from langchain_core.runnables.history import RunnableWithMessageHistory
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from session_pool import SessionPoolClient, new_id, text, text_of
from session_pool.adapters.langchain import SessionPoolChatMessageHistory
from sessionpool.v1.message_service_pb2 import EraseMessageRequest

# The adapter itself warns of nothing; LangChain announces that this class of its own goes with LangChain 2.
OLD_CHAINS = "ignore:RunnableWithMessageHistory is deprecated"
pytestmark = pytest.mark.filterwarnings("error", OLD_CHAINS)


def test_a_chain_remembers_what_was_said(client: SessionPoolClient) -> None:
    session_id = new_id()
    model = FakeListChatModel(responses=["Late April.", "You asked about azaleas."])
    chain = RunnableWithMessageHistory(model, lambda session: SessionPoolChatMessageHistory(session, client))
    config = {"configurable": {"session_id": session_id}}
    assert chain.invoke("When do the azaleas bloom?", config).content == "Late April."
    chain.invoke("What did I ask?", config)
    texts = [(message.info.role, text_of(message)) for message in client.list_messages(session_id)]
    assert texts == [
        ("user", "When do the azaleas bloom?"),
        ("assistant", "Late April."),
        ("user", "What did I ask?"),
        ("assistant", "You asked about azaleas."),
    ]


def test_a_graph_without_its_checkpoint_goes_on_from_the_history(client: SessionPoolClient) -> None:
    session_id, asked = new_id(), []

    def answer(state: MessagesState) -> dict[str, Any]:
        asked.append([message.content for message in state["messages"]])
        return {"messages": [AIMessage(f"answer {len(asked)}")]}

    def begin() -> Any:
        return StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").compile(InMemorySaver())

    def ask(graph: Any, words: str) -> None:
        history, config = SessionPoolChatMessageHistory(session_id, client), {"configurable": {"thread_id": session_id}}
        said = history.messages
        before = [] if graph.get_state(config).values else said
        result = graph.invoke({"messages": [*before, HumanMessage(words)]}, config)
        known = {message.id for message in said}
        history.add_messages([message for message in result["messages"] if message.id not in known])

    graph = begin()
    ask(graph, "q1")
    ask(graph, "q2")
    ask(begin(), "q3")
    assert asked[-1] == ["q1", "answer 1", "q2", "answer 2", "q3"]
    said = [message.content for message in SessionPoolChatMessageHistory(session_id, client).messages]
    assert said == [*asked[-1], "answer 3"]


def test_messages_come_back_as_they_were(client: SessionPoolClient) -> None:
    history = SessionPoolChatMessageHistory(new_id(), client)
    messages: list[BaseMessage] = [
        SystemMessage("Be brief"),
        HumanMessage(
            [{"type": "text", "text": "Like this?"}, {"type": "image_url", "image_url": {"url": "https://a.b/c"}}]
        ),
        AIMessage(
            "",
            id="run-1",
            tool_calls=[{"name": "bloom", "args": {"n": 3, "share": 0.5}, "id": "c1"}],
            usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
        ),
        ToolMessage("Late April", tool_call_id="c1"),
        ChatMessage("Think", role="planner"),
    ]
    assert history.messages == []
    history.add_messages(messages)
    assert history.messages == messages
    history.clear()
    assert history.messages == []


def test_more_messages_are_added_at_once_than_fit_into_one_call(client: SessionPoolClient) -> None:
    history = SessionPoolChatMessageHistory(new_id(), client)
    messages: list[BaseMessage] = [HumanMessage(f"{i}" + "x" * 1_000_000) for i in range(9)]
    history.add_messages(messages)
    assert history.messages == messages


def test_messages_of_other_clients_become_texts(client: SessionPoolClient) -> None:
    history = SessionPoolChatMessageHistory(new_id(), client)
    client.append_all(history.session_id, [text("user", "a"), text("tool", "b")], create_session=True)
    assert history.messages == [HumanMessage("a"), ChatMessage("b", role="tool")]
    history.clear()
    SessionPoolChatMessageHistory("nobody", client).clear()


def test_what_json_does_not_hold_is_kept_or_said(client: SessionPoolClient) -> None:
    history = SessionPoolChatMessageHistory(new_id(), client)
    artifact = {1: "a", None: (1, 2), "rows": [1.5, math.inf, math.nan], "bytes": b"\xff", "on": date(2026, 1, 31)}
    history.add_messages(
        [
            AIMessage("", tool_calls=[{"name": "get", "args": {"id": 1234567890123456789}, "id": "c1"}]),
            ToolMessage("cut \ud83d", tool_call_id="c1", artifact=artifact),
            ToolMessage("", tool_call_id="c2", artifact={"$number": "9", "at": [{"$number": "9"}]}),
            AIMessage([{"type": "text", "text": "\udce9"}, {"type": "image", "base64": "AAE="}, "plain"]),
        ]
    )
    call, result, escaped, blocks = history.messages
    assert isinstance(call, AIMessage) and call.tool_calls[0]["args"] == {"id": 1234567890123456789}
    assert isinstance(result, ToolMessage) and isinstance(escaped, ToolMessage)
    assert result.content == "cut \ufffd"
    nan = result.artifact["rows"].pop()
    assert math.isnan(nan)
    expected = {"1": "a", "null": [1, 2], "rows": [1.5, math.inf], "bytes": b"\xff", "on": "2026-01-31"}
    assert result.artifact == expected
    assert escaped.artifact == {"$number": "9", "at": [{"$number": "9"}]}
    assert blocks.content == [{"type": "text", "text": "\ufffd"}, {"type": "image", "base64": "AAE="}, "plain"]


def test_messages_of_every_class_come_back(client: SessionPoolClient) -> None:
    class OwnMessage(BaseMessage):
        type: str = "own"

    history = SessionPoolChatMessageHistory(new_id(), client)
    messages: list[BaseMessage] = [AIMessageChunk("streamed"), RemoveMessage("m1"), ChatMessage("no role", role="")]
    history.add_messages([*messages, OwnMessage(content="mine")])
    assert history.messages == [*messages, ChatMessage("mine", role="own")]
    assert [one.info.role for one in client.list_messages(history.session_id)] == ["assistant", "remove", "chat", "own"]


CALLS: list[BaseMessage] = [
    HumanMessage("When?"),
    AIMessage(
        "secret",
        tool_calls=[{"name": "f", "args": {}, "id": "c1"}, {"name": "g", "args": {}, "id": "c2"}],
    ),
    ToolMessage("secret", tool_call_id="c1"),
    ToolMessage("secret", tool_call_id="c2"),
    AIMessage("May"),
]


@pytest.mark.parametrize("erased", [[0], [1], [2], [3], [4], [2, 3], [1, 2], [1, 2, 3], [0, 1, 2, 3, 4]])
def test_an_erased_message_leaves_calls_and_results_paired(client: SessionPoolClient, erased: list[int]) -> None:
    history = SessionPoolChatMessageHistory(new_id(), client)
    history.add_messages(CALLS)
    stored = list(client.list_messages(history.session_id))
    for place in erased:
        request = EraseMessageRequest(session_id=history.session_id, message_id=stored[place].info.id)
        client.messages.EraseMessage(request)
    messages = history.messages
    assert [type(message) for message in messages] == [type(message) for message in CALLS]
    assert all(message == CALLS[place] for place, message in enumerate(messages) if place not in erased)
    assert all(messages[place].content == "[erased]" for place in erased)
    calls = [call["id"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
    results = [message.tool_call_id for message in messages if isinstance(message, ToolMessage)]
    assert sorted(map(str, calls)) == sorted(results) and len(set(results)) == 2
    assert len(convert_to_openai_messages(messages)) == len(CALLS)


def test_a_deleted_session_does_not_come_back(client: SessionPoolClient) -> None:
    writer = SessionPoolChatMessageHistory(new_id(), client)
    writer.add_messages(CALLS)
    reader = SessionPoolChatMessageHistory(writer.session_id, client)
    assert len(reader.messages) == len(CALLS)
    client.delete_session(writer.session_id)
    for history in (writer, reader):
        with pytest.raises(grpc.RpcError) as refused:
            history.add_messages(CALLS[2:3])
        assert refused.value.code() is grpc.StatusCode.NOT_FOUND
        assert history.messages == []


def test_what_is_too_large_for_a_message_comes_back_as_it_was(client: SessionPoolClient) -> None:
    history = SessionPoolChatMessageHistory(new_id(), client)
    large: list[BaseMessage] = [
        HumanMessage("京都" * 700_000),
        ToolMessage("z" * 4_194_304, tool_call_id="c1", artifact=[{"raw": b"\0\1" * 5000, "text": "x" * 300_000}]),
        HumanMessage(
            [
                {"type": "image", "base64": "A" * 40_000, "mime_type": "image/png"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{'A' * 40_000}"}},
                {"type": "text", "text": "y" * 300_000},
            ]
        ),
    ]
    history.add_messages(large)
    stored = client.load_session(history.session_id).messages
    assert sum(message.ByteSize() for message in stored) < 150_000
    assert [text_of(message)[:9] for message in stored] == ["京都" * 4 + "京", "z" * 9, "y" * 9]
    assert history.messages == large
    fork = client.fork_session(history.session_id)
    client.delete_session(history.session_id)
    assert SessionPoolChatMessageHistory(fork.session_id, client).messages == large
    client.messages.EraseMessage(
        EraseMessageRequest(session_id=fork.session_id, message_id=stored[1].info.id)
    )
    assert [message.content[:3] for message in SessionPoolChatMessageHistory(fork.session_id, client).messages][:2] == [
        "京都京",
        "[er",
    ]


@pytest.mark.usefixtures("no_attachments")
def test_what_is_over_3_mib_is_cut(client: SessionPoolClient, caplog: pytest.LogCaptureFixture) -> None:
    history = SessionPoolChatMessageHistory(new_id(), client)
    large: list[Any] = [{"type": "text", "text": "x" * 4_000_000}]
    with caplog.at_level(logging.WARNING, "session_pool"):
        history.add_messages([HumanMessage("y" * 4_000_000), ToolMessage("", tool_call_id="c1", artifact=large)])
        history.add_messages([HumanMessage([{"type": "image", "base64": "A" * 4_000_000, "mime_type": "image/png"}])])
    question, result, image = history.messages
    assert image.content == [{"type": "text", "text": image.content[0]["text"]}]  # type: ignore[index]
    assert str(question.content).endswith(" of 4000000 characters]")
    assert isinstance(result, ToolMessage) and result.artifact[0]["text"].endswith(" of 4000000 characters]")
    assert len(caplog.records) == 3
