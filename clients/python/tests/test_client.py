import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

import grpc
import pytest
import session_pool
from proxy import Proxy
from session_pool import (
    MessageInfo,
    MessageWithParts,
    Part,
    SessionPoolClient,
    SessionPoolError,
    Todo,
    from_struct,
    new_id,
    text,
    text_of,
    time_of,
)
from sessionpool.v1.message_service_pb2 import SEARCHED_FIELD_TEXT, TruncateMessagesRequest


def test_messages_are_found_by_their_words(client: SessionPoolClient) -> None:
    word = f"maples{new_id()}"
    session = client.create_session(title="Kyoto in autumn")
    for i in range(3):
        client.append(session.session_id, text("user", f"{i} {word} turn red", id=f"m{i}"))
    hits = list(client.search_messages(f'"{word} turn"', page_size=2))
    assert [(hit.session_title, hit.message_id, hit.position) for hit in hits] == [
        ("Kyoto in autumn", f"m{i}", i) for i in (2, 1, 0)
    ]
    assert [hit.field for hit in hits] == [SEARCHED_FIELD_TEXT] * 3
    assert [(hit.part_index, hit.part_type) for hit in hits] == [(0, "text")] * 3
    assert list(client.search_messages(word, labels=["kind=other"])) == []
    assert [hit.message_id for hit in client.search_messages(word, since=hits[1].timestamp)] == ["m2", "m1"]
    assert [hit.message_id for hit in client.search_messages(word, until=hits[1].timestamp)] == ["m0"]
    assert list(client.search_messages(word, role="assistant")) == []
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
    assert client.revert_session(trip.session_id, to_start=True) == 1
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


def test_usage_is_added_up_by_groups(client: SessionPoolClient) -> None:
    run = new_id()
    for team, cost in (("red", "0.1"), ("blue", "0.2"), ("blue", "0.3")):
        trip = client.create_session(labels={"run": run, "a,b": team, 'the "team"': team}).session_id
        message = text("assistant", "Late April")
        message.info.usage.model = "m"
        message.info.usage.cost = cost
        message.info.usage.currency = "EUR"
        client.append(trip, message)
    for names in ('label:"a,b",model', ["label:a,b", "model"], ('label:"a,b"', "model")):
        rows = list(client.sum_usage(group_by=names, labels={"run": run}, page_size=1))
        assert [(row.labels["a,b"], row.model, row.calls) for row in rows] == [("blue", "m", 2), ("red", "m", 1)]
        assert [(cost.currency, cost.amount) for cost in rows[0].costs] == [("EUR", "0.5")]
    rows = list(client.sum_usage(group_by=['label:the "team"'], labels={"run": run}))
    assert [row.labels['the "team"'] for row in rows] == ["blue", "red"]
    with pytest.raises(SessionPoolError) as refused:
        list(client.sum_usage(group_by="days"))
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT


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


def texts(client: SessionPoolClient, session_id: str) -> list[str]:
    return [text_of(message) for message in client.list_messages(session_id)]


def test_a_session_has_labels_and_expires(client: SessionPoolClient) -> None:
    user = new_id()
    soon = datetime.now(timezone.utc) + timedelta(hours=1)
    session = client.create_session(title="Kyoto", labels={"user": user, "kind": "trip"}, expire_time=soon)
    assert (session.labels["user"], time_of(session, "expire_time")) == (user, soon)
    client.append(session.session_id, text("user", "When?"))
    for labels in ({"user": user}, [f"user={user}", "kind=trip"], f"user={user}"):
        assert [found.session_id for found in client.list_sessions(labels=labels)] == [session.session_id]
    assert list(client.list_sessions(labels={"user": user, "kind": "other"})) == []
    (basic,) = client.list_sessions(labels={"user": user})
    (full,) = client.list_sessions(labels={"user": user}, view="full", page_size=1)
    assert (basic.HasField("message_count"), full.message_count, full.last_message.text) == (False, 1, "When?")


@pytest.mark.parametrize("labels", [["user=ada"], "user=ada", {"user": 1}, {1: "ada"}])
def test_labels_that_are_not_texts_are_refused(client: SessionPoolClient, session_id: str, labels: Any) -> None:
    for call in (client.create_session, client.update_session):
        with pytest.raises(TypeError, match="labels"):
            call(session_id, labels=labels)


def test_a_text_with_half_a_character_is_refused(client: SessionPoolClient, session_id: str) -> None:
    with pytest.raises(ValueError, match="text: .*half of a character"):
        text("user", "caf\udce9")
    with client.draft(session_id) as draft:
        draft.write("Late ")
        with pytest.raises(ValueError, match="text: .*half of a character"):
            draft.write("\ud83d")
        draft.write("April")
    assert texts(client, session_id) == ["Late April"]


def test_a_session_changes_only_in_what_is_given(client: SessionPoolClient) -> None:
    soon = datetime.now(timezone.utc) + timedelta(hours=1)
    made = client.create_session(title="Kyoto", labels={"a": "b"}, metadata={"budget": 3}, expire_time=soon)
    renamed = client.update_session(made.session_id, title="Nara", expected_revision=made.revision)
    assert (renamed.title, dict(renamed.labels), from_struct(renamed.metadata)) == ("Nara", {"a": "b"}, {"budget": 3})
    emptied = client.update_session(made.session_id, title="", labels={}, metadata={}, expire_time="never")
    assert (emptied.title, dict(emptied.labels), from_struct(emptied.metadata)) == ("", {}, {})
    assert time_of(emptied, "expire_time") is None
    later = client.update_session(made.session_id, labels={"c": "d"}, metadata={"e": [1]}, expire_time=soon)
    assert (dict(later.labels), from_struct(later.metadata)) == ({"c": "d"}, {"e": [1]})
    assert time_of(later, "expire_time") == soon


def test_a_session_has_an_owner(client: SessionPoolClient) -> None:
    user = new_id()
    owned = client.create_session(owner=user)
    assert owned.owner == user
    client.append(owned.session_id, text("user", user))
    assert [found.session_id for found in client.list_sessions(owner=user)] == [owned.session_id]
    assert owned.session_id not in [found.session_id for found in client.list_sessions(no_owner=True)]
    assert [hit.session_id for hit in client.search_messages(user, owner=user)] == [owned.session_id]
    assert list(client.search_messages(user, no_owner=True)) == []
    assert client.update_session(owned.session_id, title="Kyoto").owner == user
    assert client.update_session(owned.session_id, owner="").owner == ""
    assert [hit.session_id for hit in client.search_messages(user, no_owner=True)] == [owned.session_id]


def test_tickets_need_a_secret_of_the_server(client: SessionPoolClient, session_id: str) -> None:
    with pytest.raises(SessionPoolError) as refused:
        client.create_ticket(session_id, "read", expire_time=datetime.now(timezone.utc) + timedelta(minutes=5))
    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    client.revoke_tickets(session_id)
    with pytest.raises(SessionPoolError) as unknown:
        client.revoke_tickets(new_id())
    assert unknown.value.code() is grpc.StatusCode.NOT_FOUND


def test_a_message_is_updated_and_deleted(client: SessionPoolClient, session_id: str) -> None:
    client.append_all(session_id, [text("user", number, id=number, metadata={"n": 1}) for number in "abc"])
    changed = client.update_message(session_id, "b", parts=[Part(type="text", text="B")])
    assert (text_of(changed), changed.info.role, from_struct(changed.info.metadata)) == ("B", "user", {"n": 1})
    changed = client.update_message(session_id, "b", role="assistant", metadata={})
    assert (text_of(changed), changed.info.role, from_struct(changed.info.metadata)) == ("B", "assistant", {})
    revision = client.get_session(session_id).revision
    for call in (client.delete_message, client.update_message):
        with pytest.raises(SessionPoolError) as refused:
            call(session_id, "b", expected_revision=revision + 1)
        assert refused.value.current_revision == revision
    client.delete_message(session_id, "b", expected_revision=revision)
    assert texts(client, session_id) == ["a", "c"]


def test_removing_everything_must_be_asked_for(client: SessionPoolClient, session_id: str) -> None:
    client.append_all(session_id, [text("user", number, id=number) for number in "abc"])
    for remove in (client.revert_session, client.truncate_messages):
        for arguments in ({}, {"up_to_message_id": "a", "to_start": True}):
            with pytest.raises(SessionPoolError) as refused:
                remove(session_id, **arguments)
            assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    revision = client.get_session(session_id).revision
    assert client.truncate_messages(session_id, up_to_message_id="b", expected_revision=revision) == 1
    assert texts(client, session_id) == ["a", "b"]
    with pytest.raises(SessionPoolError) as conflict:
        client.revert_session(session_id, to_start=True, expected_revision=revision)
    assert conflict.value.current_revision is not None
    with pytest.raises(SessionPoolError) as other:
        client.revert_session(session_id, to_start=True, expected_removed_count=1)
    assert other.value.current_removed_count == 2
    current = conflict.value.current_revision
    assert client.revert_session(session_id, to_start=True, expected_revision=current, expected_removed_count=2) == 2


def test_a_session_is_shared_and_copied(client: SessionPoolClient, session_id: str) -> None:
    client.append_all(session_id, [text("user", number, id=number) for number in "abc"])
    shared = client.share_session(session_id, new_session_id=new_id())
    assert (shared.parent_id, texts(client, shared.session_id)) == (session_id, ["a", "b", "c"])
    target = client.create_session()
    copied = client.copy_messages(
        session_id, target.session_id, up_to_message_id="b", expected_revision=target.revision
    )
    assert (copied.copied_count, copied.fork_point_id) == (2, "b")
    assert texts(client, target.session_id) == ["a", "b"]


def test_a_history_is_listed_between_two_times(client: SessionPoolClient, session_id: str) -> None:
    days = [datetime(2026, 5, day, tzinfo=timezone.utc) for day in range(1, 8)]
    client.append_all(session_id, [text("user", str(day.day), timestamp=day) for day in days])
    between = client.list_messages(session_id, since=days[1], until=days[5], page_size=2)
    assert [(text_of(message), time_of(message.info, "timestamp")) for message in between] == [
        (str(day.day), day) for day in days[1:5]
    ]
    skipped = client.list_messages(session_id, offset=3, page_size=2)
    assert [text_of(message) for message in skipped] == [*"4567"]
    newest = client.load_session(session_id, limit=4)
    older = client.load_session(session_id, limit=4, page_token=newest.next_page_token)
    assert [text_of(message) for message in (*older.messages, *newest.messages)] == [*"1234567"]


def test_todos_are_written(client: SessionPoolClient) -> None:
    stored = client.replace_todos([Todo(id="book", content="Book a room", status="pending"), Todo(content="Pack")])
    assert [todo.content for todo in stored] == ["Book a room", "Pack"]
    added = client.add_todo("Buy tickets", priority="high")
    assert added.id
    changed = client.update_todo("book", status="completed")
    assert (changed.content, changed.status) == ("Book a room", "completed")
    client.remove_todo(stored[1].id)
    assert [todo.content for todo in client.list_todos()] == ["Book a room", "Buy tickets"]
    client.replace_todos([])
    assert client.list_todos() == []


def test_a_message_is_erased_by_an_admin_only(keyed: tuple[str, str]) -> None:
    address, key = keyed
    with SessionPoolClient(address, key=key) as client:
        session_id = client.create_session().session_id
        message_id = client.append(session_id, text("user", "secret")).message_id
        with pytest.raises(SessionPoolError) as refused:
            client.erase_message(session_id, message_id)
    assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED


def test_a_message_is_erased(client: SessionPoolClient, session_id: str) -> None:
    client.append(session_id, text("user", "secret", id="m"))
    assert client.erase_message(session_id, "m") == 1
    assert [part.type for part in client.get_message(session_id, "m").parts] == ["erased"]


def test_the_version_is_that_of_the_package() -> None:
    manifest = (Path(__file__).parent.parent / "pyproject.toml").read_text()
    installed = version("session-pool")
    assert f'\nversion = "{installed}"\n' in manifest
    assert len(new_id()) == 36


def test_importing_the_package_starts_nothing_and_needs_no_framework() -> None:
    code = "import sys, session_pool; print([name for name in ('agents', 'langchain_core', 'claude_agent_sdk') if name in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
