import threading

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from proxy import Proxy
from session_pool import (
    AsyncSessionPoolClient,
    SessionPoolClient,
    SessionPoolError,
    WatchMessagesResponse,
    text,
    text_of,
)
from sessionpool.v1.message_service_pb2 import (
    Draft,
    DraftEnded,
    DraftExtended,
    Heartbeat,
    ListDraftsRequest,
    ListDraftsResponse,
    MessageInfo,
    MessageWithParts,
    StartDraftRequest,
    TruncateMessagesRequest,
    WatchMessagesRequest,
)


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


def open_draft(client: SessionPoolClient, session_id: str, id: str) -> None:
    message = text("assistant", "Late ")
    message.info.id = id
    client.messages.StartDraft(StartDraftRequest(session_id=session_id, message=message))


def ended(event: WatchMessagesResponse) -> tuple[str, bool]:
    assert event.WhichOneof("event") == "draft_ended"
    return event.draft_ended.message_id, event.draft_ended.finished


def test_tells_the_ends_of_drafts_that_end_while_the_connection_is_broken(
    client: SessionPoolClient, proxy: Proxy, session_id: str
) -> None:
    for id in ("discarded", "finished", "open"):
        open_draft(client, session_id, id)
    with SessionPoolClient(proxy.address) as far:
        events = far.watch(session_id, from_position=0)
        assert [next(events).draft.message.info.id for _ in range(3)] == ["discarded", "finished", "open"]
        proxy.cut()
        client.append(session_id, text("user", "before"))
        client.finish_draft(session_id, "finished", version=1)
        client.discard_draft(session_id, "discarded")
        assert ended(next(events)) == ("discarded", False)
        assert [told(next(events)) for _ in range(2)] == ["before", "Late "]
        end = next(events)
        assert ended(end) == ("finished", True)
        assert next(events).draft.message.info.id == "open"
        proxy.cut()
        assert next(events).draft.message.info.id == "open"
        client.discard_draft(session_id, "open")
        assert ended(next(events)) == ("open", False)
        client.append(session_id, text("user", "after"))
        assert told(next(events)) == "after"
    assert told(next(client.watch(session_id, resume_token=end.resume_token))) == "after"


@pytest.mark.asyncio
async def test_tells_the_ends_of_drafts_after_a_broken_connection_with_asyncio(
    client: SessionPoolClient, proxy: Proxy, session_id: str
) -> None:
    open_draft(client, session_id, "a")
    async with AsyncSessionPoolClient(proxy.address) as far:
        seen = []
        async for event in far.watch(session_id, from_position=0):
            seen.append(told(event))
            if len(seen) == 2:
                break
            proxy.cut()
            client.discard_draft(session_id, "a")
    assert seen == ["draft", "draft_ended"]


class Connection:
    """A stream of these events, which breaks after them."""

    def __init__(self, *events: WatchMessagesResponse) -> None:
        self._events = iter(events)

    def cancel(self) -> None:
        pass

    def __iter__(self) -> "Connection":
        return self

    def __next__(self) -> WatchMessagesResponse:
        for event in self._events:
            return event
        raise BrokenConnection()


def draft_event(started: int) -> WatchMessagesResponse:
    draft = Draft(message=MessageWithParts(info=MessageInfo(id="a")), start_time=Timestamp(seconds=started))
    return WatchMessagesResponse(draft=draft, resume_token="t")


EXTENDED = WatchMessagesResponse(draft_extended=DraftExtended(message_id="b"), resume_token="t")
HEARTBEAT = WatchMessagesResponse(heartbeat=Heartbeat(), resume_token="t")
ENDED = WatchMessagesResponse(draft_ended=DraftEnded(message_id="a"), resume_token="t")
FINISHED = WatchMessagesResponse(draft_ended=DraftEnded(message_id="a", finished=True), resume_token="t")
APPENDED = WatchMessagesResponse(appended=MessageWithParts(info=MessageInfo(id="a")), resume_token="t")


@pytest.mark.parametrize(
    ("first", "listed", "second", "seen"),
    [
        # It ends between the list and the resume.
        ([draft_event(1)], 1, [EXTENDED, EXTENDED], [draft_event(1), ENDED, EXTENDED, EXTENDED]),
        ([draft_event(1)], 1, [HEARTBEAT], [draft_event(1), ENDED]),
        ([draft_event(1)], 1, [APPENDED, HEARTBEAT], [draft_event(1), APPENDED, FINISHED]),
        # Its id is used again, before and after the list.
        ([draft_event(1)], 2, [draft_event(2), HEARTBEAT], [draft_event(1), ENDED, draft_event(2)]),
        ([draft_event(1)], 1, [draft_event(2), HEARTBEAT], [draft_event(1), ENDED, draft_event(2)]),
        # Its message was told, and not its end.
        ([draft_event(1), APPENDED], None, [HEARTBEAT], [draft_event(1), APPENDED, FINISHED]),
        # Its end was told.
        ([draft_event(1), ENDED], None, [HEARTBEAT, EXTENDED], [draft_event(1), ENDED, EXTENDED]),
        ([draft_event(1)], 1, [draft_event(1), ENDED, HEARTBEAT], [draft_event(1), draft_event(1), ENDED]),
    ],
)
def test_tells_each_end_of_a_draft_once(
    client: SessionPoolClient,
    session_id: str,
    monkeypatch: pytest.MonkeyPatch,
    first: list[WatchMessagesResponse],
    listed: int | None,
    second: list[WatchMessagesResponse],
    seen: list[WatchMessagesResponse],
) -> None:
    gone = SessionPoolError(grpc.StatusCode.NOT_FOUND, details="gone")
    connections = iter([Connection(*first), Connection(*second)])
    drafts = [draft_event(listed).draft] if listed else []
    lists = iter([BrokenConnection(), ListDraftsResponse(drafts=drafts)])

    def list_drafts(_request: ListDraftsRequest, timeout: float) -> ListDraftsResponse:
        answer = next(lists, gone)
        if isinstance(answer, grpc.RpcError):
            raise answer
        return answer

    def watch(_request: WatchMessagesRequest) -> Connection:
        connection = next(connections, None)
        if connection is None:
            raise gone
        return connection

    monkeypatch.setattr(client.messages, "WatchMessages", watch)
    monkeypatch.setattr(client.messages, "ListDrafts", list_drafts)
    events = []
    with pytest.raises(SessionPoolError):
        for event in client.watch(session_id, from_position=0):
            events.append(event)
    assert events == seen


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
