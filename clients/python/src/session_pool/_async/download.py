from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import grpc
from sessionpool.v1.attachment_service_pb2 import Attachment, GetAttachmentRequest, GetAttachmentResponse

from session_pool._async.calls import Calls
from session_pool.errors import SessionPoolError
from session_pool.messages import new_id
from session_pool.retry import Patience, code_of
from session_pool.transfers import async_download
from session_pool.transport import async_sleep, async_thread

if TYPE_CHECKING:
    from typing_extensions import Self


class AsyncDownload:
    """An attachment whose bytes arrive as they are read, once.

    The method `download_attachment` of a client makes it. Iterating over it gives the bytes in chunks of at most
    256 KiB. The end of a `with` block, or `close`, ends one that is not read to its end.
    """

    attachment: Attachment
    """What the service knows of the attachment: its name, media type, size and SHA-256."""
    total: int
    """The number of bytes that this download has."""

    def __init__(
        self, calls: Calls, request: GetAttachmentRequest, on_progress: Callable[[int, int], object] | None
    ) -> None:
        self._calls = calls
        self._request = request
        self._on_progress = on_progress
        self._patience = Patience(calls._retry_for)
        self._answers: AsyncGenerator[GetAttachmentResponse, None] | None = None
        # The answer that comes next, where it has been read already.
        self._first: GetAttachmentResponse | None = None
        self._was_accepted = False
        self._received = 0
        self._hash = sha256()
        self._chunks = self._read()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    async def read(self) -> bytes:
        """Returns all bytes that have not been read yet."""
        return b"".join([chunk async for chunk in self._chunks])

    async def save_to(self, path: str | os.PathLike[str]) -> None:
        """Writes all bytes that have not been read yet to a file, which appears, or is replaced, when it is whole."""
        target = Path(path)
        # The same folder, so that the file can be renamed.
        unfinished = target.with_name(f".{new_id()}.part")
        try:
            with await async_thread(_create, unfinished) as file:
                async for chunk in self._chunks:
                    await async_thread(file.write, chunk)
                await async_thread(file.flush)
                await async_thread(os.fsync, file.fileno())
            await async_thread(unfinished.replace, target)
        finally:
            unfinished.unlink(missing_ok=True)

    async def close(self) -> None:
        """Ends the download. Bytes that have not been read are not."""
        await self._chunks.aclose()
        await self._stop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *ended_by: object) -> None:
        await self.close()

    async def _begin(self) -> None:
        """Waits for the first answer, which says what the attachment is."""
        self._first = await self._next()
        if self._first is None:
            raise SessionPoolError(grpc.StatusCode.DATA_LOSS, details="The service has sent no answer")
        self.attachment = self._first.attachment
        left = self.attachment.size - self._request.offset
        self.total = min(left, self._request.length) if self._request.HasField("length") else left

    async def _next(self) -> GetAttachmentResponse | None:
        """Returns the next answer, or None after the last. A broken call is begun again where it broke."""
        while True:
            if self._answers is None:
                self._was_accepted = False
                method = self._calls.attachments.GetAttachment
                self._answers = async_download(method, self._rest(), self._calls._timeout)
            try:
                async for answer in self._answers:
                    self._was_accepted = True
                    self._patience.reset()
                    return answer
                return None
            except grpc.RpcError as error:
                await self._stop()
                if 0 < self._received == self.total:
                    return None
                if (
                    self._was_accepted
                    and self._calls._can_renew_key
                    and code_of(error) is grpc.StatusCode.UNAUTHENTICATED
                ):
                    continue
                pause = self._patience.pause_after(error, stream=True)
            await async_sleep(pause)

    def _rest(self) -> GetAttachmentRequest:
        """Returns a request for what has not arrived."""
        if self._received == 0:
            return self._request
        rest = GetAttachmentRequest()
        rest.CopyFrom(self._request)
        rest.offset += self._received
        rest.length = self.total - self._received
        return rest

    async def _read(self) -> AsyncGenerator[bytes, None]:
        try:
            answer, self._first = self._first, None
            while answer is not None:
                if answer.HasField("attachment") and answer.attachment.sha256 != self.attachment.sha256:
                    raise self._error(grpc.StatusCode.ABORTED, "was replaced while it was downloaded")
                if answer.chunk:
                    self._received += len(answer.chunk)
                    self._hash.update(answer.chunk)
                    if self._on_progress is not None:
                        self._on_progress(self._received, self.total)
                    yield answer.chunk
                answer = await self._next()
            self._check()
        finally:
            await self._stop()

    def _check(self) -> None:
        if self._received != self.total:
            raise self._error(grpc.StatusCode.DATA_LOSS, f"has ended after {self._received} of {self.total} bytes")
        if self.total == self.attachment.size and self._hash.hexdigest() != self.attachment.sha256:
            raise self._error(grpc.StatusCode.DATA_LOSS, "does not have its SHA-256")

    def _error(self, code: grpc.StatusCode, what: str) -> SessionPoolError:
        return SessionPoolError(code, details=f"attachment {self.attachment.attachment_id!r} {what}")

    async def _stop(self) -> None:
        if self._answers is not None:
            await self._answers.aclose()
            self._answers = None


def _create(path: Path) -> BinaryIO:
    return open(path, "xb")
