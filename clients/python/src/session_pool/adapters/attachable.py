"""Finds the values of a message that are kept in attachments. docs/clients.md has the rule, which all adapters share."""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from session_pool.adapters.storable import utf8_json

Form = Literal["text", "json", "data_url", "base64"]
"""How an attachment holds a value."""
Path = tuple[str | int, ...]
"""The place of a value: keys and indexes, from the part."""

MOST_INLINE_BYTES = 256 * 1024
"""Texts and JSON texts of more bytes are kept in attachments."""
PREVIEW_BYTES = 16 * 1024
"""So much of a text stays at its place."""
_LEAST_FILE_BYTES = 4 * 1024
_MOST_NAME_BYTES = 255
_DATA_URL = re.compile(r"data:([^,]{0,255});base64,")
# Base64 with padding, and with zeros in the bits that the last character has too many.
_CANONICAL = re.compile("[A-Za-z0-9+/]*(?:[AQgw]==|[AEIMQUYcgkosw048]=)?")
_MEDIA_TYPE = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+(\s*;[ -~]*)?")
_MEDIA_TYPES = ("media_type", "mediaType", "mime_type", "mimeType", "type")
# Keys of files, in any object, and in one that says of what type it is.
_FILES = ("$bytes", "b64_json", "base64", "blob", "file_data")
_MAYBE_FILES = ("data", "file", "image", "result")
_FILE_TYPE = re.compile("base64|(input_)?(audio|file|image)|computer_screenshot|image_generation_call")


class Attachable(NamedTuple):
    """A value that is kept in an attachment."""

    path: Path
    form: Form
    media_type: str
    name: str
    size: int
    content: Callable[[], bytes]
    kept: str
    """What stays at its place."""


def attachables_in(value: Any, path: Path, holder: Mapping[str, Any] | None = None) -> Iterator[Attachable]:
    """Yields the texts and files in a value that are kept in attachments, in the order of their keys."""
    if isinstance(value, str):
        found = _file_of(value, path, holder or {}) or _text_of(value, path)
        if found is not None:
            yield found
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from attachables_in(item, (*path, at))
    elif isinstance(value, dict):
        for key in in_order(value):
            yield from attachables_in(value[key], (*path, key), value)


def in_order(keys: Mapping[str, Any]) -> list[str]:
    """Returns the keys of an object in the order that every language has."""
    return sorted(keys, key=lambda key: key.encode("utf-16-be", "surrogatepass"))


def whole_of(value: Any, path: Path) -> Attachable:
    """Returns a value as a text, or as JSON if it is another value or is not well-formed."""
    if isinstance(value, str):
        try:
            content = value.encode()
            return _whole(path, "text", "text/plain; charset=utf-8", content)
        except UnicodeEncodeError:
            pass
    # The order of the keys of a Struct is not the same each time.
    text = utf8_json(value, sort_keys=path[0] == "data")
    return _whole(path, "json", "application/json", text.encode())


def beginning_of(text: str, size: int) -> str:
    """Returns the beginning of a text, at most so many bytes of UTF-8, and not cut inside a character."""
    return text[:size].encode()[:size].decode(errors="ignore")


def _whole(path: Path, form: Form, media_type: str, content: bytes) -> Attachable:
    kept = content[:PREVIEW_BYTES].decode(errors="ignore")
    return Attachable(path, form, media_type, "", len(content), lambda: content, kept)


def _text_of(text: str, path: Path) -> Attachable | None:
    # A character takes at most four bytes, or six as JSON where it is half of one.
    if len(text) * 6 <= MOST_INLINE_BYTES:
        return None
    whole = whole_of(text, path)
    return whole if whole.size > MOST_INLINE_BYTES else None


def _file_of(text: str, path: Path, holder: Mapping[str, Any]) -> Attachable | None:
    """Returns a data URL, or base64 where a file is, unless it would not be written back the same."""
    if len(text) < _LEAST_FILE_BYTES:
        return None
    url = _DATA_URL.match(text)
    if url is None and not _is_file_place(path[-1], holder):
        return None
    head = "" if url is None else url[0]
    size = _base64_size(text, len(head))
    if size is None or size < _LEAST_FILE_BYTES:
        return None
    types: list[Any] = [None if url is None else url[1], *(holder.get(key) for key in _MEDIA_TYPES)]
    media_type: str = next(filter(_is_media_type, types), "application/octet-stream")
    given: Any = holder.get("filename")
    name: str = given if _is_name(given) else ""
    form: Form = "base64" if url is None else "data_url"
    return Attachable(path, form, media_type, name, size, lambda: base64.b64decode(text[len(head) :]), head)


def _base64_size(text: str, start: int) -> int | None:
    if (len(text) - start) % 4 != 0 or _CANONICAL.fullmatch(text, start) is None:
        return None
    return (len(text) - start) // 4 * 3 - (2 if text.endswith("==") else text.endswith("="))


def _is_file_place(key: str | int, holder: Mapping[str, Any]) -> bool:
    if key in _FILES:
        return True
    if key not in _MAYBE_FILES:
        return False
    kind = holder.get("type")
    is_file = isinstance(kind, str) and _FILE_TYPE.fullmatch(kind) is not None
    return is_file or any(_is_media_type(holder.get(name)) for name in _MEDIA_TYPES)


def _is_media_type(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _MOST_NAME_BYTES and _MEDIA_TYPE.fullmatch(value) is not None


def _is_name(value: object) -> bool:
    if not isinstance(value, str) or any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
        return False
    return len(value.encode()) <= _MOST_NAME_BYTES
