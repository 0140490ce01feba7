from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import grpc
from sessionpool.v1.message_service_pb2 import (
    DiscardDraftRequest,
    DraftDelta,
    ExtendDraftRequest,
    FinishDraftRequest,
    Part,
    PartDelta,
    StartDraftRequest,
    TextDelta,
)
from sessionpool.v1.usage_service_pb2 import Usage

from session_pool._async.calls import Calls
from session_pool.pulse import AsyncPulse
from session_pool.retry import code_of, is_refusal
from session_pool.transport import async_shield
from session_pool.values import to_struct, well_formed

if TYPE_CHECKING:
    from typing_extensions import Self


_log = logging.getLogger("session_pool")
# The codes with which the service refuses to change a draft that is not open.
_NOT_OPEN = (grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.NOT_FOUND)
# How often a draft is renewed. An end by somebody else is noticed in about this time.
_RENEWAL_SECONDS = 2.0


class _Extension:
    """What a call adds to a draft."""

    def __init__(self, request: ExtendDraftRequest) -> None:
        self.request = request
        self.is_answered = False
        self.refusal: grpc.RpcError | None = None


class AsyncDraft:
    """A message that is being written. Everybody who watches the session sees it grow.

    The method `draft` of a client makes it. The end of the `with` block finishes it, which appends the message. When
    the block raises, or its task is cancelled, it is finished with `interrupted: true` in its metadata, or discarded,
    as the service does with an abandoned draft.

    While nothing is written, the draft is renewed every two seconds, so that it outlives a long pause, for example
    while a tool runs. Without asyncio, a thread does this.

    The block waits until the draft has ended, even when its task is cancelled. With asyncio, the block stops waiting
    when it is cancelled once more; the draft is still ended, unless the client is closed before. If ending the draft
    fails after the block has raised, the block's exception is the one that is raised, and the logger `session_pool`
    warns that the draft stays open until the service ends it as abandoned.
    """

    message_id: str
    """The id of the draft, and of the message that it becomes."""
    position: int | None = None
    """The message's position, once it is finished."""
    is_stopped: bool = False
    """Whether somebody else has finished or discarded the draft, or deleted its session, as far as is known."""

    def __init__(self, calls: Calls, start: StartDraftRequest, on_stop: Callable[[], object] | None) -> None:
        self._calls = calls
        self._start = start
        self._on_stop = on_stop
        self._pulse: AsyncPulse | None = None
        # Guards the fields below, which the pulse may change too, where it runs in a thread of its own.
        self._lock = threading.Lock()
        self._version = 0
        self._is_open = False
        # What was written and has not been answered, in order. The service may have stored the first one already.
        self._unanswered: list[_Extension] = []
        # How many calls send them at this moment.
        self._senders = 0
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
        example by a stop button. `ABORTED`: somebody else has extended it. Raises ValueError for a text that holds half
        of a character.
        """
        if text:
            await self._extend(DraftDelta(append_text=TextDelta(part_id=part_id, text=well_formed(text, "text"))))

    async def put(self, part: Part) -> None:
        """Adds a part, or replaces the last part with its id.

        For example, a tool call is replaced by the same call with its result. The errors are those of `write`, and a
        call without an answer counts as it does there.
        """
        await self._extend(DraftDelta(put_part=PartDelta(part=part)))

    async def finish(
        self,
        *,
        metadata: Mapping[str, Any] | None = None,
        usage: Usage | None = None,
        expected_position: int | None = None,
    ) -> int:
        """Appends the message, with these fields in its metadata and this usage, and returns its position.

        The end of the block then does nothing. If this call is cancelled or fails, the end of the block repeats it.
        `ABORTED`: the message would not get `expected_position`. The draft then stays open as if this call had not been
        made.
        """
        await self._end(self._finishing(metadata, usage, expected_position))
        return cast(int, self.position)

    async def discard(self) -> None:
        """Discards the draft and everything that was written.

        The end of the block then does nothing. If this call is cancelled or fails, the end of the block repeats it.
        """
        await self._end(self._discarding())

    async def __aexit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if not self._is_open:
            return
        # If the draft cannot be ended, the service ends it, because nobody renews it.
        self._stop_renewing()
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
        self._pulse = AsyncPulse(self._renew, _RENEWAL_SECONDS)

    async def _undo_begin(self) -> None:
        """Discards the draft if it exists and is this one, for which it is begun again."""
        try:
            await self._begin()
            await self.discard()
        except Exception as error:
            if not (isinstance(error, grpc.RpcError) and is_refusal(error)):
                self._warn()
        finally:
            self._stop_renewing()

    def _finishing(
        self,
        metadata: Mapping[str, Any] | None,
        usage: Usage | None = None,
        expected_position: int | None = None,
    ) -> FinishDraftRequest:
        request = FinishDraftRequest(
            session_id=self._start.session_id,
            message_id=self.message_id,
            expected_position=expected_position,
            usage=usage,
        )
        if metadata:
            request.metadata.CopyFrom(to_struct(metadata))
        return request

    def _discarding(self) -> DiscardDraftRequest:
        return DiscardDraftRequest(session_id=self._start.session_id, message_id=self.message_id)

    async def _end(self, request: FinishDraftRequest | DiscardDraftRequest) -> None:
        with self._lock:
            self._ending = request
        if isinstance(request, FinishDraftRequest):
            await self._finish(request)
        else:
            await self._calls._again(self._calls.messages.DiscardDraft, request)
        self._is_open = False
        self._stop_renewing()

    def _stop_renewing(self) -> None:
        if self._pulse is not None:
            self._pulse.stop()

    async def _finish(self, request: FinishDraftRequest) -> None:
        await self._send_unanswered()
        request.version = self._version
        try:
            self.position = (await self._calls._again(self._calls.messages.FinishDraft, request)).position
        except grpc.RpcError as error:
            if code_of(error) is grpc.StatusCode.ABORTED and request.HasField("expected_position"):
                self._ending = None
            raise

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

    async def _extend(self, *deltas: DraftDelta) -> None:
        own = self._extension(*deltas)
        with self._lock:
            self._unanswered.append(own)
        await self._send_unanswered(own)
        if own.refusal is not None:
            raise own.refusal

    def _extension(self, *deltas: DraftDelta) -> _Extension:
        return _Extension(
            ExtendDraftRequest(session_id=self._start.session_id, message_id=self.message_id, deltas=deltas)
        )

    async def _send_unanswered(self, own: _Extension | None = None) -> None:
        """Sends all that has no answer yet, in order, up to `own` if it is given.

        What was sent before is sent with the same version, so the service stores it once. What is refused is left out.
        """
        with self._lock:
            self._senders += 1
        try:
            while (first := self._first_before(own)) is not None:
                await self._send(first)
        finally:
            with self._lock:
                self._senders -= 1

    def _first_before(self, own: _Extension | None) -> _Extension | None:
        with self._lock:
            if not self._unanswered or (own is not None and own.is_answered):
                return None
            first = self._unanswered[0]
            first.request.version = self._version
            return first

    async def _send(self, first: _Extension) -> None:
        version = first.request.version
        refusal = None
        try:
            version = (await self._calls._again(self._calls.messages.ExtendDraft, first.request)).version
        except grpc.RpcError as error:
            if not is_refusal(error):
                raise
            refusal = error
            self.is_stopped = self.is_stopped or code_of(error) in _NOT_OPEN
        with self._lock:
            # A call at the same time may have received the same answer.
            if not first.is_answered:
                first.is_answered = True
                first.refusal = refusal
                self._version = version
                del self._unanswered[0]

    async def _renew(self) -> bool:
        """Keeps the draft open unless a call is doing so. Returns whether it may have to be renewed again."""
        if not self._is_open or self.is_stopped or self._calls._is_closed:
            return False
        with self._lock:
            if self._ending is not None or self._senders > 0:
                return True
            # What had no answer before renews the draft as well. Otherwise a call without deltas only renews it.
            if not self._unanswered:
                self._unanswered.append(self._extension())
            last = self._unanswered[-1]
        try:
            await self._send_unanswered(last)
        except grpc.RpcError:
            pass  # It is repeated soon, or the draft has ended.
        except Exception:
            _log.warning("Could not renew draft %s", self.message_id, exc_info=True)
        if self.is_stopped and self._ending is None and self._on_stop is not None:
            self._on_stop()
        return True
