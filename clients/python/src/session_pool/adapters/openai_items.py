"""Converts items of the OpenAI Agents SDK to messages of a session, and back.

They are stored as the server stores the items of OpenAI's conversations, so that both show the same history.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agents.items import TResponseInputItem
from sessionpool.v1.message_service_pb2 import MessageInfo, MessageWithParts, Part

from session_pool.adapters.erased import ERASED, PairedMessage, is_erased, pair_erased
from session_pool.adapters.fitted import MOST_METADATA_BYTES, without_cut_files
from session_pool.adapters.storable import STRUCT_LEVELS, from_storable, json_text, to_storable
from session_pool.messages import new_id, text_of
from session_pool.values import from_struct, to_struct

# The metadata of a message that has the form of OpenAI's conversations, and of one that holds an item as a whole.
_KEPT = "openai"
_WHOLE = "openai_item"
_ROLES = ("user", "assistant", "system", "developer")
_MOST_PARTS = 10_000
_PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
# The fields, besides type and call_id, of a call and of its result when they were erased.
_ERASED_CALLS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "function_call": ({"name": "erased", "arguments": "{}"}, {"output": ERASED}),
    "custom_tool_call": ({"name": "erased", "input": ""}, {"output": ERASED}),
    "shell_call": (
        {"action": {"commands": []}, "status": "completed"},
        {"output": [{"stdout": ERASED, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]},
    ),
    "local_shell_call": (
        {"id": "erased", "action": {"type": "exec", "command": [], "env": {}}, "status": "completed"},
        {"id": "erased", "output": ERASED},
    ),
    "apply_patch_call": (
        {"operation": {"type": "delete_file", "path": "erased"}, "status": "completed"},
        {"status": "completed", "output": ERASED},
    ),
    "computer_call": (
        {"id": "erased", "action": {"type": "screenshot"}, "pending_safety_checks": [], "status": "completed"},
        {"output": {"type": "computer_screenshot", "image_url": _PIXEL}},
    ),
}


def to_message(item: object) -> MessageWithParts:
    """Converts an item to a message of any size. It gets a new id, because the ids of items need not be unique.

    Any JSON object is an item. Those that the usual form does not keep as they are, are kept as a whole.
    """
    # One level less, because the metadata holds the fields of a message one level deeper.
    stored = to_storable(item, levels=STRUCT_LEVELS - 1)
    forms: tuple[Callable[[dict[str, Any]], MessageWithParts | None], ...] = (_from_text, _from_typed)
    for form in forms:
        message = form(stored) if isinstance(stored, dict) else None
        if message is not None and _read(message) == stored:
            return message
    return _from_any(stored)


def to_items(messages: Sequence[MessageWithParts]) -> list[TResponseInputItem]:
    """Converts the messages of a session, oldest first, to items.

    A message of another client becomes a text of its role, or of the user if OpenAI has no such role. An erased message
    becomes a call or a result if one is missing, else a text.
    """
    items: list[Any] = [None if is_erased(message) else _to_item(message) for message in messages]
    all_paired = [_paired(item, message) for item, message in zip(items, messages)]
    ids = pair_erased(all_paired, calls=1, results=1, both=True)
    kinds = {_call_id(item): kind for item in items if (kind := _kind(item))}
    for at, message in enumerate(messages):
        if is_erased(message):
            items[at] = _instead(message, all_paired[at], ids[at], kinds)
    return items


def _from_text(stored: dict[str, Any]) -> MessageWithParts | None:
    """Makes parts of type `text` of a message, which all clients of the session can read."""
    role, content = stored.get("role"), stored.get("content")
    if stored.get("type", "message") != "message" or not isinstance(role, str) or not role:
        return None
    kept = {key: value for key, value in stored.items() if key not in ("role", "content")}
    if isinstance(content, str):
        kept["content"] = "text"
        content = [content]
    if not isinstance(content, list) or len(content) > _MOST_PARTS:
        return None
    info = MessageInfo(id=new_id(), role=role, metadata=to_struct({_KEPT: kept}))
    if info.metadata.ByteSize() > MOST_METADATA_BYTES:
        return None
    parts = [_to_part(piece, role) for piece in content]
    return MessageWithParts(info=info, parts=[part for part in parts if part is not None])


def _to_part(piece: Any, role: str) -> Part | None:
    if isinstance(piece, str):
        return Part(type="text", text=piece)
    kind = piece.get("type") if isinstance(piece, dict) else None
    if not isinstance(kind, str) or not kind:
        return None
    if not isinstance(piece.get("text"), str):
        return Part(type=kind, data=to_struct(piece))
    rest = {key: value for key, value in piece.items() if key != "text"}
    return Part(type="text", text=piece["text"], data=None if rest == _usual(role) else to_struct(rest))


def _from_typed(stored: dict[str, Any]) -> MessageWithParts | None:
    kind = stored.get("type")
    if not isinstance(kind, str) or kind in ("", "message"):
        return None
    role = "tool" if kind.endswith("_output") else "assistant"
    info = MessageInfo(id=new_id(), role=role, metadata=to_struct({_KEPT: {"type": kind}}))
    return MessageWithParts(info=info, parts=[Part(type=kind, data=to_struct(stored))])


def _from_any(stored: Any) -> MessageWithParts:
    fields = stored if isinstance(stored, dict) else {}
    role = fields.get("role")
    info = MessageInfo(id=new_id(), role=role if isinstance(role, str) and role else "assistant")
    info.metadata.CopyFrom(to_struct({_WHOLE: True}))
    data = stored if isinstance(stored, dict) else {"$json": json_text(stored)}
    parts = [Part(type="item", data=to_struct(data))]
    words = _words(fields.get("content"))
    return MessageWithParts(info=info, parts=[*parts, Part(type="text", text=words)] if words else parts)


def _words(content: Any) -> str:
    """Returns the text of an unusual message, for people who look for it."""
    pieces = content if isinstance(content, list) else [content]
    texts = [piece.get("text") if isinstance(piece, dict) else piece for piece in pieces]
    return "".join(text for text in texts if isinstance(text, str))


def _to_item(message: MessageWithParts) -> Any:
    item = from_storable(_read(message))
    return without_cut_files(item, "input_text") if "truncated" in message.info.metadata else item


def _read(message: MessageWithParts) -> Any:
    """Returns the item in its storable form."""
    metadata = from_struct(message.info.metadata)
    if metadata.get(_WHOLE) is True:
        return _data_of(message, "item")
    kept = metadata.get(_KEPT)
    if not isinstance(kept, dict):
        return _read_foreign(message)
    # Until the mark had a key of its own, it was the form.
    if kept.get("form") == "json" and any(part.type == "item" for part in message.parts):
        return _data_of(message, "item")
    kind = kept.get("type", "message")
    if kind != "message":
        data = _data_of(message, kind)
        # OpenAI's conversations keep type and id outside of the data. An id with a prefix is OpenAI's own.
        id = {"id": message.info.id} if "type" not in data and "_" in message.info.id else {}
        return {**data, "type": kind, **id}
    is_text = kept.pop("content", None) == "text"
    content = text_of(message) if is_text else [_to_piece(part, message.info.role) for part in message.parts]
    return {**kept, "role": message.info.role, "content": content}


def _read_foreign(message: MessageWithParts) -> Any:
    role = message.info.role if message.info.role in _ROLES else "user"
    pieces = [from_struct(part.data) for part in message.parts]
    # OpenAI's conversations keep no metadata of a message that has nothing unusual.
    if any(piece.get("type") == part.type != "text" for piece, part in zip(pieces, message.parts)):
        known = [part for piece, part in zip(pieces, message.parts) if part.type in ("text", piece.get("type"))]
        return {"role": role, "content": [_to_piece(part, role) for part in known]}
    return {"role": role, "content": text_of(message)}


def _data_of(message: MessageWithParts, kind: Any) -> dict[str, Any]:
    parts = [part for part in message.parts if part.type == kind] or list(message.parts)
    return from_struct(parts[0].data) if parts else {}


def _to_piece(part: Part, role: str) -> dict[str, Any]:
    if part.type != "text":
        return from_struct(part.data)
    return {**(from_struct(part.data) if part.HasField("data") else _usual(role)), "text": part.text}


def _usual(role: str) -> dict[str, Any]:
    """Returns the fields of a text, besides the text itself, that it has if nothing else is stored."""
    return {"type": "output_text", "annotations": [], "logprobs": []} if role == "assistant" else {"type": "input_text"}


def _paired(item: Any, message: MessageWithParts) -> PairedMessage:
    if is_erased(message):
        role = message.info.role
        return PairedMessage(
            erased="call" if role == "assistant" else "result" if role == "tool" else "", is_question=role == "user"
        )
    id, kind = _call_id(item), _kind(item)
    if id and kind:
        return PairedMessage(calls=[id]) if item["type"] == kind else PairedMessage(results=[id])
    return PairedMessage(is_question=isinstance(item, Mapping) and item.get("role") == "user")


def _kind(item: Any) -> str:
    """Returns the type of the call that an item is, or is the result of. Empty for other items."""
    kind = item.get("type") if isinstance(item, Mapping) else None
    call = kind.removesuffix("_output") if isinstance(kind, str) else ""
    return call if call in _ERASED_CALLS else ""


def _call_id(item: Any) -> str:
    id = item.get("call_id") if isinstance(item, Mapping) else None
    return id if isinstance(id, str) else ""


def _instead(message: MessageWithParts, paired: PairedMessage, ids: list[str], kinds: Mapping[str, str]) -> Any:
    role = message.info.role
    if not ids:
        return {"role": role if role in _ROLES else "assistant", "content": ERASED}
    kind = kinds.get(ids[0], "function_call")
    call, result = _ERASED_CALLS[kind]
    if paired.erased == "call":
        return {"type": kind, "call_id": ids[0], **call}
    return {"type": f"{kind}_output", "call_id": ids[0], **result}
