"""Uploads what is too large for the messages of an adapter, and reads it back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import grpc
from sessionpool.v1.message_service_pb2 import MessageWithParts

from session_pool import AsyncSessionPoolClient, SessionPoolClient
from session_pool.adapters.attached import Attached, Upload, attached
from session_pool.adapters.restored import listed_ids, restored
from session_pool.retry import asks_for_pause, code_of

_MOST_AT_ONCE = 8
# The codes with which a service has no attachments, or no room for one.
_NO_ROOM = (
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNIMPLEMENTED,
)
# The codes with which an attachment is not there any more.
_MISSING = (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNIMPLEMENTED)
Item = TypeVar("Item")
Fit = Callable[[MessageWithParts], MessageWithParts]


async def attach(
    client: AsyncSessionPoolClient,
    session_id: str,
    messages: Sequence[MessageWithParts],
    fit: Fit,
    *,
    json_text_type: str = "",
    create_session: bool = False,
) -> list[MessageWithParts]:
    """Returns the messages as they are appended, and uploads what is too large for them.

    `fit` cuts what does not fit even so, or when the service does not take the attachments.
    """
    all_attached = [attached(message, json_text_type=json_text_type) for message in messages]
    refused: set[str] = set()

    async def send(one: Upload) -> None:
        try:
            await client.upload_attachment(
                session_id,
                one.content,
                attachment_id=one.attachment_id,
                name=one.name,
                media_type=one.media_type,
                create_session=create_session,
            )
        except grpc.RpcError as error:
            _note(refused, one, error)

    await _each(send, _uploads(all_attached))
    return _fitting(messages, all_attached, refused, fit)


def attach_sync(
    client: SessionPoolClient,
    session_id: str,
    messages: Sequence[MessageWithParts],
    fit: Fit,
    *,
    create_session: bool = False,
) -> list[MessageWithParts]:
    """Does what `attach` does, without asyncio."""
    all_attached = [attached(message) for message in messages]
    refused: set[str] = set()

    def send(one: Upload) -> None:
        try:
            client.upload_attachment(
                session_id,
                one.content,
                attachment_id=one.attachment_id,
                name=one.name,
                media_type=one.media_type,
                create_session=create_session,
            )
        except grpc.RpcError as error:
            _note(refused, one, error)

    _each_sync(send, _uploads(all_attached))
    return _fitting(messages, all_attached, refused, fit)


async def restore(
    client: AsyncSessionPoolClient, session_id: str, messages: Sequence[MessageWithParts]
) -> list[MessageWithParts]:
    """Returns the messages of a session with the values that are in attachments. Each is read once.

    A value whose attachment is missing stays as what is kept at its place.
    """
    contents: dict[str, bytes] = {}

    async def read(attachment_id: str) -> None:
        try:
            contents[attachment_id] = await (await client.download_attachment(session_id, attachment_id)).read()
        except grpc.RpcError as error:
            if code_of(error) not in _MISSING:
                raise

    await _each(read, listed_ids(messages))
    return [restored(message, contents) for message in messages]


def restore_sync(
    client: SessionPoolClient, session_id: str, messages: Sequence[MessageWithParts]
) -> list[MessageWithParts]:
    """Does what `restore` does, without asyncio."""
    contents: dict[str, bytes] = {}

    def read(attachment_id: str) -> None:
        try:
            contents[attachment_id] = client.download_attachment(session_id, attachment_id).read()
        except grpc.RpcError as error:
            if code_of(error) not in _MISSING:
                raise

    _each_sync(read, listed_ids(messages))
    return [restored(message, contents) for message in messages]


def _uploads(all_attached: Iterable[Attached]) -> list[Upload]:
    """Returns what is to be uploaded, each once."""
    return list({upload.attachment_id: upload for one in all_attached for upload in one.uploads}.values())


def _note(refused: set[str], upload: Upload, error: grpc.RpcError) -> None:
    if code_of(error) not in _NO_ROOM or asks_for_pause(error):
        raise error
    refused.add(upload.attachment_id)


def _fitting(
    messages: Sequence[MessageWithParts], all_attached: Sequence[Attached], refused: set[str], fit: Fit
) -> list[MessageWithParts]:
    return [
        fit(message if any(upload.attachment_id in refused for upload in one.uploads) else one.message)
        for message, one in zip(messages, all_attached)
    ]


async def _each(work: Callable[[Item], Awaitable[None]], items: Collection[Item]) -> None:
    waiting = iter(items)

    async def next_ones() -> None:
        for item in waiting:
            await work(item)

    workers = [asyncio.create_task(next_ones()) for _ in range(min(_MOST_AT_ONCE, len(items)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()


def _each_sync(work: Callable[[Item], None], items: Collection[Item]) -> None:
    if items:
        with ThreadPoolExecutor(min(_MOST_AT_ONCE, len(items))) as threads:
            list(threads.map(work, items))
