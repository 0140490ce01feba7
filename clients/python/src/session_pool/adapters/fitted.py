"""Makes what is over the limits of the API fit into them."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, NamedTuple

from google.protobuf.struct_pb2 import ListValue, Struct
from sessionpool.v1.message_service_pb2 import MessageWithParts

from session_pool.adapters.storable import json_text, well_formed
from session_pool.values import from_struct, to_struct

_log = logging.getLogger("session_pool")

# The limits of one message, less what the list of what was cut may take.
MOST_BYTES = 3 * 1024 * 1024 - 16 * 1024
MOST_METADATA_BYTES = 60 * 1024
# Below the 100,000 values of a call.
MOST_VALUES = 90_000
# Texts of at most this size are not cut, and at least half of it stays of a text that is cut.
_SHORT_BYTES = 512
# Values that are worth a JSON text of their own.
_MANY_VALUES = 100
_MOST_MARKS = 20
_CUT = re.compile(r"\[truncated: [0-9]+ of [0-9]+ characters\]$")
# Pieces of content whose data is of no use when it was cut.
_FILES = ("input_image", "input_file", "input_audio", "image", "image_url", "audio", "video", "document", "file")


def fitted(message: MessageWithParts) -> MessageWithParts:
    """Returns the message itself if it has at most 3 MiB and 90,000 values, else a copy of which that is true.

    In the copy the largest texts are cut, and end with `[truncated: …]`. `truncated` in the metadata lists the first 20
    places with their full lengths, and a warning is logged. If there are too many values, objects and lists of many are
    `{"$json": "…"}`, from which `from_storable` makes the same value.
    """
    excess = message.ByteSize() - MOST_BYTES
    if excess <= 0 and count_values(message) <= MOST_VALUES:
        return message
    copy = MessageWithParts()
    copy.CopyFrom(message)
    parts: list[Any] = [
        {"text": part.text, **({"data": from_struct(part.data)} if part.HasField("data") else {})}
        for part in message.parts
    ]
    marks: list[dict[str, Any]] = []
    if excess > 0:
        marks = cut_texts(parts, excess, "parts")
        _put(copy, parts)
    if copy.ByteSize() > MOST_BYTES or count_values(copy) > MOST_VALUES:
        for part in parts:
            _pack(part.get("data"))
        _put(copy, parts)
        marks += cut_texts(parts, copy.ByteSize() - MOST_BYTES, "parts")
        _put(copy, parts)
    if marks:
        mark_cut(copy, marks)
    return copy


def cut_texts(value: Any, excess: int, path: str = "") -> list[dict[str, Any]]:
    """Cuts the texts inside a JSON value in place, the largest first, until it has `excess` bytes less.

    Returns where it has cut, with the full lengths. Texts of up to 512 bytes are left as they are.
    """
    marks = []
    for place in sorted(_texts(value, path), key=lambda one: -one.size):
        if excess <= 0 or place.size <= _SHORT_BYTES:
            break
        most = max(_SHORT_BYTES // 2, place.size - excess - _SHORT_BYTES // 2)
        kept = place.text.encode()[:most].decode(errors="ignore")
        shown = f"{kept}… [truncated: {len(kept)} of {len(place.text)} characters]"
        place.put(shown)
        excess -= place.size - len(shown.encode())
        marks.append({"path": place.path, "length": len(place.text)})
    return marks


def without_cut_files(value: Any, text_type: str) -> Any:
    """Returns the value with a text in place of each image or file that was cut, because models refuse what is left."""
    if isinstance(value, list):
        return [without_cut_files(one, text_type) for one in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") in _FILES:
        cut = next((found for place in _texts(value, "") if (found := _CUT.search(place.text))), None)
        if cut is not None:
            return {"type": text_type, "text": cut[0]}
    return {key: without_cut_files(one, text_type) for key, one in value.items()}


def mark_cut(message: MessageWithParts, marks: list[dict[str, Any]]) -> None:
    """Says in the message's metadata, and in the log, what was cut, and never its content."""
    message.info.metadata.MergeFrom(to_struct({"truncated": marks[:_MOST_MARKS]}))
    _warn(message.info.id, ", ".join(f"{mark['path']} ({mark['length']})" for mark in marks[:_MOST_MARKS]))


@lru_cache(maxsize=1000)
def _warn(message_id: str, places: str) -> None:
    """Warns once, also when a message is stored again."""
    _log.warning("message %s is over a limit and was truncated: %s", message_id, places)


def count_values(message: MessageWithParts) -> int:
    """Returns at least as many values as the service counts in a message."""
    return 10 + sum(6 + _count_struct(part.data) for part in message.parts) + _count_struct(message.info.metadata)


def _count_struct(struct: Struct) -> int:
    return sum(4 + _count(value) for value in struct.fields.values())


def _count(value: Any) -> int:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return _count_struct(value.struct_value)
    return _count_list(value.list_value) if kind == "list_value" else 0


def _count_list(items: ListValue) -> int:
    return sum(3 + _count(value) for value in items.values)


class _Place(NamedTuple):
    """A text in a value, where it stands, and how to put another in its place."""

    path: str
    text: str
    size: int
    put: Callable[[Any], None]


def _texts(value: Any, path: str) -> Iterator[_Place]:
    """Yields the texts in a value. The JSON text of a `{"$json": …}` stands for it as a whole."""
    if not isinstance(value, (dict, list)):
        return
    for key, one in list(value.items() if isinstance(value, dict) else enumerate(value)):
        at = f"{path}[{key}]" if isinstance(value, list) else f"{path}.{key}" if path else str(key)
        text = one["$json"] if isinstance(one, dict) and list(one) == ["$json"] else one
        if isinstance(text, str):
            # An entry of a transcript may hold half of a character, which has no size in bytes.
            text = well_formed(text)
            size = len(text) if text.isascii() else len(text.encode())
            yield _Place(at, text, size, partial(value.__setitem__, key))
        else:
            yield from _texts(one, at)


def _pack(data: Any) -> None:
    """Makes JSON texts of the fields with many values, which are then smaller, and one value each."""
    for key, one in (data or {}).items():
        if _values_in(one) > _MANY_VALUES:
            data[key] = {"$json": json_text(one)}


def _values_in(value: Any) -> int:
    if not isinstance(value, (dict, list)):
        return 1
    return 1 + sum(map(_values_in, value.values() if isinstance(value, dict) else value))


def _put(message: MessageWithParts, parts: list[Any]) -> None:
    for part, new in zip(message.parts, parts):
        part.text = new["text"]
        if "data" in new:
            part.data.CopyFrom(to_struct(new["data"]))
