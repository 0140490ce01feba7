"""What the plug-ins that replace stores share. SESSION_POOL_ADDRESS names the server."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from session_pool import AsyncSessionPoolClient

T = TypeVar("T")

ADDRESS = os.environ["SESSION_POOL_ADDRESS"]

# The tests make and close event loops, and use a store from several. A client belongs to one loop, which is this one.
_loop = asyncio.new_event_loop()
threading.Thread(target=_loop.run_forever, daemon=True).start()


async def apart(call: Coroutine[Any, Any, T]) -> T:
    """Awaits a coroutine that runs in the loop of the client."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, _loop))


def wait_for(call: Coroutine[Any, Any, T]) -> T:
    """The same for callers that are not asynchronous."""
    return asyncio.run_coroutine_threadsafe(call, _loop).result()


async def _open() -> AsyncSessionPoolClient:
    return AsyncSessionPoolClient(ADDRESS)


client = wait_for(_open())
