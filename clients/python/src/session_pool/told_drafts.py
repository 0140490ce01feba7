"""Remembers the drafts that a watch has told of, so that a reconnect hides no end of one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from google.protobuf.timestamp_pb2 import Timestamp
from sessionpool.v1.message_service_pb2 import Draft, DraftEnded, WatchMessagesResponse


@dataclass
class _ToldDraft:
    # Tells it from another draft that uses its id later.
    started: Timestamp
    # Whether a message with its id has been told since.
    has_message: bool = False
    # Whether the present connection has told of it, and therefore tells its end.
    is_current: bool = True


class ToldDrafts:
    """The drafts that a watch has told of and that have not ended.

    A connection begins with the drafts that are open then, and says nothing about those that have ended since the one
    before, so their ends are added here.
    """

    def __init__(self) -> None:
        self._told: dict[str, _ToldDraft] = {}

    def __len__(self) -> int:
        return len(self._told)

    def begin_connection(self) -> None:
        """Notes that a connection has told nothing yet."""
        for draft in self._told.values():
            draft.is_current = False

    def without(self, open_drafts: Iterable[Draft]) -> dict[str, bool]:
        """Returns the ids of those that are not among these any more, each with whether its message has been told."""
        started = {draft.message.info.id: draft.start_time for draft in open_drafts}
        return {id: told.has_message for id, told in self._told.items() if started.get(id) != told.started}

    def end(self, message_id: str, resume_token: str) -> WatchMessagesResponse:
        """Returns the event of an end, after which the draft is forgotten."""
        ended = DraftEnded(message_id=message_id, finished=self._told.pop(message_id).has_message)
        return WatchMessagesResponse(draft_ended=ended, resume_token=resume_token)

    def completed(self, event: WatchMessagesResponse) -> Iterator[WatchMessagesResponse]:
        """Yields an event of a connection, and the ends of drafts that the connection leaves out there."""
        kind = event.WhichOneof("event")
        if kind == "draft":
            message_id, started = event.draft.message.info.id, event.draft.start_time
            if message_id in self._told and self._told[message_id].started != started:
                yield self.end(message_id, event.resume_token)
            self._told[message_id] = _ToldDraft(started)
        elif kind == "draft_ended":
            self._told.pop(event.draft_ended.message_id, None)
        elif kind in ("draft_extended", "heartbeat"):
            # These come only after all open drafts. Any other has ended just before the connection began.
            for message_id in [id for id, told in self._told.items() if not told.is_current]:
                yield self.end(message_id, event.resume_token)
        yield event
        if kind == "appended" and (told := self._told.get(event.appended.info.id)):
            told.has_message = True
            if not told.is_current:
                yield self.end(event.appended.info.id, event.resume_token)
