import asyncio
from typing import Any

import grpc
import pytest
from proxy import Proxy
from session_pool import AsyncSessionPoolClient, Part, SessionPoolClient, from_struct, text, text_of
from sessionpool.v1.message_service_pb2 import DiscardDraftRequest, ListDraftsRequest


def kept(client: SessionPoolClient, session_id: str) -> list[tuple[str, dict[str, Any]]]:
    """Returns the text and the metadata of each message, when no draft is open."""
    assert not client.messages.ListDrafts(ListDraftsRequest(session_id=session_id)).drafts
    return [(text_of(message), from_struct(message.info.metadata)) for message in client.list_messages(session_id)]


async def shown(client: AsyncSessionPoolClient, session_id: str, text: str) -> None:
    """Waits until the session has an open draft with this text."""
    request = ListDraftsRequest(session_id=session_id)
    while text not in [text_of(draft.message) for draft in (await client.messages.ListDrafts(request)).drafts]:
        await asyncio.sleep(0.01)


async def appended(client: AsyncSessionPoolClient, session_id: str) -> None:
    """Waits until the session has a message."""
    while not await client.count_messages(session_id):
        await asyncio.sleep(0.01)


def interrupt_next(client: SessionPoolClient, name: str, monkeypatch: pytest.MonkeyPatch, *, is_sent: bool) -> None:
    """Interrupts the next call of this RPC, either before it is sent or before its answer comes."""
    call = getattr(client.messages, name)

    def interrupt(request: object, timeout: float) -> None:
        monkeypatch.setattr(client.messages, name, call)
        if is_sent:
            call(request, timeout=timeout)
        raise KeyboardInterrupt

    monkeypatch.setattr(client.messages, name, interrupt)


def test_a_watcher_sees_a_draft_grow_and_become_a_message(client: SessionPoolClient, session_id: str) -> None:
    events = client.watch(session_id, from_position=0)
    with client.draft(session_id) as draft:
        assert next(events).draft.message.info.id == draft.message_id
        draft.write("Late ")
        assert next(events).WhichOneof("event") == "draft_extended"
        draft.write("")
        draft.write("April")
        draft.put(Part(id="call", type="tool_call"))
        assert client.count_messages(session_id) == 0
    assert draft.position == 0
    message = client.get_message(session_id, draft.message_id)
    assert (text_of(message), [part.type for part in message.parts]) == ("Late April", ["text", "tool_call"])


def test_what_was_written_is_kept_when_the_block_raises(client: SessionPoolClient, session_id: str) -> None:
    with pytest.raises(KeyError), client.draft(session_id, text("assistant", "Late ")) as draft:
        raise KeyError
    message = client.get_message(session_id, draft.message_id)
    assert (text_of(message), from_struct(message.info.metadata)) == ("Late ", {"interrupted": True})


def test_what_was_written_is_discarded_if_the_caller_wants_it(client: SessionPoolClient, session_id: str) -> None:
    with pytest.raises(KeyError), client.draft(session_id, discard_when_abandoned=True) as draft:
        draft.write("Late ")
        raise KeyError
    assert client.count_messages(session_id) == 0
    assert not client.messages.ListDrafts(ListDraftsRequest(session_id=session_id)).drafts


def test_a_stop_button_ends_the_block(
    client: SessionPoolClient, session_id: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(grpc.RpcError) as stopped, client.draft(session_id) as draft:
        client.messages.DiscardDraft(DiscardDraftRequest(session_id=session_id, message_id=draft.message_id))
        draft.write("Late ")
    assert stopped.value.code() is grpc.StatusCode.FAILED_PRECONDITION  # type: ignore[attr-defined]
    assert not caplog.records


def test_a_draft_that_was_finished_or_discarded_in_the_block_is_left_alone(
    client: SessionPoolClient, session_id: str
) -> None:
    with client.draft(session_id) as draft:
        draft.write("Late April")
        assert draft.finish(metadata={"tokens": 3}) == 0
    assert from_struct(client.get_message(session_id, draft.message_id).info.metadata) == {"tokens": 3}
    with client.draft(session_id) as dropped:
        dropped.discard()
    assert client.count_messages(session_id) == 1


@pytest.mark.asyncio
async def test_continues_after_broken_connections_with_asyncio(
    async_client: AsyncSessionPoolClient, proxy: Proxy
) -> None:
    session = await async_client.create_session()
    async with AsyncSessionPoolClient(proxy.address) as far:
        async with far.draft(session.session_id) as draft:
            for word in "one two three".split():
                proxy.cut()
                await draft.write(f"{word} ")
    assert text_of(await async_client.get_message(session.session_id, draft.message_id)) == "one two three "


@pytest.mark.asyncio
async def test_blocks_that_are_cancelled_during_a_write_keep_their_text(
    async_client: AsyncSessionPoolClient, client: SessionPoolClient, proxy: Proxy, session_id: str
) -> None:
    async def answer(far: AsyncSessionPoolClient) -> None:
        async with far.draft(session_id) as draft:
            await draft.write("Late ")
            proxy.hold_answers()
            try:
                await draft.write("April")
            finally:
                proxy.release_answers()

    async with AsyncSessionPoolClient(proxy.address) as far:
        # They are more than the drafts that may be open at the same time.
        for _ in range(20):
            task = asyncio.create_task(answer(far))
            await shown(async_client, session_id, "Late April")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
    assert kept(client, session_id) == [("Late April", {"interrupted": True})] * 20


@pytest.mark.asyncio
async def test_a_write_that_was_cancelled_counts_once(
    async_client: AsyncSessionPoolClient, client: SessionPoolClient, proxy: Proxy, session_id: str
) -> None:
    async with AsyncSessionPoolClient(proxy.address) as far, far.draft(session_id) as draft:
        await draft.write("Late ")
        proxy.hold_answers()
        task = asyncio.create_task(draft.write("April "))
        await shown(async_client, session_id, "Late April ")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        proxy.release_answers()
        await draft.write("to May")
    assert kept(client, session_id) == [("Late April to May", {})]


@pytest.mark.asyncio
async def test_a_draft_is_ended_even_when_its_block_is_cancelled_twice(
    async_client: AsyncSessionPoolClient, client: SessionPoolClient, proxy: Proxy, session_id: str
) -> None:
    is_stopped = asyncio.Event()

    async def answer(far: AsyncSessionPoolClient) -> None:
        async with far.draft(session_id) as draft:
            await draft.write("Late ")
            proxy.hold_answers()
            try:
                await draft.write("April")
            finally:
                is_stopped.set()

    async with AsyncSessionPoolClient(proxy.address) as far:
        task = asyncio.create_task(answer(far))
        await shown(async_client, session_id, "Late April")
        task.cancel()
        await is_stopped.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        proxy.release_answers()
        await asyncio.wait_for(appended(async_client, session_id), 60)
    assert kept(client, session_id) == [("Late April", {"interrupted": True})]


@pytest.mark.asyncio
async def test_a_draft_whose_start_is_cancelled_is_discarded(
    async_client: AsyncSessionPoolClient, client: SessionPoolClient, proxy: Proxy, session_id: str
) -> None:
    async with AsyncSessionPoolClient(proxy.address) as far:
        await far.count_messages(session_id)
        proxy.hold_answers()
        task = asyncio.create_task(far.draft(session_id, text("assistant", "Late ")).__aenter__())
        await shown(async_client, session_id, "Late ")
        task.cancel()
        proxy.release_answers()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert kept(client, session_id) == []


@pytest.mark.parametrize("is_sent", [True, False])
def test_what_was_written_is_kept_when_a_write_is_interrupted(
    client: SessionPoolClient, session_id: str, monkeypatch: pytest.MonkeyPatch, is_sent: bool
) -> None:
    with pytest.raises(KeyboardInterrupt), client.draft(session_id) as draft:
        draft.write("Late ")
        interrupt_next(client, "ExtendDraft", monkeypatch, is_sent=is_sent)
        draft.write("April")
    assert kept(client, session_id) == [("Late April", {"interrupted": True})]


def test_an_interrupted_write_that_is_refused_later_is_left_out(
    client: SessionPoolClient, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeyboardInterrupt), client.draft(session_id) as draft:
        draft.write("Late April")
        interrupt_next(client, "ExtendDraft", monkeypatch, is_sent=False)
        draft.put(Part(type=""))
    assert kept(client, session_id) == [("Late April", {"interrupted": True})]


def test_a_write_that_is_refused_does_not_count(client: SessionPoolClient, session_id: str) -> None:
    with client.draft(session_id) as draft:
        draft.write("Late ")
        for part in (Part(type=""), Part(type="text", text="x" * 9_000_000)):
            with pytest.raises(grpc.RpcError):
                draft.put(part)
        draft.write("April")
    assert kept(client, session_id) == [("Late April", {})]


@pytest.mark.parametrize("is_sent", [True, False])
def test_an_interrupted_start_finish_or_discard_leaves_no_open_draft(
    client: SessionPoolClient, session_id: str, monkeypatch: pytest.MonkeyPatch, is_sent: bool
) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt_next(client, "StartDraft", monkeypatch, is_sent=is_sent)
        with client.draft(session_id):
            pass
    with pytest.raises(KeyboardInterrupt), client.draft(session_id) as draft:
        interrupt_next(client, "DiscardDraft", monkeypatch, is_sent=is_sent)
        draft.discard()
    assert kept(client, session_id) == []
    with pytest.raises(KeyboardInterrupt), client.draft(session_id) as draft:
        interrupt_next(client, "FinishDraft", monkeypatch, is_sent=is_sent)
        draft.finish(metadata={"tokens": 3})
    with pytest.raises(KeyboardInterrupt), client.draft(session_id):
        interrupt_next(client, "FinishDraft", monkeypatch, is_sent=is_sent)
    assert kept(client, session_id) == [("", {"tokens": 3}), ("", {})]


def test_a_draft_that_cannot_be_ended_is_logged_and_the_error_of_the_block_is_raised(
    client: SessionPoolClient, proxy: Proxy, session_id: str, caplog: pytest.LogCaptureFixture
) -> None:
    with SessionPoolClient(proxy.address, retry_for=0.2) as far:
        with pytest.raises(KeyError), far.draft(session_id) as draft:
            proxy.close()
            raise KeyError
    assert [(one.name, one.levelname) for one in caplog.records] == [("session_pool", "WARNING")]
    assert draft.message_id in caplog.text
    client.messages.DiscardDraft(DiscardDraftRequest(session_id=session_id, message_id=draft.message_id))
