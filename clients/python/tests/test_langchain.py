"""Runs the adapter with the real package."""

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables.history import RunnableWithMessageHistory
from session_pool import SessionPoolClient, new_id, text, text_of
from session_pool.adapters.langchain import SessionPoolChatMessageHistory


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
