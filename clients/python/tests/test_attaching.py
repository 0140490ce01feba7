"""How the adapters upload and download. The clients here are none, but count what is asked of them."""

import asyncio
import threading
import time
from typing import Any

import grpc
import pytest

from session_pool import MessageInfo, MessageWithParts, Part, SessionPoolError
from session_pool.adapters.attached import attached
from session_pool.adapters.attaching import attach, attach_sync, restore, restore_sync
from session_pool.adapters.fitted import fitted

MESSAGES = [
    MessageWithParts(info=MessageInfo(id=f"m{n}"), parts=[Part(type="text", text=f"{n % 20} ".ljust(300_000, "x"))])
    for n in range(40)
]
SMALL = [attached(message).message for message in MESSAGES]


class Counter:
    """Keeps uploads, and counts how many calls are under way at the same time."""

    def __init__(self, refused: grpc.StatusCode | None = None, **trailers: str) -> None:
        self.kept: dict[str, bytes] = {}
        self.calls = self.most = self._now = 0
        self._refused = refused
        self._trailers = grpc.aio.Metadata(*((name.replace("_", "-"), value) for name, value in trailers.items()))
        self._lock = threading.Lock()

    def begin(self) -> None:
        with self._lock:
            self.calls += 1
            self._now += 1
            self.most = max(self.most, self._now)

    def end(self, attachment_id: str) -> None:
        with self._lock:
            self._now -= 1
        if self._refused is not None and int(attachment_id, 16) % 2 == 0:
            raise SessionPoolError(self._refused, None, self._trailers, "refused on purpose")


class AsyncStub(Counter):
    async def upload_attachment(self, _session_id: str, content: bytes, *, attachment_id: str, **_: Any) -> None:
        self.begin()
        await asyncio.sleep(0.001)
        self.end(attachment_id)
        self.kept[attachment_id] = content

    async def download_attachment(self, _session_id: str, attachment_id: str) -> Any:
        self.begin()
        await asyncio.sleep(0.001)
        self.end(attachment_id)
        stub = self

        class Whole:
            async def read(self) -> bytes:
                return stub.kept[attachment_id]

        return Whole()


class SyncStub(Counter):
    def upload_attachment(self, _session_id: str, content: bytes, *, attachment_id: str, **_: Any) -> None:
        self.begin()
        time.sleep(0.001)
        self.end(attachment_id)
        self.kept[attachment_id] = content

    def download_attachment(self, _session_id: str, attachment_id: str) -> Any:
        self.begin()
        time.sleep(0.001)
        self.end(attachment_id)
        stub = self

        class Whole:
            def read(self) -> bytes:
                return stub.kept[attachment_id]

        return Whole()


@pytest.mark.asyncio
async def test_each_attachment_is_sent_and_read_once_and_few_at_a_time() -> None:
    far, near = AsyncStub(), SyncStub()
    async_client: Any = far
    client: Any = near
    assert await attach(async_client, "s", MESSAGES, fitted) == SMALL
    assert attach_sync(client, "s", MESSAGES, fitted) == SMALL
    assert far.calls == near.calls == 20 and far.kept == near.kept
    assert await restore(async_client, "s", SMALL) == MESSAGES
    assert restore_sync(client, "s", SMALL) == MESSAGES
    assert far.calls == near.calls == 40
    assert far.most == 8 and 1 < near.most <= 8


@pytest.mark.asyncio
@pytest.mark.parametrize("code", ["UNIMPLEMENTED", "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED", "ALREADY_EXISTS"])
async def test_what_the_service_does_not_take_stays_in_its_message(code: str) -> None:
    stub: Any = AsyncStub(grpc.StatusCode[code])
    near: Any = SyncStub(grpc.StatusCode[code])
    sent = await attach(stub, "s", MESSAGES, fitted)
    assert attach_sync(near, "s", MESSAGES, fitted) == sent
    stays = [not message.parts[0].HasField("attachment") for message in sent]
    assert [message is given for message, given in zip(sent, MESSAGES)] == stays
    assert 0 < sum(stays) < len(stays)


@pytest.mark.asyncio
async def test_the_error_of_a_busy_service_is_raised() -> None:
    stub: Any = AsyncStub(grpc.StatusCode.RESOURCE_EXHAUSTED, retry_after="1")
    near: Any = SyncStub(grpc.StatusCode.RESOURCE_EXHAUSTED, retry_after="1")
    with pytest.raises(SessionPoolError, match="RESOURCE_EXHAUSTED"):
        await attach(stub, "s", MESSAGES, fitted)
    with pytest.raises(SessionPoolError, match="RESOURCE_EXHAUSTED"):
        attach_sync(near, "s", MESSAGES, fitted)


@pytest.mark.asyncio
async def test_other_failures_are_raised() -> None:
    stub: Any = AsyncStub(grpc.StatusCode.UNAVAILABLE)
    near: Any = SyncStub(grpc.StatusCode.UNAVAILABLE)
    with pytest.raises(SessionPoolError, match="UNAVAILABLE"):
        await attach(stub, "s", MESSAGES, fitted)
    with pytest.raises(SessionPoolError, match="UNAVAILABLE"):
        attach_sync(near, "s", MESSAGES, fitted)
    with pytest.raises(SessionPoolError, match="UNAVAILABLE"):
        await restore(stub, "s", SMALL)
    with pytest.raises(SessionPoolError, match="UNAVAILABLE"):
        restore_sync(near, "s", SMALL)
