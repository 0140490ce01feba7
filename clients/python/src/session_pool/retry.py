"""Decides whether to repeat a call, and when."""

import math
import random
import time
from typing import cast

import grpc

from session_pool.errors import SessionPoolError

_AGAIN = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
# The codes with which a stream may end when its connection breaks, or when its reader did not keep up.
_STREAM_AGAIN = (*_AGAIN, grpc.StatusCode.INTERNAL, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNKNOWN)
# The codes with which the service refuses what a call asks for.
_REFUSED = (
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
)
_FIRST_SECONDS = 0.1
_LONGEST_SECONDS = 5.0


def code_of(error: grpc.RpcError) -> grpc.StatusCode | None:
    """Returns the code that a call ended with, or None for an error that is not a call's."""
    code = getattr(error, "code", None)
    return cast(grpc.StatusCode, code()) if callable(code) else None


def is_refusal(error: grpc.RpcError) -> bool:
    """Returns whether a call has stored nothing and never will, even if an earlier attempt had no answer."""
    return code_of(error) in _REFUSED and not asks_for_pause(error)


def asks_for_pause(error: grpc.RpcError) -> bool:
    """Returns whether the server is busy now, and wants the call again later."""
    return _asked_pause(error) is not None


def _asked_pause(error: grpc.RpcError) -> float | None:
    """Returns the seconds after which the server wants the call again, or None when it names no time."""
    metadata = getattr(error, "trailing_metadata", None)
    for key, value in (metadata() if callable(metadata) else None) or ():
        if key == "retry-after":
            try:
                seconds = float(value)
            except ValueError:
                return 0.0
            return seconds if math.isfinite(seconds) else 0.0
    return None


class Patience:
    """Counts failures in a row.

    Pauses double from 0.1 to 5 seconds. Each is shortened at random, so that not all clients come back at once. A pause
    is at least as long as the server asks for.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.reset()

    def reset(self) -> None:
        """Starts over after a success: the next failure counts as the first one."""
        self._failures = 0
        self._since: float | None = None

    def pause_after(self, error: grpc.RpcError, *, stream: bool = False) -> float:
        """Returns the seconds to wait before the call is repeated.

        Raises the error, as a SessionPoolError, when the call should not be repeated.
        """
        now = time.monotonic()
        since = self._since = now if self._since is None else self._since
        asked = _asked_pause(error)
        code = code_of(error)
        shortened = min(_FIRST_SECONDS * 2**self._failures, _LONGEST_SECONDS) * random.uniform(0.5, 1)
        pause: float = max(shortened, asked or 0.0)
        self._failures += 1
        is_passing = code in (_STREAM_AGAIN if stream else _AGAIN) or (
            code is grpc.StatusCode.RESOURCE_EXHAUSTED and asked is not None
        )
        if not is_passing or now + pause - since > self._seconds:
            raise SessionPoolError.of(error) from None
        return pause
