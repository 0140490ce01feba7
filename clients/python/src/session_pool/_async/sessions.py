from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

from google.protobuf.timestamp_pb2 import Timestamp
from sessionpool.v1.session_service_pb2 import (
    CreateSessionRequest,
    CreateTicketRequest,
    CreateTicketResponse,
    DeleteSessionRequest,
    ForkSessionRequest,
    GetSessionRequest,
    ListSessionsRequest,
    LoadSessionRequest,
    LoadSessionResponse,
    RevertSessionRequest,
    RevokeTicketsRequest,
    Session,
    SessionView,
    ShareSessionRequest,
    UndeleteSessionRequest,
    UnrevertSessionRequest,
    UpdateSessionRequest,
)

from session_pool._async.calls import Calls
from session_pool.messages import new_id
from session_pool.times import optional_timestamp, to_timestamp
from session_pool.values import label_filters, to_labels, to_struct

_VIEWS = {"basic": SessionView.SESSION_VIEW_BASIC, "full": SessionView.SESSION_VIEW_FULL}


class Sessions(Calls):
    """The calls of SessionService."""

    async def create_session(
        self,
        session_id: str = "",
        *,
        title: str = "",
        parent_id: str = "",
        metadata: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        expire_time: datetime | Timestamp | None = None,
        owner: str = "",
    ) -> Session:
        """Makes an empty session.

        If a session with this id exists and has what this call names, returns that session. A client whose key is bound
        to an owner need not name it. `ALREADY_EXISTS`: another session has the id. `NOT_FOUND`: there is no session
        `parent_id`. `PERMISSION_DENIED`: the key is bound to another owner.
        """
        request = CreateSessionRequest(
            session_id=session_id or new_id(),
            title=title,
            parent_id=parent_id,
            labels=to_labels(labels),
            expire_time=optional_timestamp(expire_time),
            owner=owner,
        )
        if metadata:
            request.metadata.CopyFrom(to_struct(metadata))
        return await self._again(self.sessions.CreateSession, request)

    async def get_session(self, session_id: str) -> Session:
        """Returns the session with its exact `message_count` and `update_time`.

        `NOT_FOUND`: there is no such session.
        """
        return await self._again(self.sessions.GetSession, GetSessionRequest(session_id=session_id))

    async def load_session(
        self, session_id: str, *, limit: int | None = None, page_token: str = ""
    ) -> LoadSessionResponse:
        """Returns the session, its last `limit` messages, oldest first, and its open drafts.

        The default is 100, and at most 1,000 or about 3 MiB are returned. With the `next_page_token` of an earlier
        answer, the messages are those before, and the drafts are left out.
        """
        request = LoadSessionRequest(session_id=session_id, limit=limit, page_token=page_token)
        return await self._again(self.sessions.LoadSession, request)

    async def undelete_session(self, session_id: str) -> Session:
        """Brings back the session with this id that was deleted last, as it was, and returns it.

        Servers keep deleted sessions for a while if they have `--undelete-days`. `NOT_FOUND`: there is no such deleted
        session. `ALREADY_EXISTS`: another session has the id now.
        """
        return await self._again(self.sessions.UndeleteSession, UndeleteSessionRequest(session_id=session_id))

    async def list_sessions(
        self,
        *,
        parent_id: str = "",
        labels: Mapping[str, str] | Iterable[str] = (),
        owner: str = "",
        no_owner: bool = False,
        order_by: str = "",
        updated_since: datetime | Timestamp | None = None,
        updated_until: datetime | Timestamp | None = None,
        title: str = "",
        on_total: Callable[[int, bool], object] | None = None,
        view: Literal["basic", "full"] = "basic",
        deleted: bool = False,
        page_size: int | None = None,
    ) -> AsyncIterator[Session]:
        """Yields all sessions, the most recently updated first, or in the order of `order_by`.

        `order_by` is `update_time`, `create_time` or `title`, with ` desc` after it for the other way. `updated_since`
        and `updated_until` select by the last update, from one time until before another, and `title` by words that the
        title must have, all of them. `on_total` is called once, with the number of sessions on all pages and whether
        that is an estimate. `parent_id` and `labels` select those with this parent and all of these labels, which are a mapping, or texts
        like `key=value`. `owner` selects those of one owner, and `no_owner` those without one. The view `full` adds
        `message_count` and `last_message`, and takes longer. With `deleted`, it yields those that `undelete_session` can
        bring back, the newest delete first; then only `owner` and `no_owner` select. Pages are read as they are needed.
        """
        if view not in _VIEWS:
            raise ValueError(f"view must be one of {', '.join(_VIEWS)}, not {view!r}")
        request = ListSessionsRequest(
            parent_id=parent_id,
            label=label_filters(labels),
            owner=owner,
            no_owner=no_owner,
            order_by=order_by,
            updated_since=optional_timestamp(updated_since),
            updated_until=optional_timestamp(updated_until),
            title=title,
            with_total=on_total is not None,
            view=_VIEWS[view],
            deleted=deleted,
            limit=page_size,
        )
        while True:
            page = await self._again(self.sessions.ListSessions, request)
            if on_total is not None and request.with_total:
                on_total(page.total_size, page.total_is_estimate)
            request.with_total = False
            for session in page.sessions:
                yield session
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def update_session(
        self,
        session_id: str,
        *,
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        expire_time: datetime | Timestamp | Literal["never"] | None = None,
        owner: str | None = None,
        expected_revision: int | None = None,
    ) -> Session:
        """Changes what is given, and returns the session.

        Metadata and labels replace the old ones as a whole, so `{}` removes them. The expiry time `never` removes the
        session's own. An empty `owner` leaves the session without one; another owner discards its open drafts, and ends
        its tickets and the watches of the owner before. The call is sent only once. `NOT_FOUND`: there is no such
        session. `ABORTED`: its revision is not `expected_revision`. `PERMISSION_DENIED`: the key is bound to an owner,
        and this is another.
        """
        request = UpdateSessionRequest(session_id=session_id, expected_revision=expected_revision)
        changed = request.update_mask.paths
        if title is not None:
            request.title = title
            changed.append("title")
        if metadata is not None:
            request.metadata.CopyFrom(to_struct(metadata))
            changed.append("metadata")
        if labels is not None:
            request.labels.update(to_labels(labels) or {})
            changed.append("labels")
        if expire_time is not None:
            if expire_time != "never":
                request.expire_time.CopyFrom(to_timestamp(expire_time))
            changed.append("expire_time")
        if owner is not None:
            request.owner = owner
            changed.append("owner")
        return await self._once(self.sessions.UpdateSession, request)

    async def delete_session(self, session_id: str) -> None:
        """Deletes a session and its messages. Forks keep theirs.

        The call is sent only once. `NOT_FOUND`: there is no such session.
        """
        await self._once(self.sessions.DeleteSession, DeleteSessionRequest(session_id=session_id))

    async def create_ticket(
        self,
        session_id: str,
        scope: Literal["read", "write"],
        *,
        expire_time: datetime | Timestamp | None = None,
    ) -> CreateTicketResponse:
        """Makes a ticket, which opens this one session and nothing else, for a browser that has no key.

        It ends at `expire_time`, which is at most 30 days ahead, or else after an hour. `NOT_FOUND`: there is no such
        session. `FAILED_PRECONDITION`: the server has no secret for tickets.
        """
        request = CreateTicketRequest(
            session_id=session_id, scope=scope, expire_time=optional_timestamp(expire_time)
        )
        return await self._again(self.sessions.CreateTicket, request)

    async def revoke_tickets(self, session_id: str) -> None:
        """Ends all tickets of a session, and the watches that were opened with them.

        The call is sent only once, because a second one would also end tickets that were made in between. `NOT_FOUND`:
        there is no such session.
        """
        await self._once(self.sessions.RevokeTickets, RevokeTicketsRequest(session_id=session_id))

    async def fork_session(
        self, session_id: str, *, up_to_message_id: str = "", new_session_id: str = "", title: str = ""
    ) -> Session:
        """Makes a session that begins with the messages of this one.

        They are those up to and including `up_to_message_id`, or all when it is empty. Without a title, it has the
        title of this one.
        """
        request = ForkSessionRequest(session_id=session_id, up_to_message_id=up_to_message_id, title=title)
        request.new_session_id = new_session_id or new_id()
        return (await self._again(self.sessions.ForkSession, request)).session

    async def share_session(self, session_id: str, *, new_session_id: str = "") -> Session:
        """Makes a session with a copy of all messages, to be given to others."""
        request = ShareSessionRequest(session_id=session_id, new_session_id=new_session_id or new_id())
        return (await self._again(self.sessions.ShareSession, request)).session

    async def revert_session(
        self,
        session_id: str,
        *,
        up_to_message_id: str = "",
        to_start: bool = False,
        expected_revision: int | None = None,
        expected_removed_count: int | None = None,
    ) -> int:
        """Removes the messages after `up_to_message_id` or, with `to_start`, all messages.

        Returns how many were removed. The call is sent only once. `unrevert_session` undoes it. `INVALID_ARGUMENT`: the
        session does not have the message, or not exactly one of the two was given. `ABORTED`: the session's revision is
        not `expected_revision`, or the call would remove another number of messages than `expected_removed_count`,
        perhaps because somebody has appended some.
        """
        request = RevertSessionRequest(
            session_id=session_id,
            up_to_message_id=up_to_message_id,
            to_start=to_start,
            expected_revision=expected_revision,
            expected_removed_count=expected_removed_count,
        )
        return (await self._once(self.sessions.RevertSession, request)).removed_count

    async def unrevert_session(self, session_id: str) -> int:
        """Brings back the messages that reverts removed, unless the history has changed since.

        Returns how many were restored. The call is sent only once. `FAILED_PRECONDITION`: there is nothing to bring
        back.
        """
        request = UnrevertSessionRequest(session_id=session_id)
        return (await self._once(self.sessions.UnrevertSession, request)).restored_count
