"""Decides whether to repeat a call, and when."""

import random
import time
from typing import cast

import grpc

_AGAIN = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
# The codes with which a stream may end when its connection breaks, or when its reader did not keep up.
_STREAM_AGAIN = (*_AGAIN, grpc.StatusCode.INTERNAL, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNKNOWN)
_FIRST_SECONDS = 0.1
_LONGEST_SECONDS = 5.0


def code_of(error: grpc.RpcError) -> grpc.StatusCode | None:
    """Returns the code that a call ended with, or None for an error that is not a call's."""
    code = getattr(error, "code", None)
    return cast(grpc.StatusCode, code()) if callable(code) else None


class Patience:
    """Counts failures in a row.

    Pauses double from 0.1 to 5 seconds. Each is shortened at random, so that not all clients come back at once.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.reset()

    def reset(self) -> None:
        """Starts over after a success: the next failure counts as the first one."""
        self._failures = 0
        self._since: float | None = None

    def pause_after(self, error: grpc.RpcError, *, stream: bool = False) -> float:
        """Returns the seconds to wait before the call is repeated. Raises the error when it should not be repeated."""
        now = time.monotonic()
        since = self._since = now if self._since is None else self._since
        pause: float = min(_FIRST_SECONDS * 2**self._failures, _LONGEST_SECONDS) * random.uniform(0.5, 1)
        self._failures += 1
        if code_of(error) not in (_STREAM_AGAIN if stream else _AGAIN) or now + pause - since > self._seconds:
            raise error
        return pause
