from __future__ import annotations

from collections.abc import AsyncIterator

import grpc
from sessionpool.v1.message_service_pb2 import CountMessagesRequest, WatchMessagesRequest, WatchMessagesResponse

from session_pool._async.calls import Calls
from session_pool.retry import Patience, code_of
from session_pool.transport import async_sleep


class Watching(Calls):
    """Follows sessions, through broken connections."""

    async def watch(
        self, session_id: str, *, from_position: int | None = None, resume_token: str = ""
    ) -> AsyncIterator[WatchMessagesResponse]:
        """What is appended to a session and what edits change, as it happens, without end; heartbeats are left out.

        Begins with the message at `from_position`, after the event that had `resume_token`, or with what comes after the first `next`. A broken connection is opened
        again after the last event: nothing is missed or repeated. `event.WhichOneof("event")` says what an event is.

        Ends with gRPC's error: `NOT_FOUND` when the session is deleted, or whatever the server could not be reached with for
        `retry_for` seconds.
        """
        request = WatchMessagesRequest(session_id=session_id, from_position=from_position, resume_token=resume_token)
        # Where "now" was, for a connection that breaks before the first event.
        begun_at = None
        if from_position is None and not resume_token:
            begun_at = (
                await self._again(self.messages.CountMessages, CountMessagesRequest(session_id=session_id))
            ).count
            request.from_position = begun_at
        patience = Patience(self._retry_for)
        while True:
            call = self.messages.WatchMessages(request)
            try:
                async for event in call:
                    patience.reset()
                    request.ClearField("from_position")
                    request.resume_token = event.resume_token
                    if event.WhichOneof("event") != "heartbeat":
                        yield event
                pause = 0.1
            except grpc.RpcError as error:
                if (
                    begun_at is not None
                    and not request.resume_token
                    and code_of(error) is grpc.StatusCode.INVALID_ARGUMENT
                ):
                    # An edit removed messages since they were counted.
                    request.ClearField("from_position")
                    begun_at = None
                    continue
                pause = patience.pause_after(error, stream=True)
            finally:
                call.cancel()
            await async_sleep(pause)
