from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sessionpool.v1.message_service_pb2 import (
    DiscardDraftRequest,
    FinishDraftRequest,
    FinishDraftResponse,
    ListDraftsRequest,
    MessageInfo,
    MessageWithParts,
    StartDraftRequest,
)
from sessionpool.v1.message_service_pb2 import Draft as OpenDraft
from sessionpool.v1.usage_service_pb2 import Usage

from session_pool._async.calls import Calls
from session_pool._async.draft import AsyncDraft
from session_pool.messages import new_id, with_id
from session_pool.values import to_struct


class Drafting(Calls):
    """The calls that write a message piece by piece, or end what somebody else is writing."""

    def draft(
        self,
        session_id: str,
        message: MessageWithParts | None = None,
        *,
        role: str = "assistant",
        discard_when_abandoned: bool = False,
        create_session: bool = False,
        on_stop: Callable[[], object] | None = None,
    ) -> AsyncDraft:
        """Makes a draft to be written in a `with` block: `with client.draft("trip") as draft: draft.write("Late ")`.

        It begins as `message`, or as an empty message with this role. When the block raises or the writer disappears,
        what has been written is kept; with `discard_when_abandoned` it is discarded. Entering the block can raise
        `RESOURCE_EXHAUSTED` (too many drafts are open), `ALREADY_EXISTS` (the history has the id), and `NOT_FOUND`
        (there is no such session, and `create_session` is false).

        `on_stop` is called once, within a few seconds, when somebody else ends the draft while nothing is written, for
        example `asyncio.current_task().cancel`, so that a model or a tool stops. Without asyncio, it is called in
        another thread. If something is written, that call raises `FAILED_PRECONDITION` instead.
        """
        begun = with_id(message) if message else MessageWithParts(info=MessageInfo(id=new_id(), role=role))
        start = StartDraftRequest(
            session_id=session_id,
            message=begun,
            discard_when_abandoned=discard_when_abandoned,
            create_session=create_session,
        )
        return AsyncDraft(self, start, on_stop)

    async def list_drafts(self, session_id: str) -> list[OpenDraft]:
        """Returns the open drafts of a session in their current state, in the order in which they were started."""
        answer = await self._again(self.messages.ListDrafts, ListDraftsRequest(session_id=session_id))
        return list(answer.drafts)

    async def discard_draft(self, session_id: str, message_id: str) -> None:
        """Ends a draft that anybody writes and drops what was written, as a stop button does.

        `FAILED_PRECONDITION`: it was finished.
        """
        request = DiscardDraftRequest(session_id=session_id, message_id=message_id)
        await self._again(self.messages.DiscardDraft, request)

    async def finish_draft(
        self,
        session_id: str,
        message_id: str,
        *,
        version: int,
        metadata: Mapping[str, Any] | None = None,
        usage: Usage | None = None,
        expected_position: int | None = None,
    ) -> FinishDraftResponse:
        """Ends a draft that anybody writes and keeps what was written. Returns the message's id and position.

        `version` is that of the draft in `list_drafts`. `ABORTED`: its writer was faster, and `current_version` of the
        error is the one to try; or the message would not get `expected_position`. `FAILED_PRECONDITION`: the draft has
        ended otherwise.
        """
        request = FinishDraftRequest(
            session_id=session_id,
            message_id=message_id,
            version=version,
            expected_position=expected_position,
            usage=usage,
        )
        if metadata:
            request.metadata.CopyFrom(to_struct(metadata))
        return await self._again(self.messages.FinishDraft, request)
