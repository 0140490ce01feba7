"""Channels that send the key with every call, with and without asyncio."""

from __future__ import annotations

import asyncio
import time
from asyncio import sleep as async_sleep
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio

if TYPE_CHECKING:
    from grpc import UnaryUnaryMultiCallable as SyncUnary
    from grpc.aio import UnaryUnaryMultiCallable as AsyncUnary

__all__ = [
    "AsyncUnary",
    "SyncUnary",
    "async_channel",
    "async_shield",
    "async_sleep",
    "sync_channel",
    "sync_shield",
    "sync_sleep",
]

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
)


def sync_channel(address: str, key: str | None, tls: bool | grpc.ChannelCredentials) -> grpc.Channel:
    """Makes a channel to `host:port`."""
    if tls is False:
        channel = grpc.insecure_channel(address, options=_OPTIONS)
    else:
        channel = grpc.secure_channel(address, _credentials(tls), options=_OPTIONS)
    return channel if key is None else grpc.intercept_channel(channel, _SyncKey(key))


def async_channel(address: str, key: str | None, tls: bool | grpc.ChannelCredentials) -> grpc.aio.Channel:
    """Makes a channel to `host:port` for asyncio."""
    interceptors: list[Any] = [] if key is None else [_AsyncUnaryKey(key), _AsyncStreamKey(key)]
    if tls is False:
        return grpc.aio.insecure_channel(address, options=_OPTIONS, interceptors=interceptors)
    return grpc.aio.secure_channel(address, _credentials(tls), options=_OPTIONS, interceptors=interceptors)


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


class _Key:
    def __init__(self, key: str) -> None:
        self._header = ("authorization", f"Bearer {key}")

    def _with_key(self, details: Any) -> Any:
        return details._replace(metadata=(*(details.metadata or ()), self._header))


class _SyncKey(_Key, grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
    def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return continuation(self._with_key(client_call_details), request)

    def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return continuation(self._with_key(client_call_details), request)


class _AioKey(_Key):
    def _with_key(self, details: Any) -> Any:
        return details._replace(metadata=grpc.aio.Metadata(*(details.metadata or ()), self._header))


# There are two classes, because asyncio's channel takes an interceptor for one kind of call only.
class _AsyncUnaryKey(_AioKey, grpc.aio.UnaryUnaryClientInterceptor):
    async def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return await continuation(self._with_key(client_call_details), request)


class _AsyncStreamKey(_AioKey, grpc.aio.UnaryStreamClientInterceptor):
    async def intercept_unary_stream(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        return await continuation(self._with_key(client_call_details), request)
