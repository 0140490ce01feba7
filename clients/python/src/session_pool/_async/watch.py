from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping

import grpc
from sessionpool.v1.message_service_pb2 import (
    CountMessagesRequest,
    GetMessageRequest,
    ListDraftsRequest,
    WatchMessagesRequest,
    WatchMessagesResponse,
)
from sessionpool.v1.session_service_pb2 import WatchSessionsRequest, WatchSessionsResponse

from session_pool._async.calls import Calls
from session_pool.retry import Patience, code_of
from session_pool.told_drafts import ToldDrafts
from session_pool.transport import async_sleep
from session_pool.values import label_filters


class Watching(Calls):
    """The calls that follow a session, or all sessions, and reconnect when the connection breaks."""

    async def watch_sessions(
        self,
        *,
        resume_token: str = "",
        labels: Mapping[str, str] | Iterable[str] = (),
        owner: str = "",
        no_owner: bool = False,
        heartbeats: bool = False,
    ) -> AsyncIterator[WatchSessionsResponse]:
        """Yields which sessions are created, changed and deleted, without end. Heartbeats are left out.

        `labels`, `owner` and `no_owner` choose sessions as `list_sessions` does. Begins after the event that had
        `resume_token`, and without one as soon as the server has answered the first `next`. After a broken connection
        it continues, so that nothing is missed; the last events may be repeated. `event.WhichOneof("event")` names the
        kind of an event. With `heartbeats`, an event comes at least every 15 seconds.

        Raises the error at the end: `FAILED_PRECONDITION` when `resume_token` is older than the server keeps the feed,
        so that the sessions have to be listed anew, or the last error when the server could not be reached for
        `retry_for` seconds.
        """
        request = WatchSessionsRequest(
            resume_token=resume_token, label=label_filters(labels), owner=owner, no_owner=no_owner
        )
        patience = Patience(self._retry_for)
        while True:
            call = self.sessions.WatchSessions(request)
            was_accepted = False
            try:
                async for event in call:
                    was_accepted = True
                    patience.reset()
                    request.resume_token = event.resume_token
                    if heartbeats or event.WhichOneof("event") != "heartbeat":
                        yield event
                pause = 0.1
            except grpc.RpcError as error:
                if was_accepted and self._can_renew_key and code_of(error) is grpc.StatusCode.UNAUTHENTICATED:
                    continue
                pause = patience.pause_after(error, stream=True)
            finally:
                call.cancel()
            await async_sleep(pause)

    async def watch(
        self,
        session_id: str,
        *,
        from_position: int | None = None,
        resume_token: str = "",
        heartbeats: bool = False,
    ) -> AsyncIterator[WatchMessagesResponse]:
        """Yields the events of a session as they happen, without end. Heartbeats are left out.

        Begins with the message at `from_position`, or after the event that had `resume_token`. With neither, it begins
        with what happens after the first `next`. After a broken connection it continues after the last event, so that
        nothing is missed or repeated: each open draft comes again in full, as `draft`, and `draft_ended` for each that
        has ended meanwhile. `event.WhichOneof("event")` names the kind of an event. With `heartbeats`, an event comes
        at least every 15 seconds.

        With neither, it can miss messages in one case: the connection breaks before the first event or heartbeat, which
        comes within 15 seconds, and messages are removed before it has reconnected.

        Raises the error at the end: `NOT_FOUND` when the session is deleted, or the last error when the server could
        not be reached for `retry_for` seconds. When a key expires that a function has returned, the function is asked
        for another one; `UNAUTHENTICATED` means that this was refused too.
        """
        request = WatchMessagesRequest(session_id=session_id, from_position=from_position, resume_token=resume_token)
        # Fixes the moment "now", in case the connection breaks before the first event.
        begun_at = None
        if from_position is None and not resume_token:
            begun_at = (
                await self._again(self.messages.CountMessages, CountMessagesRequest(session_id=session_id))
            ).count
            request.from_position = begun_at
        patience = Patience(self._retry_for)
        drafts = ToldDrafts()
        while True:
            call = None
            was_accepted = False
            try:
                drafts.begin_connection()
                for message_id in await self._discarded(session_id, drafts) if drafts else ():
                    yield drafts.end(message_id, request.resume_token)
                call = self.messages.WatchMessages(request)
                async for received in call:
                    was_accepted = True
                    patience.reset()
                    request.ClearField("from_position")
                    request.resume_token = received.resume_token
                    for event in drafts.completed(received):
                        if heartbeats or event.WhichOneof("event") != "heartbeat":
                            yield event
                pause = 0.1
            except grpc.RpcError as error:
                code = code_of(error)
                if (
                    begun_at is not None
                    and not request.resume_token
                    and code is grpc.StatusCode.INVALID_ARGUMENT
                ):
                    # An edit has removed messages since they were counted.
                    request.ClearField("from_position")
                    begun_at = None
                    continue
                if was_accepted and self._can_renew_key and code is grpc.StatusCode.UNAUTHENTICATED:
                    continue
                pause = patience.pause_after(error, stream=True)
            finally:
                if call is not None:
                    call.cancel()
            await async_sleep(pause)

    async def _discarded(self, session_id: str, drafts: ToldDrafts) -> list[str]:
        """Returns the ids of drafts that have ended and whose messages do not follow.

        Those that have ended before a connection begins are not told by it, whatever happens meanwhile.
        """
        answer = await self.messages.ListDrafts(ListDraftsRequest(session_id=session_id), timeout=self._timeout)
        discarded = []
        for message_id, has_message in drafts.without(answer.drafts).items():
            if has_message or not await self._has_message(session_id, message_id):
                discarded.append(message_id)
        return discarded

    async def _has_message(self, session_id: str, message_id: str) -> bool:
        request = GetMessageRequest(session_id=session_id, message_id=message_id)
        try:
            await self.messages.GetMessage(request, timeout=self._timeout)
        except grpc.RpcError as error:
            if code_of(error) is grpc.StatusCode.NOT_FOUND:
                return False
            raise
        return True
