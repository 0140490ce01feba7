"""Converts entries of Claude's transcripts to messages of a session, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

from sessionpool.v1.message_service_pb2 import MessageInfo, MessageWithParts, Part

from session_pool.adapters.attachable import MOST_INLINE_BYTES, PREVIEW_BYTES, beginning_of
from session_pool.adapters.erased import ERASED, PairedMessage, is_erased, pair_erased
from session_pool.adapters.fitted import MOST_BYTES, cut_texts, mark_cut, without_cut_files
from session_pool.adapters.storable import from_storable, to_storable, utf8_json, well_formed
from session_pool.messages import new_id, text_of

if TYPE_CHECKING:
    from claude_agent_sdk.types import SessionStoreEntry

KEPT = "claude_agent"
_MOST_ID_BYTES = 128
# What the info of the message may get, which says what was cut.
_MOST_INFO_BYTES = 4096
# Fields that the entries of a transcript have in common.
_COMMON = ("sessionId", "isSidechain", "agentId", "userType", "cwd", "version", "gitBranch")

# Texts of this size are not cut.
_SHORT_BYTES = 512
# What the SDK needs of any entry.
_OWN = ("type", "uuid", "parentUuid", "sessionId", "timestamp")


def to_message(entry: SessionStoreEntry) -> MessageWithParts:
    """Converts an entry to a message of any size with the exact JSON of the entry, after the words that people look for.

    The `uuid` of the entry is the message's id.
    """
    fields = cast("dict[str, Any]", entry)
    kind = fields.get("type")
    role = well_formed(kind) if isinstance(kind, str) and kind else "entry"
    message = MessageWithParts(info=MessageInfo(id=_id_of(fields.get("uuid")), role=role))
    words = well_formed(_words(fields))
    if len(words.encode()) > MOST_INLINE_BYTES:
        words = beginning_of(words, PREVIEW_BYTES)
    if words:
        message.parts.add(type="text", text=words)
    message.parts.append(Part(type=KEPT, text=_to_json(fields)))
    return message


def fitted_entry(message: MessageWithParts) -> MessageWithParts:
    """Returns the message itself if it has at most 3 MiB, else a copy in which the largest texts of the entry are cut.

    The words are there to be found, and what the entry holds comes first.
    """
    if message.ByteSize() <= MOST_BYTES:
        return message
    copy = MessageWithParts()
    copy.CopyFrom(message)
    kept = next(part for part in copy.parts if part.type == KEPT)
    words = [part for part in copy.parts if part.type == "text"]
    others = copy.ByteSize() - sum(len(part.text.encode()) for part in (kept, *words))
    most = MOST_BYTES - _MOST_INFO_BYTES - others
    if len(kept.text.encode()) > most:
        kept.text, marks = _cut(kept.text, most)
        mark_cut(copy, marks)
    for part in words:
        part.text = beginning_of(part.text, max(0, most - len(kept.text.encode())))
        if not part.text:
            copy.parts.remove(part)
    return copy


def to_entries(messages: Sequence[MessageWithParts]) -> list[SessionStoreEntry]:
    """Converts the messages of a transcript, oldest first, to entries.

    An erased message becomes an entry in the same place of the chain, with the calls or the results that others need. A
    message that another client has appended becomes an entry with its text.
    """
    read = [_read(message) for message in messages]
    all_paired = [_paired(entry, message) for entry, message in zip(read, messages)]
    ids = pair_erased(all_paired)
    callers = {id: entry for entry, paired in zip(read, all_paired) if entry is not None for id in paired.calls}
    entries: list[dict[str, Any]] = []
    last: dict[str, Any] = {}
    for at, (message, entry) in enumerate(zip(messages, read)):
        if entry is None:
            # Results come after their calls, which is not always the entry before when several tools ran at once.
            before = next((callers[id] for id in ids[at] if id in callers), last)
            neighbor = last or next((one for one in read[at + 1 :] if one is not None), {})
            entry = _instead(message, before, neighbor, ids[at])
        if isinstance(entry.get("uuid"), str):
            last = entry
        entries.append(entry)
    return cast("list[SessionStoreEntry]", entries)


def _to_json(fields: dict[str, Any]) -> str:
    try:
        return utf8_json(fields)
    except (RecursionError, TypeError, ValueError):
        return utf8_json(from_storable(to_storable(fields)))


def _cut(text: str, most: int) -> tuple[str, list[dict[str, Any]]]:
    """Returns the JSON of an entry with its largest texts cut to so many bytes together, and where they were."""
    fields = json.loads(text)
    marks = cut_texts(fields, len(text.encode()) - most)
    while len((text := _to_json(fields)).encode()) > most:
        # What is left is escapes, which are longer as JSON, or many small values.
        largest = max(fields, key=lambda key: len(_to_json({key: fields[key]})))
        value = fields[largest] if isinstance(fields[largest], str) else _to_json(fields[largest])
        if len(value.encode(errors="surrogatepass")) <= _SHORT_BYTES:
            # Thousands of short fields, or long names.
            own = {name: fields.pop(name) for name in _OWN if name in fields}
            fields = {**own, "others": _to_json(fields)}
        else:
            fields[largest] = value
        marks += cut_texts(fields, 2 * (len(text.encode()) - most))
    return text, marks


def _id_of(uuid: Any) -> str:
    """Returns the uuid, or what stands for it if it cannot be the id of a message."""
    if not isinstance(uuid, str) or not uuid:
        return new_id()
    is_id = uuid.isprintable() and uuid not in (".", "..") and len(uuid.encode()) <= _MOST_ID_BYTES
    return uuid if is_id else sha256(uuid.encode(errors="surrogatepass")).hexdigest()


def _words(entry: dict[str, Any]) -> str:
    """Returns what the user or the assistant has said, without the payloads of tools."""
    message = entry.get("message")
    if entry.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        return ""
    content = message.get("content")
    if isinstance(content, str):
        return content
    texts = [block.get("text") for block in _blocks(entry) if block.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def _blocks(entry: dict[str, Any]) -> list[dict[str, Any]]:
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _read(message: MessageWithParts) -> Any:
    """Returns the entry of a message, or None for a message that holds no entry."""
    for part in message.parts:
        if part.type == KEPT:
            try:
                entry = json.loads(part.text)
            except ValueError:
                continue
            if isinstance(entry, dict):
                return without_cut_files(entry, "text") if "truncated" in message.info.metadata else entry
    return None


def _paired(entry: dict[str, Any] | None, message: MessageWithParts) -> PairedMessage:
    if entry is None:
        role = message.info.role if is_erased(message) else ""
        return PairedMessage(erased="call" if role == "assistant" else "result" if role == "user" else "")
    blocks = _blocks(entry)
    calls = [block["id"] for block in blocks if block.get("type") == "tool_use" and isinstance(block.get("id"), str)]
    answered = [block.get("tool_use_id") for block in blocks if block.get("type") == "tool_result"]
    results = [id for id in answered if isinstance(id, str)]
    return PairedMessage(calls=calls, results=results, is_question=entry.get("type") == "user" and not results)


def _instead(
    message: MessageWithParts, before: dict[str, Any], neighbor: dict[str, Any], ids: Sequence[str]
) -> dict[str, Any]:
    """Returns an entry for a message that holds none, after the entry `before`."""
    role = message.info.role
    text = ERASED if is_erased(message) else text_of(message)
    entry = {
        **{key: neighbor[key] for key in _COMMON if key in neighbor},
        "type": role if role in ("user", "assistant") else "system",
        "uuid": message.info.id,
        "parentUuid": before.get("uuid"),
        "timestamp": message.info.timestamp.ToJsonString(),
    }
    if role == "assistant":
        calls = [{"type": "tool_use", "id": id, "name": "erased", "input": {}} for id in ids]
        content = [{"type": "text", "text": text}, *calls]
        return {**entry, "message": {"type": "message", "role": role, "content": content}}
    if role == "user":
        results = [{"type": "tool_result", "tool_use_id": id, "content": text} for id in ids]
        return {**entry, "message": {"role": role, "content": results or text}}
    return {**entry, "subtype": "informational", "level": "info", "content": text}
