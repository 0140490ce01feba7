"""A service for attachments in this process, whose calls a test can break."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
from sessionpool.v1.attachment_service_pb2 import (
    Attachment,
    GetAttachmentRequest,
    GetAttachmentResponse,
    UploadAttachmentRequest,
)
from sessionpool.v1.attachment_service_pb2_grpc import AttachmentServiceServicer, add_AttachmentServiceServicer_to_server


class FakeAttachments(AttachmentServiceServicer):
    """Keeps what is uploaded.

    `failures` are the codes that the next calls end with, each after `chunks_before_failure` chunks. Where there is
    None, the call stalls there instead, until it is cancelled. `refusal` ends each upload before its first chunk.
    """

    def __init__(self) -> None:
        self.kept: dict[str, tuple[Attachment, bytes]] = {}
        self.failures: list[grpc.StatusCode | None] = []
        self.chunks_before_failure = 1
        self.refusal: grpc.StatusCode | None = None
        self.uploads: list[UploadAttachmentRequest] = []
        self.downloads: list[GetAttachmentRequest] = []
        self.keys: list[object] = []
        self._server = grpc.server(ThreadPoolExecutor(4))
        add_AttachmentServiceServicer_to_server(self, self._server)
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def stop(self) -> None:
        self._server.stop(None)

    def UploadAttachment(  # noqa: N802
        self, request_iterator: Iterable[UploadAttachmentRequest], context: grpc.ServicerContext
    ) -> Attachment:
        requests = iter(request_iterator)
        first = next(requests)
        self.uploads.append(first)
        self.keys.append(dict(context.invocation_metadata()).get("authorization"))
        chunks = []
        if self.refusal is not None:
            context.abort(self.refusal, "refused on purpose")
        for request in requests:
            chunks.append(request.chunk)
            if self.failures and len(chunks) == self.chunks_before_failure:
                self._fail(context)
        content = b"".join(chunks)
        made = Attachment(
            attachment_id=first.attachment_id,
            name=first.name,
            media_type=first.media_type or "application/octet-stream",
            size=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
        )
        self.kept[first.attachment_id] = (made, content)
        return made

    def GetAttachment(  # noqa: N802
        self, request: GetAttachmentRequest, context: grpc.ServicerContext
    ) -> Iterator[GetAttachmentResponse]:
        self.downloads.append(request)
        attachment, content = self.kept[request.attachment_id]
        end = request.offset + request.length if request.HasField("length") else len(content)
        shown = content[request.offset : end]
        size = 10 if len(shown) < 1000 else 100_000
        yield GetAttachmentResponse(attachment=attachment, chunk=shown[:size])
        for count, start in enumerate(range(size, len(shown), size), 1):
            if self.failures and count == self.chunks_before_failure:
                self._fail(context)
            yield GetAttachmentResponse(chunk=shown[start : start + size])

    def _fail(self, context: grpc.ServicerContext) -> None:
        code = self.failures.pop(0)
        if code is not None:
            context.abort(code, "broken on purpose")
        stalled = threading.Event()
        if context.add_callback(stalled.set):
            stalled.wait()
