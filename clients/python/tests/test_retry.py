"""Calls a server that is too busy at first. It runs in the process of the test."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from session_pool import AsyncSessionPoolClient, SessionPoolClient
from session_pool.retry import Patience
from sessionpool.v1.session_service_pb2 import GetSessionRequest, Session
from sessionpool.v1.session_service_pb2_grpc import SessionServiceServicer, add_SessionServiceServicer_to_server


class BusyServer(SessionServiceServicer):
    """Refuses the first two calls, and answers those that follow."""

    calls = 0
    trailers: tuple[tuple[str, str], ...] = ()
    code = grpc.StatusCode.RESOURCE_EXHAUSTED

    def GetSession(self, request: GetSessionRequest, context: grpc.ServicerContext) -> Session:
        self.calls += 1
        if self.calls <= 2:
            context.set_trailing_metadata(self.trailers)
            context.abort(self.code, "Too many calls")
        return Session(session_id=request.session_id)


@pytest.fixture
def busy() -> Iterator[tuple[BusyServer, str]]:
    server = grpc.server(ThreadPoolExecutor(1))
    servicer = BusyServer()
    add_SessionServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield servicer, f"127.0.0.1:{port}"
    server.stop(None)


def test_a_call_that_a_busy_server_refuses_for_a_time_is_repeated(busy: tuple[BusyServer, str]) -> None:
    server, address = busy
    server.trailers = (("retry-after", "0"),)
    with SessionPoolClient(address) as client:
        assert client.get_session("trip").session_id == "trip"
    assert server.calls == 3


@pytest.mark.asyncio
async def test_a_call_that_a_busy_server_refuses_for_a_time_is_repeated_with_asyncio(
    busy: tuple[BusyServer, str],
) -> None:
    server, address = busy
    server.trailers = (("other", "1"), ("retry-after", "0"))
    async with AsyncSessionPoolClient(address) as client:
        assert (await client.get_session("trip")).session_id == "trip"
    assert server.calls == 3


@pytest.mark.parametrize(("retry_after", "retry_for"), [(None, 10.0), ("60", 10.0), ("0", 0.0)])
def test_it_is_not_repeated_without_a_time_or_after_the_time_for_all_attempts(
    busy: tuple[BusyServer, str], retry_after: str | None, retry_for: float
) -> None:
    server, address = busy
    if retry_after is not None:
        server.trailers = (("retry-after", retry_after),)
    with SessionPoolClient(address, retry_for=retry_for) as client, pytest.raises(grpc.RpcError) as refused:
        client.get_session("trip")
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert server.calls == 1


def test_another_code_is_not_repeated_because_of_the_time(busy: tuple[BusyServer, str]) -> None:
    server, address = busy
    server.code = grpc.StatusCode.PERMISSION_DENIED
    server.trailers = (("retry-after", "0"),)
    with SessionPoolClient(address) as client, pytest.raises(grpc.RpcError):
        client.get_session("trip")
    assert server.calls == 1


class Refused(grpc.RpcError):
    def __init__(self, code: grpc.StatusCode, retry_after: str) -> None:
        self._code = code
        self._retry_after = retry_after

    def code(self) -> grpc.StatusCode:
        return self._code

    def trailing_metadata(self) -> Any:
        return (("retry-after", self._retry_after),)


@pytest.mark.parametrize("code", [grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE])
@pytest.mark.parametrize("stream", [True, False])
def test_the_pause_is_as_long_as_the_server_asks_for(code: grpc.StatusCode, stream: bool) -> None:
    assert Patience(10.0).pause_after(Refused(code, "7"), stream=stream) == 7
    for unclear in ("soon", "nan", "inf", "-1"):
        assert 0.05 <= Patience(10.0).pause_after(Refused(code, unclear), stream=stream) <= 0.1
