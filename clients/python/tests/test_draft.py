import asyncio
import gc
import threading
import time
from typing import Any

import grpc
import pytest
from proxy import Proxy
from session_pool import AsyncSessionPoolClient, Part, SessionPoolClient, SessionPoolError, from_struct, text, text_of


def kept(client: SessionPoolClient, session_id: str) -> list[tuple[str, dict[str, Any]]]:
    """Returns the text and the metadata of each message, when no draft is open."""
    assert not client.list_drafts(session_id)
    return [(text_of(message), from_struct(message.info.metadata)) for message in client.list_messages(session_id)]


async def shown(client: AsyncSessionPoolClient, session_id: str, text: str) -> None:
    """Waits until the session has an open draft with this text."""
    while text not in [text_of(draft.message) for draft in await client.list_drafts(session_id)]:
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
    assert not client.list_drafts(session_id)


def test_a_stop_button_ends_the_block(
    client: SessionPoolClient, session_id: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(grpc.RpcError) as stopped, client.draft(session_id) as draft:
        client.discard_draft(session_id, draft.message_id)
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
    client.discard_draft(session_id, draft.message_id)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Renews drafts a hundred times a second."""
    for module in ("_sync", "_async"):
        monkeypatch.setattr(f"session_pool.{module}.draft._RENEWAL_SECONDS", 0.01)


def version_of(client: SessionPoolClient, session_id: str) -> int:
    return client.list_drafts(session_id)[0].version


def renewed(client: SessionPoolClient, session_id: str, times: int = 3) -> None:
    """Waits until the open draft has been renewed."""
    begun = version_of(client, session_id)
    while version_of(client, session_id) < begun + times:
        time.sleep(0.01)


def test_a_draft_is_renewed_while_nothing_is_written(
    client: SessionPoolClient, session_id: str, often: None
) -> None:
    with client.draft(session_id) as draft:
        renewed(client, session_id)
        draft.write("Late ")
        renewed(client, session_id)
        for word in ["April"] * 100:
            draft.write(word)
    assert kept(client, session_id) == [("Late " + "April" * 100, {})]


@pytest.mark.asyncio
async def test_a_draft_is_renewed_with_asyncio(
    async_client: AsyncSessionPoolClient, client: SessionPoolClient, session_id: str, often: None
) -> None:
    async with async_client.draft(session_id) as draft:
        await asyncio.to_thread(renewed, client, session_id)
        await asyncio.gather(*(draft.write("April") for _ in range(100)))
        await asyncio.to_thread(renewed, client, session_id)
    assert kept(client, session_id) == [("April" * 100, {})]


def test_writes_of_many_threads_and_renewals_are_all_kept(
    client: SessionPoolClient, session_id: str, often: None
) -> None:
    with client.draft(session_id) as draft:
        writers = [
            threading.Thread(target=lambda: [draft.write("a") for _ in range(20)], daemon=True) for _ in range(8)
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
    assert kept(client, session_id) == [("a" * 160, {})]


@pytest.mark.parametrize("how", ["discard", "finish", "delete"])
def test_an_end_by_another_is_noticed_while_nothing_is_written(
    client: SessionPoolClient, session_id: str, often: None, how: str
) -> None:
    noticed = threading.Event()
    with pytest.raises(SessionPoolError) as ended, client.draft(session_id, on_stop=noticed.set) as draft:
        assert not draft.is_stopped
        if how == "discard":
            client.discard_draft(session_id, draft.message_id)
        elif how == "delete":
            client.delete_session(session_id)
        else:
            finish_now(client, session_id)
        assert noticed.wait(60)
        assert draft.is_stopped
    assert ended.value.code() in (grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.NOT_FOUND)


def finish_now(client: SessionPoolClient, session_id: str) -> None:
    """Finishes the open draft, although its writer renews it meanwhile."""
    (draft,) = client.list_drafts(session_id)
    version = draft.version
    while True:
        try:
            client.finish_draft(session_id, draft.message.info.id, version=version, metadata={"stopped": True})
            return
        except SessionPoolError as error:
            assert error.current_version is not None
            version = error.current_version


@pytest.mark.asyncio
async def test_an_end_by_another_stops_the_task_of_the_block(
    async_client: AsyncSessionPoolClient, client: SessionPoolClient, session_id: str, often: None
) -> None:
    async def answer() -> None:
        task = asyncio.current_task()
        assert task is not None
        async with async_client.draft(session_id, on_stop=task.cancel) as draft:
            await draft.write("Late ")
            await asyncio.Event().wait()

    task = asyncio.create_task(answer())
    await shown(async_client, session_id, "Late ")
    await asyncio.to_thread(finish_now, client, session_id)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 60)
    assert kept(client, session_id) == [("Late ", {"stopped": True})]


def test_its_own_end_is_not_that_of_another(client: SessionPoolClient, session_id: str, often: None) -> None:
    stops: list[None] = []
    for _ in range(20):
        with client.draft(session_id, on_stop=lambda: stops.append(None)) as draft:
            draft.write("a")
        with client.draft(session_id, on_stop=lambda: stops.append(None)) as draft:
            draft.discard()
    assert (client.count_messages(session_id), stops) == (20, [])


def test_a_finish_at_another_position_leaves_the_draft_open(client: SessionPoolClient, session_id: str) -> None:
    with client.draft(session_id) as draft:
        draft.write("Late ")
        with pytest.raises(SessionPoolError) as refused:
            draft.finish(expected_position=7)
        assert refused.value.current_position == 0
        draft.write("April")
    assert kept(client, session_id) == [("Late April", {})]


def test_a_draft_that_is_forgotten_is_not_renewed_for_ever(
    client: SessionPoolClient, session_id: str, often: None
) -> None:
    draft = client.draft(session_id).__enter__()
    renewed(client, session_id)
    del draft
    gc.collect()
    no_renewals()


def no_renewals() -> None:
    """Waits until no thread renews a draft."""
    while [thread for thread in threading.enumerate() if thread.name == "session-pool-draft"]:
        time.sleep(0.01)


def test_a_draft_is_renewed_again_after_the_key_could_not_be_had(
    address: str, client: SessionPoolClient, session_id: str, often: None, caplog: pytest.LogCaptureFixture
) -> None:
    is_broken = False

    def key() -> str:
        if is_broken:
            raise KeyError("no key")
        return "key"

    with SessionPoolClient(address, key=key) as keyed, keyed.draft(session_id):
        is_broken = True
        while not caplog.records:
            time.sleep(0.01)
        is_broken = False
        renewed(client, session_id)
    assert "Could not renew draft" in caplog.text


def test_a_draft_is_renewed_once_after_its_server_could_not_be_reached(
    client: SessionPoolClient, proxy: Proxy, session_id: str, often: None
) -> None:
    with SessionPoolClient(proxy.address, retry_for=0, timeout=0.05) as far, far.draft(session_id) as draft:
        proxy.hold_answers()
        begun = version_of(client, session_id)
        while not draft._unanswered or draft._senders:
            time.sleep(0.01)
        for _ in range(20):
            draft._renew()
        assert len(draft._unanswered) == 1
        proxy.release_answers()
        while version_of(client, session_id) < begun + 3:
            time.sleep(0.01)
        far._timeout = 30.0
        draft.write("Late ")
    assert kept(client, session_id) == [("Late ", {})]


def test_a_closed_client_renews_nothing(address: str, session_id: str, often: None) -> None:
    with SessionPoolClient(address) as closed:
        draft = closed.draft(session_id).__enter__()
    no_renewals()
    assert not draft.is_stopped


def test_several_large_drafts_are_listed_together(client: SessionPoolClient, session_id: str) -> None:
    with client.draft(session_id) as one, client.draft(session_id) as two:
        for draft in (one, two):
            draft.write("x" * 2_500_000)
        assert [len(text_of(draft.message)) for draft in client.list_drafts(session_id)] == [2_500_000] * 2
        assert len(client.load_session(session_id).drafts) == 2
