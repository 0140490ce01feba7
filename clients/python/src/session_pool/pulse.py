"""Does something again and again beside the caller's own work, with and without asyncio."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Awaitable, Callable

# A pulse must not keep alive what it beats for: a draft that is left open by mistake ends as abandoned.


class SyncPulse:
    """Calls a method in a thread of its own, until it returns False, its object is gone, or `stop` is called."""

    def __init__(self, beat: Callable[[], bool], seconds: float) -> None:
        self._stopped = threading.Event()
        arguments = (weakref.WeakMethod(beat), seconds, self._stopped)
        threading.Thread(target=_beat, args=arguments, name="session-pool-draft", daemon=True).start()

    def stop(self) -> None:
        """Begins no further call. One that is under way goes on."""
        self._stopped.set()


def _beat(method: weakref.WeakMethod[Callable[[], bool]], seconds: float, stopped: threading.Event) -> None:
    while not stopped.wait(seconds):
        beat = method()
        if beat is None or not beat():
            return
        del beat


class AsyncPulse:
    """Awaits a method in a task, until it returns False, its object is gone, or `stop` is called."""

    def __init__(self, beat: Callable[[], Awaitable[bool]], seconds: float) -> None:
        self._task = asyncio.create_task(_beat_async(weakref.WeakMethod(beat), seconds))

    def stop(self) -> None:
        """Begins no further call, and cancels one that is under way, unless it is the caller."""
        if self._task is not asyncio.current_task():
            self._task.cancel()


async def _beat_async(method: weakref.WeakMethod[Callable[[], Awaitable[bool]]], seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds)
        beat = method()
        if beat is None or not await beat():
            return
        del beat
