"""Puts what is too large for a message into attachments. docs/clients.md has the rule, which all adapters share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

from sessionpool.v1.message_service_pb2 import MessageWithParts, Part, PartAttachment

from session_pool.adapters.attachable import (
    MOST_INLINE_BYTES,
    PREVIEW_BYTES,
    Attachable,
    Path,
    attachables_in,
    in_order,
    whole_of,
)
from session_pool.adapters.fitted import MOST_BYTES, MOST_VALUES, count_values
from session_pool.adapters.storable import utf8_json
from session_pool.values import from_struct, to_struct

LISTED = "$attachments"
"""The key under which the `data` of a part lists its attachments."""
ESCAPED = re.compile(r"\$+attachments")
"""Keys of `data` that mean something here get one more `$`."""
NAMING = "attachment"
"""The type of the parts that name attachments which no other part does."""
# The service takes so many parts that name attachments.
_MOST_ATTACHMENTS = 100
# Nothing in a part of fewer bytes is kept in an attachment.
_LEAST_BYTES = 4 * 1024


class Upload(NamedTuple):
    """What is to be uploaded."""

    attachment_id: str
    media_type: str
    name: str
    content: bytes


class Attached(NamedTuple):
    """A message whose large values are in attachments, and these."""

    message: MessageWithParts
    uploads: list[Upload]


@dataclass
class _Field:
    """A text, or a field of an object, and what is found in it."""

    path: Path
    value: Any
    found: list[Attachable]

    def size(self) -> int:
        """Returns its bytes as JSON, without what is found in it."""
        return len(utf8_json(_with_kept(self.value, self.found, len(self.path))).encode())


class _Opened(NamedTuple):
    """A part that is taken apart."""

    part: Part
    json: dict[str, Any] | None
    """The object that `text` is the JSON text of, if it was asked for."""
    data: dict[str, Any] | None
    """The data with keys that are escaped, unless it is left as it is."""
    fields: list[_Field]
    """The text, or the fields of `json`, and those of `data`."""

    def found(self) -> list[Attachable]:
        return [one for field in self.fields for one in field.found]


def attached(message: MessageWithParts, *, json_text_type: str = "") -> Attached:
    """Puts what is too large for a message into attachments.

    The result depends on the message alone, ids included, so that a message that is saved again names the same
    attachments. The `text` of parts of `json_text_type` is the JSON text of an object, in which values are found as in
    `data`.
    """
    parts = [_opened(part, json_text_type) for part in message.parts]
    _keep_largest(parts)
    _attach_until_it_fits(message, parts)
    ids: dict[int, str] = {}
    uploads: dict[str, Upload] = {}
    for one in _found_in(parts):
        upload = _upload_of(one)
        ids[id(one)] = upload.attachment_id
        uploads.setdefault(upload.attachment_id, upload)
    return Attached(_closed(message, parts, lambda one: ids[id(one)]), list(uploads.values()))


def _opened(part: Part, json_text_type: str) -> _Opened:
    is_escaped = any(ESCAPED.fullmatch(key) for key in part.data.fields)
    if part.ByteSize() < _LEAST_BYTES and not is_escaped:
        return _Opened(part, None, None, [])
    data = {f"${key}" if ESCAPED.fullmatch(key) else key: value for key, value in from_struct(part.data).items()}
    parsed = json.loads(part.text) if json_text_type and part.type == json_text_type else None
    if isinstance(parsed, dict):
        fields = [*_fields_of(parsed, "text")]
    else:
        parsed = None
        fields = [_Field(("text",), part.text, [*attachables_in(part.text, ("text",))])]
    return _Opened(part, parsed, data if part.HasField("data") else None, [*fields, *_fields_of(data, "data")])


def _fields_of(fields: Mapping[str, Any], root: str) -> Iterator[_Field]:
    """Yields the fields of an object. One that is large even without what is found in it is found as a whole."""
    for key in in_order(fields):
        path = (root, key)
        field = _Field(path, fields[key], [*attachables_in(fields[key], path, fields)])
        if isinstance(field.value, (dict, list)) and field.size() > MOST_INLINE_BYTES:
            field.found = [whole_of(field.value, path)]
        yield field


def _with_kept(value: Any, found: list[Attachable], depth: int) -> Any:
    """Returns the value with what stays at the places of what was found. Its own path has `depth` keys."""
    if not found:
        return value
    if len(found[0].path) == depth:
        return found[0].kept
    copy = value.copy()
    inside: dict[str | int, list[Attachable]] = {}
    for one in found:
        inside.setdefault(one.path[depth], []).append(one)
    for key, ones in inside.items():
        copy[key] = _with_kept(copy[key], ones, depth + 1)
    return copy


def _found_in(parts: list[_Opened]) -> list[Attachable]:
    return [one for part in parts for one in part.found()]


def _keep_largest(parts: list[_Opened]) -> None:
    """Leaves all but the largest values where they are."""
    found = _found_in(parts)
    if len(found) > _MOST_ATTACHMENTS:
        largest = {id(one) for one in sorted(found, key=lambda one: -one.size)[:_MOST_ATTACHMENTS]}
        for part in parts:
            for field in part.fields:
                field.found = [one for one in field.found if id(one) in largest]


def _attach_until_it_fits(message: MessageWithParts, parts: list[_Opened]) -> None:
    """Of a message that is still over its limits, attaches texts and fields as a whole, the largest first."""
    over = _bytes_over(message, parts)
    if over is None:
        return
    sized = [(field.size(), field) for part in parts for field in part.fields]
    saved = 0
    for size, field in sorted(sized, key=lambda one: -one[0]):
        if size <= 2 * PREVIEW_BYTES:
            return
        if len(_found_in(parts)) - len(field.found) == _MOST_ATTACHMENTS:
            continue
        field.found = [whole_of(field.value, field.path)]
        saved += size - PREVIEW_BYTES
        # The whole message is measured only when this should be enough.
        if saved >= over and _bytes_over(message, parts) is None:
            return


def _bytes_over(message: MessageWithParts, parts: list[_Opened]) -> int | None:
    """Returns by how many bytes a message is over its limit, or None if it is within all of them."""
    closed = _closed(message, parts, lambda _: "0" * 64)
    excess = closed.ByteSize() - MOST_BYTES
    return excess if excess > 0 or count_values(closed) > MOST_VALUES else None


def _closed(
    message: MessageWithParts, parts: list[_Opened], id_of: Callable[[Attachable], str]
) -> MessageWithParts:
    """Returns the message itself if nothing is found and nothing is escaped, else one with what stays in it."""
    closed = [_closed_part(part, id_of) for part in parts]
    if all(made is opened.part for made, opened in zip(closed, parts)):
        return message
    named = {part.attachment.attachment_id for part in closed}
    others = dict.fromkeys(id for one in _found_in(parts) if (id := id_of(one)) not in named)
    naming = [Part(id=id, type=NAMING, attachment=PartAttachment(attachment_id=id)) for id in others]
    return MessageWithParts(info=message.info, parts=[*closed, *naming])


def _closed_part(opened: _Opened, id_of: Callable[[Attachable], str]) -> Part:
    """Returns the part with what is kept in it, the list of its attachments, and the name of the first."""
    found = opened.found()
    is_escaped = opened.data is not None and any(ESCAPED.fullmatch(key) for key in opened.data)
    if not found and not is_escaped:
        return opened.part
    part = Part()
    part.CopyFrom(opened.part)
    text = _with_kept(part.text if opened.json is None else opened.json, _below(found, "text"), 1)
    part.text = text if isinstance(text, str) else utf8_json(text)
    data = _with_kept(opened.data or {}, _below(found, "data"), 1)
    if found:
        listed = [{"path": list(one.path), "attachment_id": id_of(one), "form": one.form} for one in found]
        data = {**data, LISTED: listed}
        part.attachment.CopyFrom(PartAttachment(attachment_id=id_of(found[0])))
    part.data.CopyFrom(to_struct(data))
    return part


def _below(found: list[Attachable], root: str) -> list[Attachable]:
    return [one for one in found if one.path[0] == root]


def _upload_of(one: Attachable) -> Upload:
    """Makes the id a hash of everything that an upload is compared by."""
    content = one.content()
    made = sha256(f"{one.media_type}\n{one.name}\n".encode())
    made.update(content)
    return Upload(made.hexdigest(), one.media_type, one.name, content)
