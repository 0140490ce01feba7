import threading

import grpc
import pytest
from proxy import Proxy
from session_pool import AsyncSessionPoolClient, SessionPoolClient, WatchMessagesResponse, text, text_of
from sessionpool.v1.message_service_pb2 import TruncateMessagesRequest, WatchMessagesRequest


def told(event: WatchMessagesResponse) -> str:
    kind = event.WhichOneof("event")
    return text_of(event.appended) if kind == "appended" else str(kind)


def test_reports_existing_and_new_messages_and_truncations(client: SessionPoolClient, session_id: str) -> None:
    client.append_all(session_id, [text("user", "one"), text("assistant", "two")])
    events = client.watch(session_id, from_position=1)
    assert told(next(events)) == "two"
    client.append(session_id, text("user", "three"))
    assert told(next(events)) == "three"
    client.messages.TruncateMessages(TruncateMessagesRequest(session_id=session_id, to_start=True))
    assert told(next(events)) == "truncated"


def test_continues_after_a_broken_connection_without_missing_or_repeating_anything(
    client: SessionPoolClient, proxy: Proxy, session_id: str
) -> None:
    with SessionPoolClient(proxy.address) as far:
        events = far.watch(session_id, from_position=0)
        seen = []
        for number in range(5):
            client.append_all(session_id, [text("user", f"{number}.{half}") for half in (0, 1)])
            seen.append(told(next(events)))
            proxy.cut()
            seen.append(told(next(events)))
    assert seen == [f"{number}.{half}" for number in range(5) for half in (0, 1)]


class BrokenConnection(grpc.RpcError):
    """A stream that breaks before its first event."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def cancel(self) -> None:
        pass

    def __iter__(self) -> "BrokenConnection":
        return self

    def __next__(self) -> None:
        raise self


def test_misses_nothing_when_the_connection_breaks_before_the_first_event(
    client: SessionPoolClient, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.append(session_id, text("user", "before"))
    watch = client.messages.WatchMessages

    def break_once(request: object) -> BrokenConnection:
        monkeypatch.setattr(client.messages, "WatchMessages", watch)
        client.append(session_id, text("user", "meanwhile"))
        return BrokenConnection()

    monkeypatch.setattr(client.messages, "WatchMessages", break_once)
    assert told(next(client.watch(session_id))) == "meanwhile"


def test_begins_now_when_messages_are_removed_before_it_begins(
    client: SessionPoolClient, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.append(session_id, text("user", "before"))
    watch = client.messages.WatchMessages
    begun = threading.Event()

    def remove_first(request: WatchMessagesRequest) -> object:
        if request.HasField("from_position"):
            client.revert_session(session_id, to_start=True)
        else:
            begun.set()
        return watch(request)

    monkeypatch.setattr(client.messages, "WatchMessages", remove_first)
    seen: list[str] = []
    watcher = threading.Thread(target=lambda: seen.append(told(next(client.watch(session_id)))))
    watcher.start()
    begun.wait()
    while watcher.is_alive():
        client.append(session_id, text("user", "after"))
        watcher.join(timeout=0.1)
    assert seen == ["after"]


def test_ends_when_the_session_is_deleted(client: SessionPoolClient, session_id: str) -> None:
    client.append(session_id, text("user", "one"))
    events = client.watch(session_id, from_position=0)
    next(events)
    client.delete_session(session_id)
    with pytest.raises(grpc.RpcError) as ended:
        next(events)
    assert ended.value.code() is grpc.StatusCode.NOT_FOUND  # type: ignore[attr-defined]


def test_gives_up_on_a_server_that_stays_unreachable(client: SessionPoolClient, proxy: Proxy, session_id: str) -> None:
    client.append(session_id, text("user", "one"))
    with SessionPoolClient(proxy.address, retry_for=0.2) as far:
        events = far.watch(session_id, from_position=0)
        next(events)
        proxy.close()
        with pytest.raises(grpc.RpcError) as ended:
            next(events)
    assert ended.value.code() is grpc.StatusCode.UNAVAILABLE  # type: ignore[attr-defined]


@pytest.mark.asyncio
async def test_continues_after_a_broken_connection_with_asyncio(
    async_client: AsyncSessionPoolClient, proxy: Proxy
) -> None:
    session = await async_client.create_session(title="asyncio")
    await async_client.append(session.session_id, text("user", "one"))
    async with AsyncSessionPoolClient(proxy.address) as far:
        seen = []
        async for event in far.watch(session.session_id, from_position=0):
            seen.append(told(event))
            if len(seen) == 3:
                break
            proxy.cut()
            await async_client.append(session.session_id, text("user", f"after {seen[-1]}"))
    assert seen == ["one", "after one", "after after one"]
    assert [text_of(message) async for message in async_client.list_messages(session.session_id, page_size=2)] == seen


@pytest.mark.asyncio
async def test_sends_the_key_with_asyncio_too(keyed: tuple[str, str]) -> None:
    address, key = keyed
    async with AsyncSessionPoolClient(address, key=key) as client:
        session = await client.create_session()
        await client.append(session.session_id, text("user", "hello"))
        async for event in client.watch(session.session_id, from_position=0):
            assert told(event) == "hello"
            break
