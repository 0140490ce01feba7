import subprocess
import sys
import threading
import time
from importlib.metadata import version

import grpc
import pytest
import session_pool
from proxy import Proxy
from session_pool import MessageInfo, MessageWithParts, Part, SessionPoolClient, new_id, text, text_of
from sessionpool.v1.message_service_pb2 import TruncateMessagesRequest


def test_messages_are_found_by_their_words(client: SessionPoolClient) -> None:
    word = f"maples{new_id()}"
    session = client.create_session(title="Kyoto in autumn")
    for i in range(3):
        client.append(session.session_id, text("user", f"{i} {word} turn red", id=f"m{i}"))
    hits = list(client.search_messages(f'"{word} turn"', page_size=2))
    assert [(hit.session_title, hit.message_id, hit.position) for hit in hits] == [
        ("Kyoto in autumn", f"m{i}", i) for i in (2, 1, 0)
    ]
    assert list(client.search_messages(word, labels=["kind=other"])) == []
    with pytest.raises(grpc.RpcError) as refused:
        list(client.search_messages("?"))
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_a_conversation_is_kept_forked_and_reverted(client: SessionPoolClient) -> None:
    trip = client.create_session(title="Kyoto in May", metadata={"budget": 3, "cities": ["Kyoto"]})
    client.append(trip.session_id, text("user", "When do the azaleas bloom?", id="question"))
    client.append(trip.session_id, text("assistant", "Late April to the middle of May."))
    fork = client.fork_session(trip.session_id, up_to_message_id="question", title="Another way")

    assert [text_of(message) for message in client.list_messages(fork.session_id)] == ["When do the azaleas bloom?"]
    assert client.revert_session(trip.session_id, up_to_message_id="question") == 1
    assert client.revert_session(trip.session_id) == 1
    assert client.unrevert_session(trip.session_id) == 2
    loaded = client.load_session(trip.session_id, limit=1)
    assert (loaded.session.message_count, text_of(loaded.messages[0])) == (2, "Late April to the middle of May.")
    assert session_pool.from_struct(loaded.session.metadata) == {"budget": 3, "cities": ["Kyoto"]}
    client.delete_session(trip.session_id)
    with pytest.raises(grpc.RpcError) as refused:
        client.get_session(trip.session_id)
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND  # type: ignore[attr-defined]


def test_lists_continue_after_the_first_page(client: SessionPoolClient, session_id: str) -> None:
    client.append_all(session_id, [text("user", str(number)) for number in range(7)])
    assert [text_of(message) for message in client.list_messages(session_id, page_size=2)] == [*"0123456"]
    assert [text_of(message) for message in client.list_messages(session_id, page_size=2, newest_first=True)] == [
        *"6543210"
    ]
    children = {client.create_session(parent_id=session_id).session_id for _ in range(3)}
    assert {child.session_id for child in client.list_sessions(parent_id=session_id)} == children


def test_a_message_without_an_id_gets_one_before_it_is_sent(client: SessionPoolClient, session_id: str) -> None:
    message = MessageWithParts(info=MessageInfo(role="user"), parts=[Part(type="text", text="hello")])
    first = client.append(session_id, message)
    second = client.append(session_id, message)
    assert first.message_id != second.message_id
    assert message.info.id == ""
    assert client.append_all(session_id, [message, message]).position == 2


def test_an_append_whose_answer_is_lost_is_sent_again_with_the_same_id(
    client: SessionPoolClient, proxy: Proxy, session_id: str
) -> None:
    with SessionPoolClient(proxy.address) as far:
        far.count_messages(session_id)
        proxy.hold_answers()
        answers = []
        sender = threading.Thread(target=lambda: answers.append(far.append(session_id, text("user", "once"))))
        sender.start()
        while client.count_messages(session_id) == 0:
            time.sleep(0.01)
        proxy.cut()
        sender.join()
    assert [answer.position for answer in answers] == [0]
    assert client.count_messages(session_id) == 1


def test_a_server_that_cannot_be_reached_is_an_error_soon() -> None:
    with SessionPoolClient("127.0.0.1:1", retry_for=0.2) as nowhere, pytest.raises(grpc.RpcError) as refused:
        nowhere.get_session("trip")
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE  # type: ignore[attr-defined]


def test_the_key_is_sent_with_every_call(keyed: tuple[str, str]) -> None:
    address, key = keyed
    with SessionPoolClient(address, key=key) as client:
        session = client.create_session()
        client.append(session.session_id, text("user", "hello"))
        first = next(iter(client.watch(session.session_id, from_position=0)))
        assert text_of(first.appended) == "hello"
    with SessionPoolClient(address, key="sp_wrong") as stranger, pytest.raises(grpc.RpcError) as refused:
        stranger.get_session(session.session_id)
    assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED  # type: ignore[attr-defined]


def test_the_stubs_offer_every_rpc(client: SessionPoolClient, session_id: str) -> None:
    client.append(session_id, text("user", "hello"))
    request = TruncateMessagesRequest(session_id=session_id, to_start=True)
    assert client.messages.TruncateMessages(request).removed_count == 1
    assert client.list_todos() == []


def test_an_integer_that_no_double_holds_is_refused() -> None:
    with pytest.raises(ValueError, match=r"deep\.list\[1\]: no double holds 9007199254740993"):
        text("user", "hello", metadata={"deep": {"list": [1, 2**53 + 1]}})


def test_the_version_is_that_of_the_package() -> None:
    assert version("session-pool") == "0.1.0"
    assert len(new_id()) == 36


def test_importing_the_package_starts_nothing_and_needs_no_framework() -> None:
    code = "import sys, session_pool; print([name for name in ('agents', 'langchain_core', 'claude_agent_sdk') if name in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
