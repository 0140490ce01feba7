from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import grpc
from sessionpool.v1.attachment_service_pb2 import (
    Attachment,
    DeleteAttachmentRequest,
    GetAttachmentRequest,
    ListAttachmentsRequest,
    UploadAttachmentRequest,
)

from session_pool._async.calls import Calls
from session_pool._async.download import AsyncDownload
from session_pool.errors import SessionPoolError
from session_pool.messages import new_id
from session_pool.retry import Patience
from session_pool.sources import AsyncBytes, AsyncSource
from session_pool.transfers import async_upload
from session_pool.transport import async_sleep


class Attachments(Calls):
    """The calls that store and read bytes that are too many for a message.

    A part of a message names an attachment: `Part(type="file", attachment=PartAttachment(attachment_id=…))`.
    """

    async def upload_attachment(
        self,
        session_id: str,
        source: AsyncBytes,
        *,
        attachment_id: str = "",
        name: str | None = None,
        media_type: str = "",
        size: int | None = None,
        sha256: str = "",
        create_session: bool = False,
        on_progress: Callable[[int, int | None], object] | None = None,
    ) -> Attachment:
        """Stores bytes, and returns the attachment, which a message of this session can then name.

        Args:
            session_id: The session to upload to.
            source: Bytes, a path such as `pathlib.Path`, a file that is open for reading bytes, or an iterator of
                bytes. Without asyncio, a file or an iterator is read in another thread.
            attachment_id: An id to choose. One is made if it is empty. With the same bytes, name and media type, the
                same id can be uploaded again and gets the same answer.
            name: The name of the file. If absent, it is that of a path.
            media_type: If empty, it is guessed from a path, or else `application/octet-stream`.
            size: The number of bytes that an iterator gives, if known. The service refuses other bytes.
            sha256: The SHA-256 of the bytes in hexadecimal, if known. The service refuses other bytes.
            create_session: Whether to make the session if it is missing.
            on_progress: Called with the number of bytes sent so far, and the number of all if it is known. Without
                asyncio, it is called in another thread. It starts over when the upload does.

        An upload may last as long as bytes move: `timeout` holds for pauses of the service. Bytes and paths are sent
        again after failures; files and iterators, which can be read only once, are not. What the source or
        `on_progress` raises ends the upload, of which nothing stays. `ALREADY_EXISTS`: the session has or shows another
        attachment with the id. `INVALID_ARGUMENT`: it is too large, or not what `size` or `sha256` says.
        `RESOURCE_EXHAUSTED`: the session has too many bytes or uploads. `NOT_FOUND`: there is no such session, and
        `create_session` is false.
        """
        read = AsyncSource(source)
        first = UploadAttachmentRequest(
            session_id=session_id,
            attachment_id=attachment_id or new_id(),
            name=read.name if name is None else name,
            media_type=media_type or read.media_type,
            size=read.size if size is None else size,
            sha256=sha256,
            create_session=create_session,
        )
        patience = Patience(self._retry_for)
        while True:
            try:
                requests = _requests(first, read, on_progress)
                return await async_upload(self.attachments.UploadAttachment, requests, self._timeout)
            except grpc.RpcError as error:
                if not read.can_repeat:
                    raise SessionPoolError.of(error) from None
                pause = patience.pause_after(error)
            await async_sleep(pause)

    async def download_attachment(
        self,
        session_id: str,
        attachment_id: str,
        *,
        offset: int | None = None,
        length: int | None = None,
        on_progress: Callable[[int, int], object] | None = None,
    ) -> AsyncDownload:
        """Returns an attachment whose bytes arrive as they are read.

        The bytes are read once: by iterating over the download, by its `read`, or by its `save_to`. `offset` is how
        many to skip and `length` how many to read at most. `on_progress` is called with the number of bytes so far and
        that of all. A broken connection is resumed where it broke, and at the end of a whole attachment its SHA-256 is
        checked. `NOT_FOUND`: the session shows no such attachment. `OUT_OF_RANGE`: `offset` is not before the end.
        """
        request = GetAttachmentRequest(
            session_id=session_id, attachment_id=attachment_id, offset=offset, length=length
        )
        download = AsyncDownload(self, request, on_progress)
        await download._begin()
        return download

    async def list_attachments(
        self, session_id: str, *, page_size: int | None = None
    ) -> AsyncIterator[Attachment]:
        """Yields the attachments that the messages and drafts of a session show, each once, with the messages' ids.

        Pages are read as they are needed.
        """
        request = ListAttachmentsRequest(session_id=session_id, limit=page_size)
        while True:
            page = await self._again(self.attachments.ListAttachments, request)
            for attachment in page.attachments:
                yield attachment
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def delete_attachment(self, session_id: str, attachment_id: str) -> None:
        """Removes an attachment that no stored message or draft names.

        The call is sent only once. `NOT_FOUND`: the session has no upload with this id. `FAILED_PRECONDITION`:
        something names it, be it a message that was truncated and is still stored.
        """
        request = DeleteAttachmentRequest(session_id=session_id, attachment_id=attachment_id)
        await self._once(self.attachments.DeleteAttachment, request)


async def _requests(
    first: UploadAttachmentRequest, source: AsyncSource, on_progress: Callable[[int, int | None], object] | None
) -> AsyncIterator[UploadAttachmentRequest]:
    yield first
    sent = 0
    async for chunk in source.chunks():
        yield UploadAttachmentRequest(chunk=chunk)
        sent += len(chunk)
        if on_progress is not None:
            on_progress(sent, first.size if first.HasField("size") else None)
