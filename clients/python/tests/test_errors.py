import pickle

import grpc
import pytest
from google.protobuf.any_pb2 import Any
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from session_pool import AsyncSessionPoolClient, SessionPoolClient, SessionPoolError, text
from sessionpool.v1.message_service_pb2 import AppendMessageRequest


def test_an_error_says_what_is_current(client: SessionPoolClient, session_id: str) -> None:
    client.append(session_id, text("user", "one"))
    with pytest.raises(SessionPoolError) as position:
        client.append(session_id, text("user", "two"), expected_position=0)
    assert position.value.code() is grpc.StatusCode.ABORTED
    assert (position.value.current_position, position.value.current_revision) == (1, None)
    revision = client.get_session(session_id).revision
    with pytest.raises(SessionPoolError) as conflict:
        client.update_session(session_id, title="Kyoto", expected_revision=revision + 1)
    assert conflict.value.current_revision == revision
    with client.draft(session_id) as draft:
        with pytest.raises(SessionPoolError) as version:
            client.finish_draft(session_id, draft.message_id, version=99)
        assert version.value.current_version == 1


@pytest.mark.asyncio
async def test_an_error_says_what_is_current_with_asyncio(async_client: AsyncSessionPoolClient) -> None:
    session = await async_client.create_session()
    with pytest.raises(SessionPoolError) as refused:
        await async_client.append(session.session_id, text("user", "two"), expected_position=3)
    assert refused.value.current_position == 0
    assert refused.value.request_id
    with pytest.raises(grpc.aio.AioRpcError):
        await async_client.get_session("nowhere")


def test_every_call_raises_it_as_an_error_of_grpc(client: SessionPoolClient) -> None:
    for call in (
        lambda: client.get_session("nowhere"),
        lambda: client.delete_session("nowhere"),
        lambda: list(client.list_messages("nowhere")),
        lambda: next(client.watch("nowhere")),
        lambda: next(client.watch("nowhere", from_position=0)),
        lambda: client.draft("nowhere").__enter__(),
    ):
        try:
            call()
        except grpc.RpcError as error:
            assert isinstance(error, SessionPoolError)
            assert error.code() is grpc.StatusCode.NOT_FOUND
            assert str(error) == 'NOT_FOUND: Session "nowhere" not found'
            assert error.request_id
        else:
            pytest.fail("nothing was raised")


def test_an_error_of_a_stub_can_be_read_too(client: SessionPoolClient, session_id: str) -> None:
    request = AppendMessageRequest(session_id=session_id, message=text("user", "one"), expected_position=5)
    with pytest.raises(grpc.RpcError) as refused:
        client.messages.AppendMessage(request)
    error = SessionPoolError.of(refused.value)
    assert error.current_position == 0
    assert SessionPoolError.of(error) is error


def test_an_error_can_be_sent_to_another_process() -> None:
    error = SessionPoolError(grpc.StatusCode.NOT_FOUND, details="gone")
    assert str(pickle.loads(pickle.dumps(error))) == "NOT_FOUND: gone"


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"\xff\xff",
        Status(details=[Any(type_url="type.googleapis.com/google.rpc.ErrorInfo", value=b"\xff")]).SerializeToString(),
        Status(details=[Any(type_url="type.googleapis.com/google.rpc.Unknown")]).SerializeToString(),
    ],
)
def test_details_that_are_malformed_or_unknown_say_nothing(packed: bytes) -> None:
    metadata = grpc.aio.Metadata(("grpc-status-details-bin", packed))
    assert SessionPoolError(grpc.StatusCode.ABORTED, None, metadata).current_position is None


def test_the_details_of_another_service_say_nothing() -> None:
    for domain, number, expected in (("other", "7", None), ("sessionpool.v1", "x", None), ("sessionpool.v1", "7", 7)):
        detail = Any()
        detail.Pack(ErrorInfo(domain=domain, metadata={"current_position": number}))
        metadata = grpc.aio.Metadata(("grpc-status-details-bin", Status(details=[detail]).SerializeToString()))
        assert SessionPoolError(grpc.StatusCode.ABORTED, None, metadata).current_position == expected
