"""Puts back the values that `attached` has put into attachments."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sessionpool.v1.message_service_pb2 import MessageWithParts, Part

from session_pool.adapters.attached import ESCAPED, LISTED, NAMING
from session_pool.adapters.storable import utf8_json
from session_pool.values import from_struct, to_struct

_FORMS = ("text", "json", "data_url", "base64")


class _Listed(NamedTuple):
    """An attachment that a part lists, and the place of its value."""

    path: list[Any]
    attachment_id: str
    form: str


def listed_ids(messages: Iterable[MessageWithParts]) -> list[str]:
    """Returns the ids of the attachments that the messages' parts list, each once."""
    return list(dict.fromkeys(one.attachment_id for each in messages for part in each.parts for one in _listed(part)))


def restored(message: MessageWithParts, contents: Mapping[str, bytes]) -> MessageWithParts:
    """Returns the message with the values that are in attachments.

    A value whose attachment is missing, for example because it was left out of a backup, stays as what is kept at its
    place.
    """
    ids = set(listed_ids([message]))
    own = [part for part in message.parts if not _is_naming(part) or part.attachment.attachment_id not in ids]
    parts = [_with_values(part, contents) for part in own]
    if len(parts) == len(message.parts) and all(new is old for new, old in zip(parts, message.parts)):
        return message
    return MessageWithParts(info=message.info, parts=parts)


def _is_naming(part: Part) -> bool:
    return part.type == NAMING and not part.text and not part.HasField("data")


def _with_values(part: Part, contents: Mapping[str, bytes]) -> Part:
    if not any(ESCAPED.fullmatch(key) for key in part.data.fields):
        return part
    listed = _listed(part)
    values = {"text": _text_of(part, listed), "data": from_struct(part.data)}
    if listed:
        del values["data"][LISTED]
    for one in listed:
        content = contents.get(one.attachment_id)
        if content is not None:
            _put(values, one.path, content, one.form)
    made = Part()
    made.CopyFrom(part)
    text, data = values["text"], _unescaped(values["data"])
    try:
        made.text = text if isinstance(text, str) else utf8_json(text)
        made.ClearField("data")
        if data:
            made.data.CopyFrom(to_struct(data))
    except (TypeError, ValueError, RecursionError):
        # Not what an adapter has stored.
        return part
    if any(one.attachment_id == made.attachment.attachment_id for one in listed):
        made.ClearField("attachment")
    return made


def _text_of(part: Part, listed: Sequence[_Listed]) -> Any:
    """Returns the object that the text is the JSON text of if a path leads into it, else the text."""
    if any(one.path[0] == "text" and len(one.path) > 1 for one in listed):
        try:
            return json.loads(part.text)
        except (ValueError, RecursionError):
            pass
    return part.text


def _listed(part: Part) -> list[_Listed]:
    """Returns what `attached` has listed in a part. A list of another form is a field like any other."""
    if LISTED not in part.data.fields:
        return []
    listed: list[_Listed] = []
    given = from_struct(part.data)[LISTED]
    for item in given if isinstance(given, list) else []:
        fields = item if isinstance(item, dict) else {}
        path: Any = fields.get("path")
        id, form = fields.get("attachment_id"), fields.get("form")
        if not _is_path(path) or not isinstance(id, str) or form not in _FORMS:
            return []
        listed.append(_Listed(path, id, form))
    return listed


def _is_path(path: object) -> bool:
    return isinstance(path, list) and len(path) > 0 and all(type(key) in (str, int) for key in path)


def _unescaped(data: dict[str, Any]) -> dict[str, Any]:
    """Returns the data with the keys as they were before they were escaped because of the list."""
    return {key[1:] if key != LISTED and ESCAPED.fullmatch(key) else key: one for key, one in data.items()}


def _put(values: dict[str, Any], path: Sequence[Any], content: bytes, form: str) -> None:
    """Puts a value in its place. A path that leads nowhere changes nothing."""
    holder: Any = values
    for key in path[:-1]:
        if not _has(holder, key):
            return
        holder = holder[key]
    if _has(holder, path[-1]):
        try:
            holder[path[-1]] = _value_of(content, form, holder[path[-1]])
        except (ValueError, RecursionError):
            pass  # What an attachment holds is as its uploader made it.


def _has(holder: Any, key: Any) -> bool:
    if isinstance(holder, list):
        return isinstance(key, int) and 0 <= key < len(holder)
    return isinstance(holder, dict) and key in holder


def _value_of(content: bytes, form: str, kept: Any) -> Any:
    if form in ("text", "json"):
        text = content.decode(errors="replace")
        return text if form == "text" else json.loads(text)
    encoded = base64.b64encode(content).decode()
    return f"{kept}{encoded}" if form == "data_url" else encoded
