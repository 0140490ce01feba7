"""The error of calls, which carries what the service says about it."""

from __future__ import annotations

from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import ErrorInfo  # type: ignore[import-untyped]
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped]

_DOMAIN = "sessionpool.v1"


class SessionPoolError(grpc.aio.AioRpcError):
    """A call that failed, with or without asyncio. It is a `grpc.RpcError`.

    `code()` is a `grpc.StatusCode` and `details()` the service's text. If the code is `ABORTED`, because a call
    expected another position, revision, version or number, one of the attributes says the current one.
    """

    current_position: int | None
    """The position that the message would get, if the call named another `expected_position`."""
    current_revision: int | None
    """The session's revision, if the call named another `expected_revision`."""
    current_version: int | None
    """The draft's version, if the call named another one."""
    current_removed_count: int | None
    """How many messages a revert would remove, if the call named another `expected_removed_count`."""
    request_id: str | None
    """The id of the request in the server's log, if the server was reached."""

    def __init__(
        self,
        code: grpc.StatusCode,
        initial_metadata: grpc.aio.Metadata | None = None,
        trailing_metadata: grpc.aio.Metadata | None = None,
        details: str | None = None,
        debug_error_string: str | None = None,
    ) -> None:
        super().__init__(code, initial_metadata, trailing_metadata, details, debug_error_string)
        current = _current(trailing_metadata)
        self.current_position = current.get("current_position")
        self.current_revision = current.get("current_revision")
        self.current_version = current.get("current_version")
        self.current_removed_count = current.get("current_removed_count")
        self.request_id = _text(initial_metadata, "x-request-id") or _text(trailing_metadata, "x-request-id")

    @classmethod
    def of(cls, error: grpc.RpcError) -> SessionPoolError:
        """Returns the error itself, or makes a SessionPoolError of one that comes from a stub."""
        if isinstance(error, cls):
            return error
        return cls(
            _ask(error, "code") or grpc.StatusCode.UNKNOWN,
            _metadata(_ask(error, "initial_metadata")),
            _metadata(_ask(error, "trailing_metadata")),
            _ask(error, "details") or "",
            _ask(error, "debug_error_string"),
        )

    def __str__(self) -> str:
        return f"{self.code().name}: {self.details()}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


def _ask(error: grpc.RpcError, name: str) -> Any:
    method = getattr(error, name, None)
    return method() if callable(method) else None


def _metadata(pairs: Any) -> grpc.aio.Metadata:
    return grpc.aio.Metadata(*((key, value) for key, value in pairs or ()))


def _text(metadata: grpc.aio.Metadata | None, key: str) -> str | None:
    value = metadata.get(key) if metadata else None
    return value if isinstance(value, str) else None


def _current(metadata: grpc.aio.Metadata | None) -> dict[str, int]:
    """Reads the numbers of the ErrorInfo. Details that are malformed are as good as none."""
    packed = metadata.get("grpc-status-details-bin") if metadata else None
    if not isinstance(packed, bytes):
        return {}
    info = ErrorInfo()
    try:
        for detail in Status.FromString(packed).details:
            if detail.Is(ErrorInfo.DESCRIPTOR) and detail.Unpack(info) and info.domain == _DOMAIN:
                return {key: int(value) for key, value in info.metadata.items() if value.isdecimal()}
    except DecodeError:
        pass
    return {}
