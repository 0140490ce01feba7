"""Streams of bytes to and from the service, which may last as long as something moves."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Generator, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import grpc
import grpc.aio

from session_pool.errors import SessionPoolError

Request = TypeVar("Request")
Answer = TypeVar("Answer")

if TYPE_CHECKING:
    from grpc import StreamUnaryMultiCallable as SyncUpload
    from grpc import UnaryStreamMultiCallable as SyncDownload
    from grpc.aio import StreamUnaryMultiCallable as AsyncUpload
    from grpc.aio import UnaryStreamMultiCallable as AsyncDownload

# What a write raises when the call has ended.
_ENDED = (grpc.RpcError, grpc.aio.InternalError, asyncio.InvalidStateError)
# The codes of ends of which gRPC knows more in the end.
_UNSAID = (None, grpc.StatusCode.OK, grpc.StatusCode.INTERNAL)


def _too_slow(seconds: float) -> SessionPoolError:
    return SessionPoolError(grpc.StatusCode.DEADLINE_EXCEEDED, details=f"Nothing has moved for {seconds:g} seconds")


class _Wait:
    """Measures how long the service has been waited for. The time that the source takes does not count."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: float | None = None

    def begin(self) -> None:
        self._since = time.monotonic()

    def end(self) -> None:
        self._since = None

    def left(self) -> float:
        """Returns for how many seconds it may last on."""
        since = self._since
        return self._seconds if since is None else max(0.0, since + self._seconds - time.monotonic())


class _Requests(Generic[Request]):
    """The requests of an upload, which gRPC reads in a thread of its own."""

    def __init__(self, inner: Iterator[Request], wait: _Wait) -> None:
        self._inner = inner
        self._wait = wait
        self._has_call = threading.Event()
        self._call: Any = None
        self.error: BaseException | None = None

    def __iter__(self) -> Iterator[Request]:
        return self

    def __next__(self) -> Request:
        self._wait.end()
        try:
            return next(self._inner)
        except StopIteration:
            raise
        except BaseException as error:
            # If the call just ended here, the service would take what has arrived for the whole.
            self.error = error
            self._has_call.wait()
            self._call.cancel()
            raise StopIteration from None
        finally:
            self._wait.begin()

    def belong_to(self, call: Any) -> None:
        self._call = call
        self._has_call.set()


def sync_upload(method: SyncUpload[Request, Answer], requests: Iterator[Request], seconds: float) -> Answer:
    """Sends all requests and returns the answer.

    Raises what the iterator raises, and `DEADLINE_EXCEEDED` when the service has taken nothing for so many seconds.
    """
    wait = _Wait(seconds)
    sent = _Requests(requests, wait)
    call: Any = method.future(sent)
    sent.belong_to(call)
    try:
        while True:
            try:
                answer: Answer = call.result(timeout=wait.left())
                return answer
            except grpc.FutureTimeoutError:
                if wait.left() == 0:
                    raise _too_slow(seconds) from None
    except grpc.FutureCancelledError:
        raise sent.error or SessionPoolError(grpc.StatusCode.CANCELLED, details="The call was cancelled") from None
    finally:
        call.cancel()


async def async_upload(
    method: AsyncUpload[Request, Answer], requests: AsyncIterator[Request], seconds: float
) -> Answer:
    """Sends all requests and returns the answer.

    Raises what the iterator raises, and `DEADLINE_EXCEEDED` when the service has taken nothing for so many seconds.
    """
    wait = _Wait(seconds)
    call: Any = method()
    ends: list[grpc.aio.AioRpcError] = []
    call.add_done_callback(lambda ended: ends.append(_end_of(ended)))

    async def write() -> None:
        async for request in requests:
            wait.begin()
            try:
                await call.write(request)
            except _ENDED:
                return  # The answer says why.
            wait.end()
        wait.begin()
        try:
            await call.done_writing()
        except _ENDED:
            return

    async def answer() -> Answer:
        try:
            read: Answer = await call
            return read
        except grpc.RpcError as error:
            # A write that fails after the end overwrites what the service has said: grpc/grpc#36066.
            raise next((end for end in ends if end.code() not in _UNSAID), error) from None

    writing, answering = asyncio.create_task(write()), asyncio.create_task(answer())
    try:
        while not answering.done():
            if writing.done():
                writing.result()
            waited = {answering} if writing.done() else {answering, writing}
            await asyncio.wait(waited, timeout=wait.left(), return_when=asyncio.FIRST_COMPLETED)
            if wait.left() == 0 and not answering.done():
                raise _too_slow(seconds)
        return answering.result()
    finally:
        call.cancel()
        writing.cancel()
        answering.cancel()
        await asyncio.gather(writing, answering, return_exceptions=True)


def _end_of(call: Any) -> grpc.aio.AioRpcError:
    """Returns what the service says of a call that has ended."""
    code, details = _at_once(call.code()), _at_once(call.details())
    return grpc.aio.AioRpcError(code, _at_once(call.initial_metadata()), _at_once(call.trailing_metadata()), details)


def _at_once(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Returns the result of a coroutine that has nothing to wait for."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    finally:
        coroutine.close()
    return None


def sync_download(
    method: SyncDownload[Request, Answer], request: Request, seconds: float
) -> Generator[Answer, None, None]:
    """Yields the answers. Raises `DEADLINE_EXCEEDED` when none comes for so many seconds."""
    call: Any = method(request)
    is_late = threading.Event()

    def end() -> None:
        is_late.set()
        call.cancel()

    try:
        while True:
            # Without asyncio, gRPC waits for an answer without end.
            alarm = threading.Timer(seconds, end)
            alarm.daemon = True
            alarm.start()
            try:
                answer = next(call, None)
            except grpc.RpcError as error:
                raise (_too_slow(seconds) if is_late.is_set() else error) from None
            finally:
                alarm.cancel()
            if answer is None:
                return
            yield answer
    finally:
        call.cancel()


async def async_download(
    method: AsyncDownload[Request, Answer], request: Request, seconds: float
) -> AsyncGenerator[Answer, None]:
    """Yields the answers. Raises `DEADLINE_EXCEEDED` when none comes for so many seconds."""
    call: Any = method(request)
    answers = call.__aiter__()
    try:
        while True:
            try:
                answer = await asyncio.wait_for(answers.__anext__(), seconds)
            except StopAsyncIteration:
                return
            except asyncio.TimeoutError:
                raise _too_slow(seconds) from None
            yield answer
    finally:
        call.cancel()
