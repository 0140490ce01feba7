import grpc
import pytest
from proxy import Proxy
from session_pool import AsyncSessionPoolClient, Part, SessionPoolClient, from_struct, text, text_of
from sessionpool.v1.message_service_pb2 import DiscardDraftRequest, ListDraftsRequest


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


def test_a_stop_button_ends_the_block(client: SessionPoolClient, session_id: str) -> None:
    with pytest.raises(grpc.RpcError) as stopped, client.draft(session_id) as draft:
        client.messages.DiscardDraft(DiscardDraftRequest(session_id=session_id, message_id=draft.message_id))
        draft.write("Late ")
    assert stopped.value.code() is grpc.StatusCode.FAILED_PRECONDITION  # type: ignore[attr-defined]


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
