from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from sessionpool.v1.message_service_pb2 import (
    AppendMessageRequest,
    AppendMessageResponse,
    AppendMessagesRequest,
    AppendMessagesResponse,
    CopyMessagesRequest,
    CopyMessagesResponse,
    CountMessagesRequest,
    DeleteMessageRequest,
    EraseMessageRequest,
    GetMessageRequest,
    ListMessagesRequest,
    MessageWithParts,
    Part,
    SearchHit,
    SearchMessagesRequest,
    TruncateMessagesRequest,
    UpdateMessageRequest,
)
from sessionpool.v1.usage_service_pb2 import Usage

from session_pool._async.calls import Calls
from session_pool.messages import with_id
from session_pool.times import optional_timestamp
from session_pool.values import label_filters, to_struct


class History(Calls):
    """The calls that read and write the messages of sessions."""

    async def append(
        self,
        session_id: str,
        message: MessageWithParts,
        *,
        expected_position: int | None = None,
        create_session: bool = False,
    ) -> AppendMessageResponse:
        """Appends a message of at most 3 MiB. It is stored once, however often it is sent.

        Returns its position and its id, which is made here if it had none.

        `ABORTED`: the message would not get `expected_position`. `ALREADY_EXISTS`: the id has other content.
        `NOT_FOUND`: there is no such session, and `create_session` is false.
        """
        request = AppendMessageRequest(
            session_id=session_id,
            message=with_id(message),
            expected_position=expected_position,
            create_session=create_session,
        )
        return await self._again(self.messages.AppendMessage, request)

    async def append_all(
        self,
        session_id: str,
        messages: Iterable[MessageWithParts],
        *,
        expected_position: int | None = None,
        create_session: bool = False,
    ) -> AppendMessagesResponse:
        """Appends 1 to 1,000 messages of at most 8 MiB together, all or none.

        Otherwise it works like `append`. The position is that of the first message. `ABORTED`: a message would not get
        its place, counted from `expected_position`.
        """
        request = AppendMessagesRequest(
            session_id=session_id,
            messages=map(with_id, messages),
            expected_position=expected_position,
            create_session=create_session,
        )
        return await self._again(self.messages.AppendMessages, request)

    async def get_message(self, session_id: str, message_id: str) -> MessageWithParts:
        """Returns one message. `NOT_FOUND`: there is no such session or message."""
        request = GetMessageRequest(session_id=session_id, message_id=message_id)
        return await self._again(self.messages.GetMessage, request)

    async def count_messages(self, session_id: str) -> int:
        """Returns the number of messages of a session."""
        return (await self._again(self.messages.CountMessages, CountMessagesRequest(session_id=session_id))).count

    async def list_messages(
        self,
        session_id: str,
        *,
        newest_first: bool = False,
        include_ancestors: bool = False,
        since: datetime | Timestamp | None = None,
        until: datetime | Timestamp | None = None,
        offset: int | None = None,
        page_size: int | None = None,
    ) -> AsyncIterator[MessageWithParts]:
        """Yields all messages of a session, or those at or after `since` and before `until`.

        The first `offset` of them are left out. Pages are read as they are needed. Appends meanwhile cause no message
        to be skipped or repeated. `FAILED_PRECONDITION`: the last message of a page was removed meanwhile.
        """
        request = ListMessagesRequest(
            session_id=session_id,
            limit=page_size,
            newest_first=newest_first,
            include_ancestors=include_ancestors,
            since=optional_timestamp(since),
            until=optional_timestamp(until),
            offset=offset,
        )
        while True:
            page = await self._again(self.messages.ListMessages, request)
            for message in page.messages:
                yield message
            if not page.next_page_token:
                return
            request.ClearField("offset")
            request.page_token = page.next_page_token

    async def search_messages(
        self,
        q: str,
        *,
        labels: Mapping[str, str] | Iterable[str] = (),
        session_id: str = "",
        owner: str = "",
        no_owner: bool = False,
        role: str = "",
        since: datetime | Timestamp | None = None,
        until: datetime | Timestamp | None = None,
        page_size: int | None = None,
    ) -> AsyncIterator[SearchHit]:
        """Yields the messages of all sessions that contain the words of `q`, newest first.

        Pages are read as they are needed. `labels` selects sessions that have all of these labels, which are a mapping,
        or texts like `key=value`; `owner` selects those of one owner, and `no_owner` those without one. `role`, `since`
        and `until` select messages by their role and timestamp; those of the time `until` are left out.
        `UNIMPLEMENTED`: the server was started without `--search`, or its store cannot search.
        """
        request = SearchMessagesRequest(
            q=q,
            label=label_filters(labels),
            session_id=session_id,
            owner=owner,
            no_owner=no_owner,
            role=role,
            since=optional_timestamp(since),
            until=optional_timestamp(until),
            limit=page_size,
        )
        while True:
            page = await self._again(self.messages.SearchMessages, request)
            for hit in page.hits:
                yield hit
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def update_message(
        self,
        session_id: str,
        message_id: str,
        *,
        parts: Iterable[Part] | None = None,
        role: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        usage: Usage | None = None,
        expected_revision: int | None = None,
    ) -> MessageWithParts:
        """Gives a message new content at its place, and returns it.

        Parts, metadata and usage replace the old ones as a whole, so `[]`, `{}` and `Usage()` remove them. With `expected_revision`, the
        call is sent only once. `NOT_FOUND`: there is no such session or message. `ABORTED`: the session's revision is
        not `expected_revision`.
        """
        request = UpdateMessageRequest(
            session_id=session_id, message_id=message_id, expected_revision=expected_revision
        )
        request.message.info.id = message_id
        changed = request.update_mask.paths
        if parts is not None:
            request.message.parts.extend(parts)
            changed.append("parts")
        if role is not None:
            request.message.info.role = role
            changed.append("info.role")
        if metadata is not None:
            request.message.info.metadata.CopyFrom(to_struct(metadata))
            changed.append("info.metadata")
        if usage is not None:
            request.message.info.usage.CopyFrom(usage)
            changed.append("info.usage")
        send = self._again if expected_revision is None else self._once
        return await send(self.messages.UpdateMessage, request)

    async def delete_message(
        self, session_id: str, message_id: str, *, expected_revision: int | None = None
    ) -> None:
        """Removes one message for good. The positions of later messages decrease by one.

        The call is sent only once. `NOT_FOUND`: there is no such session or message. `ABORTED`: the session's revision
        is not `expected_revision`.
        """
        request = DeleteMessageRequest(
            session_id=session_id, message_id=message_id, expected_revision=expected_revision
        )
        await self._once(self.messages.DeleteMessage, request)

    async def truncate_messages(
        self,
        session_id: str,
        *,
        up_to_message_id: str = "",
        to_start: bool = False,
        expected_revision: int | None = None,
    ) -> int:
        """Removes for good the messages after `up_to_message_id` or, with `to_start`, all messages.

        Returns how many were removed. The call is sent only once. The errors are those of `revert_session`.
        """
        request = TruncateMessagesRequest(
            session_id=session_id,
            up_to_message_id=up_to_message_id,
            to_start=to_start,
            expected_revision=expected_revision,
        )
        return (await self._once(self.messages.TruncateMessages, request)).removed_count

    async def copy_messages(
        self,
        session_id: str,
        target_session_id: str,
        *,
        up_to_message_id: str = "",
        expected_revision: int | None = None,
    ) -> CopyMessagesResponse:
        """Copies messages into another session, merged by time.

        They are those up to and including `up_to_message_id`, or all when it is empty; those whose ids the target has
        are left out. Returns the number of copied messages and the id of the last one. The call is sent only once.
        `NOT_FOUND`: there is no such session or target. `ABORTED`: the target's revision is not `expected_revision`.
        """
        request = CopyMessagesRequest(
            session_id=session_id,
            target_session_id=target_session_id,
            up_to_message_id=up_to_message_id,
            expected_revision=expected_revision,
        )
        return await self._once(self.messages.CopyMessages, request)

    async def erase_message(self, session_id: str, message_id: str) -> int:
        """Overwrites the content of a message, and of all its copies, everywhere in the namespace.

        Returns how many places held it. The key needs the scope `admin`. The call has no time limit, because it may
        take minutes. `NOT_FOUND`: there is no such session or message.
        """
        request = EraseMessageRequest(session_id=session_id, message_id=message_id)
        return (await self._again(self.messages.EraseMessage, request, has_deadline=False)).copy_count
