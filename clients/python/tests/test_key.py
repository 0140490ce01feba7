"""Keys that are renewed, against a server in the process of the test that lets each key open one call."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from session_pool import AsyncSessionPoolClient, SessionPoolClient, SessionPoolError, text
from sessionpool.v1.message_service_pb2 import CountMessagesRequest, CountMessagesResponse
from sessionpool.v1.message_service_pb2 import WatchMessagesRequest, WatchMessagesResponse
from sessionpool.v1.message_service_pb2_grpc import MessageServiceServicer, add_MessageServiceServicer_to_server


class StrictServer(MessageServiceServicer):
    """Ends each watch after one event, because its key has expired, and takes no key twice."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    def _check(self, context: grpc.ServicerContext) -> None:
        key = dict(context.invocation_metadata()).get("authorization")
        if key in self.seen:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "The key has expired")
        self.seen.append(key)

    def CountMessages(self, request: CountMessagesRequest, context: grpc.ServicerContext) -> CountMessagesResponse:
        self._check(context)
        return CountMessagesResponse(count=len(self.seen))

    def WatchMessages(
        self, request: WatchMessagesRequest, context: grpc.ServicerContext
    ) -> Iterator[WatchMessagesResponse]:
        self._check(context)
        number = len(self.seen)
        yield WatchMessagesResponse(appended=text("user", str(number)), resume_token=str(number))
        context.abort(grpc.StatusCode.UNAUTHENTICATED, "The key has expired")


@pytest.fixture
def strict() -> Iterator[tuple[StrictServer, str]]:
    server = grpc.server(ThreadPoolExecutor(4))
    servicer = StrictServer()
    add_MessageServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield servicer, f"127.0.0.1:{port}"
    server.stop(None)


class Keys:
    """Makes a new key for each call, up to a number."""

    def __init__(self, most: int = 100) -> None:
        self._made = 0
        self._most = most

    def __call__(self) -> str:
        self._made = min(self._made + 1, self._most)
        return f"key-{self._made}"

    async def later(self) -> str:
        return self()


def test_a_function_is_asked_before_each_call(strict: tuple[StrictServer, str]) -> None:
    server, address = strict
    with SessionPoolClient(address, key=Keys()) as client:
        assert [client.count_messages("trip") for _ in range(3)] == [1, 2, 3]
    assert server.seen == ["Bearer key-1", "Bearer key-2", "Bearer key-3"]


def test_a_watch_goes_on_with_a_new_key_and_ends_when_it_is_refused(strict: tuple[StrictServer, str]) -> None:
    _, address = strict
    seen = []
    with SessionPoolClient(address, key=Keys(3)) as client, pytest.raises(SessionPoolError) as ended:
        for event in client.watch("trip", from_position=0):
            seen.append(event.resume_token)
    assert seen == ["1", "2", "3"]
    assert ended.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_a_watch_with_a_fixed_key_ends_with_it(strict: tuple[StrictServer, str]) -> None:
    _, address = strict
    with SessionPoolClient(address, key="fixed") as client:
        events = client.watch("trip", from_position=0)
        next(events)
        with pytest.raises(SessionPoolError):
            next(events)


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", ["function", "async function"])
async def test_a_function_is_asked_with_asyncio(strict: tuple[StrictServer, str], kind: str) -> None:
    server, address = strict
    keys = Keys()
    async with AsyncSessionPoolClient(address, key=keys if kind == "function" else keys.later) as client:
        assert [await client.count_messages("trip") for _ in range(2)] == [1, 2]
        async for _ in client.watch("trip", from_position=0):
            if len(server.seen) == 4:
                break
    assert server.seen == [f"Bearer key-{number}" for number in (1, 2, 3, 4)]


class NoKey(Exception):
    pass


def no_key() -> str:
    raise NoKey


async def no_key_later() -> str:
    raise NoKey


@pytest.mark.asyncio
async def test_what_the_function_raises_is_raised_by_the_call(address: str) -> None:
    with SessionPoolClient(address, key=no_key) as client:
        with pytest.raises(NoKey):
            client.get_session("trip")
        with pytest.raises(NoKey):
            next(client.watch("trip", from_position=0))
    for function in (no_key, no_key_later):
        async with AsyncSessionPoolClient(address, key=function) as far:
            with pytest.raises(NoKey):
                await far.get_session("trip")
            with pytest.raises(NoKey):
                await anext(far.watch("trip", from_position=0))


@pytest.mark.parametrize("key", ["", "sp_1\n", "two words", "schlüssel"])
def test_a_key_that_no_header_can_hold_is_refused(address: str, key: str) -> None:
    for client in (SessionPoolClient, AsyncSessionPoolClient):
        with pytest.raises(ValueError, match="visible ASCII"):
            client(address, key=key)
    with SessionPoolClient(address, key=lambda: key) as lazy, pytest.raises(ValueError, match="visible ASCII"):
        lazy.get_session("trip")
