"""Keeps the transcripts of the Claude Agent SDK (`pip install claude-agent-sdk`)."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

import grpc
from claude_agent_sdk import SessionStore
from sessionpool.v1.message_service_pb2 import MessageInfo, MessageWithParts, Part
from sessionpool.v1.session_service_pb2 import Session

from session_pool import AsyncSessionPoolClient
from session_pool.adapters.batches import batches
from session_pool.messages import new_id
from session_pool.retry import code_of
from session_pool.values import from_struct

if TYPE_CHECKING:
    from claude_agent_sdk.types import SessionKey, SessionListSubkeysKey, SessionStoreEntry, SessionStoreListEntry

_TYPE = "claude_agent"


class SessionPoolStore(SessionStore):
    """A store in which each transcript is a session of session-pool.

    The transcripts of a project are the children of one session. The transcripts of subagents are the children of the
    session of their main transcript.

    Each entry is a message that holds the JSON of the entry, 3 MiB at most, as the text of a part. The `uuid` of an
    entry is the id of its message, so an entry is stored once.
    """

    def __init__(self, client: AsyncSessionPoolClient) -> None:
        """The caller closes the client."""
        self._client = client

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Appends entries in order. An entry whose `uuid` the transcript already has is left out."""
        messages: dict[str, MessageWithParts] = {}
        for entry in entries:
            message = _to_message(entry)
            messages.setdefault(message.info.id, message)
        if not messages:
            return
        try:
            await self._append(_id_of(key), list(messages.values()))
        except grpc.RpcError as error:
            _ignore(error, grpc.StatusCode.NOT_FOUND)
            await self._create(key)
            await self._append(_id_of(key), list(messages.values()))

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Returns all entries, oldest first, or None for a transcript that was never written."""
        try:
            return [_to_entry(message) async for message in self._client.list_messages(_id_of(key), page_size=1000)]
        except grpc.RpcError as error:
            _ignore(error, grpc.StatusCode.NOT_FOUND)
            return None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Returns the transcripts of a project, without those of subagents."""
        return [
            {"session_id": _kept(session)["session_id"], "mtime": session.update_time.ToMilliseconds()}
            async for session in self._client.list_sessions(parent_id=_project_id(project_key))
        ]

    async def delete(self, key: SessionKey) -> None:
        """Deletes a transcript, and with a main transcript those of its subagents. A missing one is no error."""
        if "subpath" not in key:
            children = [one.session_id async for one in self._client.list_sessions(parent_id=_id_of(key))]
            for child in children:
                await self._delete(child)
        await self._delete(_id_of(key))

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Returns the subpaths of the transcripts of subagents."""
        parent = _id_of(cast("SessionKey", key))
        return [_kept(session)["subpath"] async for session in self._client.list_sessions(parent_id=parent)]

    # The SDK knows by the inherited method that a store has no summaries. Naming it here tells type checkers that the
    # class is not abstract.
    list_session_summaries = SessionStore.list_session_summaries

    async def _append(self, session_id: str, messages: list[MessageWithParts]) -> None:
        for batch in batches(messages):
            try:
                await self._client.append_all(session_id, batch)
            except grpc.RpcError as error:
                # The transcript has this uuid with other content. The first entry stays.
                _ignore(error, grpc.StatusCode.ALREADY_EXISTS)
                for message in batch:
                    await self._append_unless_known(session_id, message)

    async def _append_unless_known(self, session_id: str, message: MessageWithParts) -> None:
        try:
            await self._client.append(session_id, message)
        except grpc.RpcError as error:
            _ignore(error, grpc.StatusCode.ALREADY_EXISTS)

    async def _create(self, key: SessionKey) -> None:
        """Makes the transcript's session and its parents, unless they exist."""
        project_key, session_id = key["project_key"], key["session_id"]
        project = _project_id(project_key)
        await self._client.create_session(project, metadata={_TYPE: {"project_key": project_key}})
        main: SessionKey = {"project_key": project_key, "session_id": session_id}
        await self._client.create_session(_id_of(main), parent_id=project, metadata={_TYPE: dict(main)})
        if "subpath" in key:
            await self._client.create_session(_id_of(key), parent_id=_id_of(main), metadata={_TYPE: dict(key)})

    async def _delete(self, session_id: str) -> None:
        try:
            await self._client.delete_session(session_id)
        except grpc.RpcError as error:
            _ignore(error, grpc.StatusCode.NOT_FOUND)


def _project_id(project_key: str) -> str:
    return f"claude-{_short(project_key)}"


def _id_of(key: SessionKey) -> str:
    """Returns the session id of a key.

    The parts of the key are hashed, because they may be longer than ids and hold any character.
    """
    parts = [_project_id(key["project_key"]), _short(key["session_id"])]
    return "-".join([*parts, _short(key["subpath"])] if "subpath" in key else parts)


def _short(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:24]


def _kept(session: Session) -> dict[str, Any]:
    return cast("dict[str, Any]", from_struct(session.metadata)[_TYPE])


def _to_message(entry: SessionStoreEntry) -> MessageWithParts:
    part = Part(type=_TYPE, text=_to_json(entry))
    return MessageWithParts(info=MessageInfo(id=entry.get("uuid") or new_id(), role=entry["type"]), parts=[part])


def _to_json(entry: SessionStoreEntry) -> str:
    text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        # An output may be cut in the middle of a character. Half of one can be stored only as an escape.
        return json.dumps(entry, separators=(",", ":"))
    return text


def _to_entry(message: MessageWithParts) -> SessionStoreEntry:
    return cast("SessionStoreEntry", json.loads(message.parts[0].text))


def _ignore(error: grpc.RpcError, code: grpc.StatusCode) -> None:
    if code_of(error) is not code:
        raise error
