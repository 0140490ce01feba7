from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import grpc
from sessionpool.v1.message_service_pb2 import (
    DiscardDraftRequest,
    DraftDelta,
    ExtendDraftRequest,
    FinishDraftRequest,
    MessageInfo,
    MessageWithParts,
    Part,
    PartDelta,
    StartDraftRequest,
    TextDelta,
)

from session_pool._async.watch import Watching
from session_pool.messages import new_id, with_id
from session_pool.values import to_struct

if TYPE_CHECKING:
    from typing_extensions import Self


class AsyncDraft:
    """A message that is being written. Everybody who watches the session sees it grow.

    The method `draft` of a client makes it. The end of the `with` block finishes it, which appends the message. When
    the block raises, it is finished with `interrupted: true` in its metadata, or discarded, as the service does with an
    abandoned draft.
    """

    message_id: str
    """The id of the draft, and of the message that it becomes."""
    position: int | None = None
    """The message's position, once it is finished."""

    def __init__(self, calls: Watching, start: StartDraftRequest) -> None:
        self._calls = calls
        self._start = start
        self._version = 0
        self._is_open = False
        self.message_id = start.message.info.id

    async def __aenter__(self) -> Self:
        answer = await self._calls._again(self._calls.messages.StartDraft, self._start)
        self._version = answer.version
        self._is_open = True
        return self

    async def write(self, text: str, *, part_id: str = "") -> None:
        """Appends text to the part with this id, or adds a text part with the id if there is none.

        An empty text changes nothing. Each call is one round trip, and is repeated when the server cannot be reached.
        `FAILED_PRECONDITION`: the draft was finished or discarded, for example by a stop button. `ABORTED`: somebody
        else has extended it.
        """
        if text:
            await self._extend(DraftDelta(append_text=TextDelta(part_id=part_id, text=text)))

    async def put(self, part: Part) -> None:
        """Adds a part, or replaces the last part with its id.

        For example, a tool call is replaced by the same call with its result. The errors are those of `write`.
        """
        await self._extend(DraftDelta(put_part=PartDelta(part=part)))

    async def finish(self, *, metadata: Mapping[str, Any] | None = None) -> int:
        """Appends the message, with these fields in its metadata, and returns its position.

        The end of the block then does nothing.
        """
        request = FinishDraftRequest(
            session_id=self._start.session_id, message_id=self.message_id, version=self._version
        )
        if metadata:
            request.metadata.CopyFrom(to_struct(metadata))
        self._is_open = False
        self.position = (await self._calls._again(self._calls.messages.FinishDraft, request)).position
        return self.position

    async def discard(self) -> None:
        """Discards the draft and everything that was written. The end of the block then does nothing."""
        self._is_open = False
        request = DiscardDraftRequest(session_id=self._start.session_id, message_id=self.message_id)
        await self._calls._again(self._calls.messages.DiscardDraft, request)

    async def __aexit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if not self._is_open:
            return
        if kind is None:
            await self.finish()
            return
        try:
            await (
                self.discard() if self._start.discard_when_abandoned else self.finish(metadata={"interrupted": True})
            )
        except grpc.RpcError:
            # The error that the block raised says more, and the service ends the draft by itself.
            pass

    async def _extend(self, delta: DraftDelta) -> None:
        request = ExtendDraftRequest(
            session_id=self._start.session_id, message_id=self.message_id, version=self._version, deltas=[delta]
        )
        self._version = (await self._calls._again(self._calls.messages.ExtendDraft, request)).version


class Drafting(Watching):
    """The calls that write a message piece by piece."""

    def draft(
        self,
        session_id: str,
        message: MessageWithParts | None = None,
        *,
        role: str = "assistant",
        discard_when_abandoned: bool = False,
        create_session: bool = False,
    ) -> AsyncDraft:
        """Makes a draft to be written in a `with` block: `with client.draft("trip") as draft: draft.write("Late ")`.

        It begins as `message`, or as an empty message with this role. When the block raises or the writer disappears,
        what has been written is kept; with `discard_when_abandoned` it is discarded. Entering the block can raise
        `RESOURCE_EXHAUSTED` (too many drafts are open), `ALREADY_EXISTS` (the history has the id), and `NOT_FOUND`
        (there is no such session, and `create_session` is false).
        """
        begun = with_id(message) if message else MessageWithParts(info=MessageInfo(id=new_id(), role=role))
        start = StartDraftRequest(
            session_id=session_id,
            message=begun,
            discard_when_abandoned=discard_when_abandoned,
            create_session=create_session,
        )
        return AsyncDraft(self, start)
