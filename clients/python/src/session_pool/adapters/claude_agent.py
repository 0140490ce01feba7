"""Keeps the transcripts of the Claude Agent SDK (`pip install claude-agent-sdk`)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, cast

import grpc
from claude_agent_sdk import SessionStore
from google.protobuf.field_mask_pb2 import FieldMask
from sessionpool.v1.message_service_pb2 import MessageInfo, MessageWithParts, UpdateMessageRequest
from sessionpool.v1.session_service_pb2 import Session
from sessionpool.v1.usage_service_pb2 import Usage

from session_pool import AsyncSessionPoolClient
from session_pool.adapters.attaching import attach, restore
from session_pool.adapters.batches import batches
from session_pool.adapters.claude_entries import KEPT, fitted_entry, to_entries, to_message
from session_pool.adapters.claude_usage import ResponseUsages
from session_pool.adapters.storable import to_storable, well_formed
from session_pool.retry import code_of
from session_pool.values import from_struct

if TYPE_CHECKING:
    from claude_agent_sdk.types import SessionKey, SessionListSubkeysKey, SessionStoreEntry, SessionStoreListEntry

_MOST_SEEN = 100_000


class SessionPoolStore(SessionStore):
    """A store in which each transcript is a session of session-pool.

    The transcripts of a project are the children of one session. The transcripts of subagents are the children of the
    session of their main transcript.

    Each entry is a message that holds the JSON of the entry as the text of a part, and before it what the user or the
    assistant has said. What is too large for a message is kept in attachments. The `uuid` of an entry is the id of its
    message, so an entry is stored once. The first entry of each response of the model has its usage; copies of entries,
    which forks begin with, have none.

    If a transcript is deleted after this store has read or written it, appending to it raises `NOT_FOUND`.
    """

    def __init__(self, client: AsyncSessionPoolClient) -> None:
        """The caller closes the client."""
        self._client = client
        # The ids of the sessions that are not made again, the oldest first.
        self._seen: dict[str, None] = {}
        self._usages = ResponseUsages()

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Appends entries in order. An entry whose `uuid` the transcript already has is left out."""
        messages: dict[str, tuple[SessionStoreEntry, MessageWithParts]] = {}
        for entry in entries:
            message = to_message(entry)
            messages.setdefault(message.info.id, (entry, message))
        found, grown = self._usages.set_usages(_id_of(key), list(messages.values()))
        for batch in batches(message for _, message in messages.values()):
            # Other appends may make the session meanwhile.
            was_seen = _id_of(key) in self._seen
            try:
                await self._append(_id_of(key), batch)
            except grpc.RpcError as error:
                _ignore(error, grpc.StatusCode.NOT_FOUND)
                if was_seen:
                    raise
                await self._create(key)
                await self._append(_id_of(key), batch)
            self._see(_id_of(key))
        for message_id, usage in grown:
            await self._set_usage(_id_of(key), message_id, usage)
        self._usages.note(found)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Returns all entries, oldest first, or None for a transcript that was never written."""
        try:
            messages = [message async for message in self._client.list_messages(_id_of(key), page_size=1000)]
        except grpc.RpcError as error:
            _ignore(error, grpc.StatusCode.NOT_FOUND)
            return None
        self._see(_id_of(key))
        return to_entries(await restore(self._client, _id_of(key), messages)) or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Returns the transcripts of a project, without those of subagents.

        A main transcript of which only subagents' transcripts were written is not one of them.
        """
        return [
            {"session_id": session_id, "mtime": session.update_time.ToMilliseconds()}
            async for session in self._transcripts(_project_id(project_key), view="full")
            if session.message_count > 0 and (session_id := _kept(session, "session_id")) is not None
        ]

    async def delete(self, key: SessionKey) -> None:
        """Deletes a transcript, and with a main transcript those of its subagents. A missing one is no error."""
        if "subpath" not in key:
            for child in [one.session_id async for one in self._transcripts(_id_of(key))]:
                await self._delete(child)
        await self._delete(_id_of(key))

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Returns the subpaths of the transcripts of subagents."""
        parent = _id_of(cast("SessionKey", key))
        return [
            subpath
            async for session in self._transcripts(parent)
            if (subpath := _kept(session, "subpath")) is not None
        ]

    # The SDK knows by the inherited method that a store has no summaries. Naming it here tells type checkers that the
    # class is not abstract.
    list_session_summaries = SessionStore.list_session_summaries

    async def _transcripts(self, parent_id: str, *, view: Literal["basic", "full"] = "basic") -> AsyncIterator[Session]:
        """Yields the transcripts below a session, without its forks and what else others have put there."""
        async for session in self._client.list_sessions(parent_id=parent_id, view=view, page_size=1000):
            if session.session_id.startswith(f"{parent_id}-"):
                yield session

    async def _set_usage(self, session_id: str, message_id: str, usage: Usage) -> None:
        request = UpdateMessageRequest(
            session_id=session_id,
            message_id=message_id,
            message=MessageWithParts(info=MessageInfo(usage=usage)),
            update_mask=FieldMask(paths=["info.usage"]),
        )
        try:
            await self._client.messages.UpdateMessage(request)
        except grpc.RpcError as error:
            # It was removed, or the server is of an earlier version, which knows no usage.
            if code_of(error) is not grpc.StatusCode.INVALID_ARGUMENT:
                _ignore(error, grpc.StatusCode.NOT_FOUND)

    async def _append(self, session_id: str, batch: list[MessageWithParts]) -> None:
        fitting = await attach(self._client, session_id, batch, fitted_entry, json_text_type=KEPT)
        try:
            await self._client.append_all(session_id, fitting)
        except grpc.RpcError as error:
            # The transcript has this uuid with other content. The first entry stays.
            _ignore(error, grpc.StatusCode.ALREADY_EXISTS)
            for message in fitting:
                await self._append_unless_known(session_id, message)

    async def _append_unless_known(self, session_id: str, message: MessageWithParts) -> None:
        try:
            await self._client.append(session_id, message)
        except grpc.RpcError as error:
            _ignore(error, grpc.StatusCode.ALREADY_EXISTS)

    async def _create(self, key: SessionKey) -> None:
        """Makes the transcript's session and its parents, unless they exist.

        `NOT_FOUND`: the main transcript has been deleted since this store made or read it.
        """
        main = _main_of(key)
        if _id_of(main) not in self._seen:
            project = _project_id(key["project_key"])
            await self._client.create_session(
                project, metadata={KEPT: to_storable({"project_key": key["project_key"]})}
            )
            await self._client.create_session(_id_of(main), parent_id=project, metadata={KEPT: to_storable(main)})
            self._see(_id_of(main))
        if "subpath" in key:
            await self._client.create_session(_id_of(key), parent_id=_id_of(main), metadata={KEPT: to_storable(key)})

    def _see(self, session_id: str) -> None:
        self._seen[session_id] = None
        if len(self._seen) > _MOST_SEEN:
            del self._seen[next(iter(self._seen))]

    async def _delete(self, session_id: str) -> None:
        try:
            await self._client.delete_session(session_id)
        except grpc.RpcError as error:
            _ignore(error, grpc.StatusCode.NOT_FOUND)


def _main_of(key: SessionKey) -> SessionKey:
    return {"project_key": key["project_key"], "session_id": key["session_id"]}


def _project_id(project_key: str) -> str:
    return f"claude-{_short(project_key)}"


def _id_of(key: SessionKey) -> str:
    """Returns the session id of a key.

    The parts of the key are hashed, because they may be longer than ids and hold any character.
    """
    parts = [_project_id(key["project_key"]), _short(key["session_id"])]
    return "-".join([*parts, _short(key["subpath"])] if "subpath" in key else parts)


def _short(text: str) -> str:
    return sha256(well_formed(text).encode()).hexdigest()[:24]


def _kept(session: Session, field: str) -> str | None:
    """Returns a field of the transcript's key, or None if somebody has replaced the session's metadata."""
    kept = from_struct(session.metadata).get(KEPT)
    value = kept.get(field) if isinstance(kept, dict) else None
    return value if isinstance(value, str) else None


def _ignore(error: grpc.RpcError, code: grpc.StatusCode) -> None:
    if code_of(error) is not code:
        raise error
