"""Channels that send the key with every call, with and without asyncio."""

from __future__ import annotations

import asyncio
import inspect
import re
import time
from asyncio import sleep as async_sleep
from asyncio import to_thread as async_thread
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import grpc
import grpc.aio

from session_pool.address import Address

if TYPE_CHECKING:
    from grpc import UnaryUnaryMultiCallable as SyncUnary
    from grpc.aio import UnaryUnaryMultiCallable as AsyncUnary

    SyncKey = str | Callable[[], str]
    AsyncKey = str | Callable[[], str | Awaitable[str]]

__all__ = [
    "AsyncKey",
    "AsyncUnary",
    "SyncKey",
    "SyncUnary",
    "async_channel",
    "async_shield",
    "async_sleep",
    "async_thread",
    "sync_channel",
    "sync_shield",
    "sync_sleep",
    "sync_thread",
]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

sync_sleep = time.sleep
# The event loop itself holds tasks only weakly.
_shielded: set[asyncio.Task[None]] = set()

_OPTIONS = (
    # The client notices within 40 seconds that a connection is dead, even while a stream is silent.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
    # The client finds a restarted server soon.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 3_000),
    # A session may have 16 open drafts of 3 MiB, which come together.
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
)


def sync_channel(address: Address, key: SyncKey | None) -> grpc.Channel:
    """Makes a channel. Raises ValueError for a key that no header can hold."""
    interceptor = None if key is None else _SyncKey(key)
    if address.tls is False:
        channel = grpc.insecure_channel(address.target, options=_OPTIONS)
    else:
        channel = grpc.secure_channel(address.target, _credentials(address.tls), options=_OPTIONS)
    return channel if interceptor is None else grpc.intercept_channel(channel, interceptor)


def async_channel(address: Address, key: AsyncKey | None) -> grpc.aio.Channel:
    """Makes a channel for asyncio. Raises ValueError for a key that no header can hold."""
    interceptors: list[Any] = [] if key is None else [_AsyncUnaryKey(key), _AsyncStreamKey(key), _AsyncUploadKey(key)]
    if address.tls is False:
        return grpc.aio.insecure_channel(address.target, options=_OPTIONS, interceptors=interceptors)
    credentials = _credentials(address.tls)
    return grpc.aio.secure_channel(address.target, credentials, options=_OPTIONS, interceptors=interceptors)


def _credentials(tls: bool | grpc.ChannelCredentials) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials() if isinstance(tls, bool) else tls


async def async_shield(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Does some work and waits for it. If the waiting is cancelled, the work goes on."""
    task = asyncio.create_task(work())
    _shielded.add(task)
    task.add_done_callback(_shielded.discard)
    await asyncio.shield(task)


def sync_shield(work: Callable[[], None]) -> None:
    """Does some work. Without asyncio, an interruption is an exception that nothing holds back."""
    work()


def sync_thread(work: Callable[Parameters, Result], *args: Parameters.args, **options: Parameters.kwargs) -> Result:
    """Does some work that may block. Only with asyncio does it need a thread of its own."""
    return work(*args, **options)


class _Key:
    """Adds the key to a call. A function is asked for it before each call, so that it can renew what expires."""

    def __init__(self, key: AsyncKey) -> None:
        self._key = key
        if not callable(key):
            _check_key(key)

    @staticmethod
    def _header(key: object) -> tuple[str, str]:
        return "authorization", f"Bearer {_check_key(key)}"


def _check_key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"key must be a string, or a function that returns one, not {type(key).__name__}")
    if re.fullmatch("[!-~]+", key) is None:
        raise ValueError("key must be visible ASCII characters without spaces and line ends")
    return key


class _SyncKey(
    _Key, grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor, grpc.StreamUnaryClientInterceptor
):
    def _with_key(self, details: Any) -> Any:
        header = self._header(self._key() if callable(self._key) else self._key)
        return details._replace(metadata=(*(details.metadata or ()), header))

    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return continuation(self._with_key(client_call_details), request)

    def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return continuation(self._with_key(client_call_details), request)

    def intercept_stream_unary(self, continuation: Any, client_call_details: Any, request_iterator: Any) -> Any:
        return continuation(self._with_key(client_call_details), request_iterator)


class _AioKey(_Key):
    async def _with_key(self, details: Any) -> Any:
        key = self._key() if callable(self._key) else self._key
        header = self._header(await key if inspect.isawaitable(key) else key)
        return details._replace(metadata=grpc.aio.Metadata(*(details.metadata or ()), header))


# There are three classes, because asyncio's channel takes an interceptor for one kind of call only.
class _AsyncUnaryKey(_AioKey, grpc.aio.UnaryUnaryClientInterceptor):
    async def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return await continuation(await self._with_key(client_call_details), request)


class _AsyncStreamKey(_AioKey, grpc.aio.UnaryStreamClientInterceptor):
    async def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return await continuation(await self._with_key(client_call_details), request)


class _AsyncUploadKey(_AioKey, grpc.aio.StreamUnaryClientInterceptor):
    async def intercept_stream_unary(self, continuation: Any, client_call_details: Any, request_iterator: Any) -> Any:
        return await continuation(await self._with_key(client_call_details), request_iterator)
