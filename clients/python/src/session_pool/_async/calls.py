from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import grpc
from sessionpool.v1.annotation_service_pb2_grpc import AnnotationServiceStub
from sessionpool.v1.attachment_service_pb2_grpc import AttachmentServiceStub
from sessionpool.v1.message_service_pb2_grpc import MessageServiceStub
from sessionpool.v1.session_service_pb2_grpc import SessionServiceStub
from sessionpool.v1.todo_service_pb2_grpc import TodoServiceStub, TodoTrackerServiceStub
from sessionpool.v1.usage_service_pb2_grpc import UsageServiceStub

from session_pool.address import parse_address
from session_pool.errors import SessionPoolError
from session_pool.retry import Patience
from session_pool.transport import async_channel, async_sleep

if TYPE_CHECKING:
    from sessionpool.v1.annotation_service_pb2_grpc import AnnotationServiceAsyncStub
    from sessionpool.v1.attachment_service_pb2_grpc import AttachmentServiceAsyncStub
    from sessionpool.v1.message_service_pb2_grpc import MessageServiceAsyncStub
    from sessionpool.v1.session_service_pb2_grpc import SessionServiceAsyncStub
    from sessionpool.v1.todo_service_pb2_grpc import TodoServiceAsyncStub, TodoTrackerServiceAsyncStub
    from sessionpool.v1.usage_service_pb2_grpc import UsageServiceAsyncStub
    from typing_extensions import Self

    from session_pool.transport import AsyncKey, AsyncUnary

Request = TypeVar("Request")
Answer = TypeVar("Answer")


class Calls:
    """The channel, the stubs of all services, and calls that are repeated after failures."""

    sessions: SessionServiceAsyncStub
    """The stub with every RPC of SessionService.

    It takes the messages of `sessionpool.v1.session_service_pb2`, sends each call only once, and raises plain
    `grpc.RpcError`s.
    """
    messages: MessageServiceAsyncStub
    """The stub with every RPC of MessageService, for the messages of `sessionpool.v1.message_service_pb2`."""
    annotations: AnnotationServiceAsyncStub
    """The stub with every RPC of AnnotationService, for the messages of `sessionpool.v1.annotation_service_pb2`."""
    usage: UsageServiceAsyncStub
    """The stub with every RPC of UsageService, for the messages of `sessionpool.v1.usage_service_pb2`."""
    attachments: AttachmentServiceAsyncStub
    """The stub with every RPC of AttachmentService, for the messages of `sessionpool.v1.attachment_service_pb2`."""
    todos: TodoServiceAsyncStub
    """The stub with every RPC of TodoService, for the messages of `sessionpool.v1.todo_service_pb2`."""
    todo_tracker: TodoTrackerServiceAsyncStub
    """The stub with every RPC of TodoTrackerService."""

    def __init__(
        self,
        address: str,
        *,
        key: AsyncKey | None = None,
        tls: bool | grpc.ChannelCredentials | None = None,
        timeout: float = 30.0,
        retry_for: float = 10.0,
    ) -> None:
        """Opens no connection before the first call.

        Raises ValueError for an address that is not understood, and for a key with spaces or line ends.

        Args:
            address: `host:port` of the gRPC port, a URL (`grpc://host:port`, `grpcs://host:port` with TLS,
                `http://host:port`, `https://host`), or a name that gRPC resolves, such as `dns:///host:port`. The HTTP
                port of the server takes all calls but those that write todos.
            key: API key or token, if the server needs one, or a function that returns it and is called before each
                call. With asyncio, this may be an async function.
            tls: True for TLS with the certificates that this machine trusts, or your own credentials. If absent, the
                scheme of a URL decides, and there is no TLS without one.
            timeout: Seconds that each attempt of a call may take. It applies neither to `watch` nor to `erase_message`.
                Of an upload or a download, it is how long the service may let nothing move.
            retry_for: Seconds after the first failure in which a call is sent again when the server cannot be reached
                (`UNAVAILABLE`), does not answer in time (`DEADLINE_EXCEEDED`), or is too busy and says when to come
                back (`RESOURCE_EXHAUSTED` with `retry-after`). With 0, every call is sent only once.
        """
        self._channel = async_channel(parse_address(address, tls), key)
        self._can_renew_key = callable(key)
        self._is_closed = False
        self._timeout = timeout
        self._retry_for = retry_for
        self.sessions = SessionServiceStub(self._channel)
        self.messages = MessageServiceStub(self._channel)
        self.annotations = AnnotationServiceStub(self._channel)
        self.usage = UsageServiceStub(self._channel)
        self.attachments = AttachmentServiceStub(self._channel)
        self.todos = TodoServiceStub(self._channel)
        self.todo_tracker = TodoTrackerServiceStub(self._channel)

    async def close(self) -> None:
        """Closes the connection, which ends all calls that are still running."""
        self._is_closed = True
        await self._channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *ended_by: object) -> None:
        await self.close()

    async def _once(self, method: AsyncUnary[Request, Answer], request: Request) -> Answer:
        try:
            return await method(request, timeout=self._timeout)
        except grpc.RpcError as error:
            raise SessionPoolError.of(error) from None

    async def _again(
        self, method: AsyncUnary[Request, Answer], request: Request, *, has_deadline: bool = True
    ) -> Answer:
        """Repeats a call after failures.

        Only for requests that may be sent twice: those that only read, and those that hold the ids of what they make.
        """
        patience = Patience(self._retry_for)
        while True:
            try:
                return await method(request, timeout=self._timeout if has_deadline else None)
            except grpc.RpcError as error:
                pause = patience.pause_after(error)
            await async_sleep(pause)
