from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

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
from session_pool.retry import code_of, is_refusal
from session_pool.transport import async_shield
from session_pool.values import to_struct

if TYPE_CHECKING:
    from typing_extensions import Self


_log = logging.getLogger("session_pool")
# The codes with which the service refuses to end a draft that is not open.
_NOT_OPEN = (grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.NOT_FOUND)


class AsyncDraft:
    """A message that is being written. Everybody who watches the session sees it grow.

    The method `draft` of a client makes it. The end of the `with` block finishes it, which appends the message. When
    the block raises, or its task is cancelled, it is finished with `interrupted: true` in its metadata, or discarded,
    as the service does with an abandoned draft.

    The block waits until the draft has ended, even when its task is cancelled. With asyncio, the block stops waiting
    when it is cancelled once more; the draft is still ended, unless the client is closed before. If ending the draft
    fails after the block has raised, the block's exception is the one that is raised, and the logger `session_pool`
    warns that the draft stays open until the service ends it as abandoned.
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
        # What was written and has not been answered, in order. The service may have stored the first delta already.
        self._unanswered: list[DraftDelta] = []
        # How the draft ends, once the caller has said so.
        self._ending: FinishDraftRequest | DiscardDraftRequest | None = None
        self.message_id = start.message.info.id

    async def __aenter__(self) -> Self:
        try:
            await self._begin()
        except Exception:
            raise
        except BaseException:
            # The call was interrupted, and the service may have begun the draft.
            await async_shield(self._undo_begin)
            raise
        return self

    async def write(self, text: str, *, part_id: str = "") -> None:
        """Appends text to the part with this id, or adds a text part with the id if there is none.

        An empty text changes nothing. Each call is one round trip, and is repeated when the server cannot be reached.
        A call that is cancelled, or that fails because no answer came, must not be made again: its text stays part of
        the draft, and the next call sends it first. `FAILED_PRECONDITION`: the draft was finished or discarded, for
        example by a stop button. `ABORTED`: somebody else has extended it.
        """
        if text:
            await self._extend(DraftDelta(append_text=TextDelta(part_id=part_id, text=text)))

    async def put(self, part: Part) -> None:
        """Adds a part, or replaces the last part with its id.

        For example, a tool call is replaced by the same call with its result. The errors are those of `write`, and a
        call without an answer counts as it does there.
        """
        await self._extend(DraftDelta(put_part=PartDelta(part=part)))

    async def finish(self, *, metadata: Mapping[str, Any] | None = None) -> int:
        """Appends the message, with these fields in its metadata, and returns its position.

        The end of the block then does nothing. If this call is cancelled or fails, the end of the block repeats it.
        """
        await self._end(self._finishing(metadata))
        return cast(int, self.position)

    async def discard(self) -> None:
        """Discards the draft and everything that was written.

        The end of the block then does nothing. If this call is cancelled or fails, the end of the block repeats it.
        """
        await self._end(self._discarding())

    async def __aexit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if not self._is_open:
            return
        if kind is not None:
            await async_shield(self._abandon)
            return
        try:
            await self._end(self._ending or self._finishing(None))
        except Exception:
            raise
        except BaseException:
            # The call was interrupted. It is repeated as it was.
            await async_shield(self._abandon)
            raise

    async def _begin(self) -> None:
        self._version = (await self._calls._again(self._calls.messages.StartDraft, self._start)).version
        self._is_open = True

    async def _undo_begin(self) -> None:
        """Discards the draft if it exists and is this one, for which it is begun again."""
        try:
            await self._begin()
            await self.discard()
        except Exception as error:
            if not (isinstance(error, grpc.RpcError) and is_refusal(error)):
                self._warn()

    def _finishing(self, metadata: Mapping[str, Any] | None) -> FinishDraftRequest:
        request = FinishDraftRequest(session_id=self._start.session_id, message_id=self.message_id)
        if metadata:
            request.metadata.CopyFrom(to_struct(metadata))
        return request

    def _discarding(self) -> DiscardDraftRequest:
        return DiscardDraftRequest(session_id=self._start.session_id, message_id=self.message_id)

    async def _end(self, request: FinishDraftRequest | DiscardDraftRequest) -> None:
        self._ending = request
        if isinstance(request, FinishDraftRequest):
            await self._send_unanswered()
            request.version = self._version
            self.position = (await self._calls._again(self._calls.messages.FinishDraft, request)).position
        else:
            await self._calls._again(self._calls.messages.DiscardDraft, request)
        self._is_open = False

    async def _abandon(self) -> None:
        """Ends the draft after an exception, which says more than an error of this method."""
        request = self._ending
        if request is None:
            is_kept = not self._start.discard_when_abandoned
            request = self._finishing({"interrupted": True}) if is_kept else self._discarding()
        try:
            await self._end(request)
        except Exception as error:
            if not (isinstance(error, grpc.RpcError) and code_of(error) in _NOT_OPEN):
                self._warn()

    def _warn(self) -> None:
        _log.warning(
            "Could not end draft %s of session %s, which may stay open until the service ends it as abandoned",
            self.message_id,
            self._start.session_id,
            exc_info=True,
        )

    async def _extend(self, delta: DraftDelta) -> None:
        self._unanswered.append(delta)
        await self._send_unanswered(delta)

    async def _send_unanswered(self, own: DraftDelta | None = None) -> None:
        """Sends all deltas that have no answer yet, in order, or those up to the caller's own.

        A delta that was sent before is sent with the same version, so the service stores it once. If it is refused, it
        is left out, and the error is raised only if it is the caller's own: nobody waits for the others any more.
        """
        while self._unanswered:
            delta = self._unanswered[0]
            refusal = None
            version = self._version
            request = ExtendDraftRequest(
                session_id=self._start.session_id, message_id=self.message_id, version=version, deltas=[delta]
            )
            try:
                version = (await self._calls._again(self._calls.messages.ExtendDraft, request)).version
            except grpc.RpcError as error:
                if not is_refusal(error):
                    raise
                refusal = error
            # A call at the same time may have received the same answer.
            if self._unanswered and self._unanswered[0] is delta:
                self._version = version
                del self._unanswered[0]
            if delta is own:
                if refusal is not None:
                    raise refusal
                return


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
