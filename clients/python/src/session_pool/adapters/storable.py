"""Makes values storable as JSON whose numbers are doubles, and turns them back.

docs/decisions/0084 has the rule, which all adapters share, whatever their language.
"""

from __future__ import annotations

import base64
import json
import re
from collections import deque
from collections.abc import Callable, Mapping, Set
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from enum import Enum
from typing import Any

# The most levels of objects and lists in a Struct, the Struct itself included.
STRUCT_LEVELS = 24
# Below the depth at which Python's own encoder of JSON, and this conversion, run out of stack.
_MOST_LEVELS = 500
_MOST_EXACT = 2**53
# Keys that mean something in an object without another key. One with more `$` in front is such a key, escaped.
_ENVELOPE = re.compile(r"\$+(number|bytes|json)")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?|NaN|-?Infinity")


def to_storable(value: object, *, keep_bytes: bool = False, levels: int = STRUCT_LEVELS) -> Any:
    """Returns the value in a form that a Struct can hold: what `json.dumps` makes of it, read back.

    Integers beyond 2^53, NaN and infinity become `{"$number": "…"}`. With `keep_bytes`, bytes become
    `{"$bytes": "…"}`. What `json.dumps` refuses becomes what it consists of (models, dataclasses, sets, arrays), its
    ISO form (dates and times), or a text that says what it was. Halves of characters become U+FFFD. Levels below the
    first `levels` are kept as JSON text, `{"$json": "…"}`. Never raises. `from_storable` is the exact inverse for JSON
    of well-formed texts.
    """
    return _within_levels(_Conversion(keep_bytes).convert(value), levels)


def from_storable(value: Any, *, keep_bytes: bool = False) -> Any:
    """Returns the value that `to_storable` was given, as `json.loads` would give it.

    Without `keep_bytes`, bytes come back as base64. Never raises: what only looks like an envelope comes back as it is.
    """
    if isinstance(value, list):
        items: list[Any] = []
        for item in value:
            items.append(from_storable(item, keep_bytes=keep_bytes))
        return items
    if not isinstance(value, dict):
        # A larger integer would be in an envelope, so this was a float.
        return float(value) if isinstance(value, int) and abs(value) > _MOST_EXACT else value
    if len(value) == 1:
        [(key, content)] = value.items()
        if _ENVELOPE.fullmatch(key):
            if key.startswith("$$"):
                return {key[1:]: from_storable(content, keep_bytes=keep_bytes)}
            return _open(key, content, keep_bytes) if isinstance(content, str) else {key: from_storable(content)}
    made: dict[str, Any] = {}
    for key, one in value.items():
        made[key] = from_storable(one, keep_bytes=keep_bytes)
    return made


def json_text(value: object) -> str:
    """Returns the shortest JSON text of a value, not escaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def utf8_json(value: object, *, sort_keys: bool = False) -> str:
    """Returns the JSON text of a value that UTF-8 can hold, escaped only if the value holds half of a character."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys)
    try:
        text.encode()
    except UnicodeEncodeError:
        # An output may be cut in the middle of a character. Half of one can be stored only as an escape.
        return json.dumps(value, separators=(",", ":"), sort_keys=sort_keys)
    return text


def well_formed(text: str) -> str:
    """Returns the text with U+FFFD for each half of a character. Two halves that belong together become a whole."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _open(key: str, text: str, keep_bytes: bool) -> Any:
    try:
        if key == "$json":
            return from_storable(json.loads(text), keep_bytes=keep_bytes)
        if key == "$bytes":
            read = base64.b64decode(text, validate=True)
            return read if keep_bytes else text
        if _NUMBER.fullmatch(text):
            return json.loads(text)
    except (ValueError, RecursionError):
        pass
    return {key: text}


class _Conversion:
    """The conversion of one value, which knows the objects that it is inside of."""

    def __init__(self, keep_bytes: bool) -> None:
        self._keep_bytes = keep_bytes
        self._above: list[object] = []

    def convert(self, value: Any) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return well_formed(str.__str__(value))
        if isinstance(value, int):
            return _integer(int.__int__(value))
        if isinstance(value, float):
            return _finite(float.__float__(value))
        if isinstance(value, (bytes, bytearray, memoryview)):
            return {"$bytes": base64.b64encode(value).decode()} if self._keep_bytes else str(bytes(value))
        if any(one is value for one in self._above):
            return "[Circular]"
        if len(self._above) == _MOST_LEVELS:
            return f"[Deeper than {_MOST_LEVELS} levels]"
        self._above.append(value)
        try:
            # One frame of the stack for each level, because Python has few.
            if isinstance(value, (list, tuple)):
                items: list[Any] = []
                for item in value:
                    items.append(self.convert(item))
                return items
            if not isinstance(value, Mapping):
                return self.convert(_plain(value))
            made: dict[str, Any] = {}
            for key, one in value.items():
                made[_name(key, made)] = self.convert(one)
            return _escaped(made)
        # Whatever a value raises while it is read, it must not cost the others.
        except Exception as error:
            return well_formed(f"[Raised {type(error).__name__}: {_shown(error)}]")
        finally:
            self._above.pop()


def _plain(value: Any) -> Any:
    """Returns what a value consists of that `json.dumps` refuses, or a text that says what it is."""
    if isinstance(value, (date, time, datetime)):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (Set, deque)):
        return list(value)
    if isinstance(value, BaseException):
        return repr(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    # Models of Pydantic; arrays and scalars of NumPy, and the like.
    for name in ("model_dump", "tolist"):
        method: Callable[[Any], Any] | None = getattr(type(value), name, None)
        if callable(method) and not isinstance(value, type):
            return method(value)
    return str(value)


def _name(key: object, made: Mapping[str, Any]) -> str:
    """Returns the key as `json.dumps` writes it."""
    if isinstance(key, str):
        name = well_formed(str.__str__(key))
        # Keys that differ in nothing but half a character stay different.
        while name != key and name in made:
            name += "\ufffd"
        return name
    if key is None or isinstance(key, (bool, float)):
        return json.dumps(key)
    return _digits(int.__int__(key)) if isinstance(key, int) else well_formed(_shown(key))


def _escaped(made: dict[str, Any]) -> dict[str, Any]:
    if len(made) != 1:
        return made
    [(key, one)] = made.items()
    return {f"${key}": one} if _ENVELOPE.fullmatch(key) else made


def _integer(value: int) -> Any:
    # Beyond, not even an integer that a double holds is written with the same digits in every language.
    if abs(value) <= _MOST_EXACT:
        return value
    digits = _digits(value)
    return {"$number": digits} if _NUMBER.fullmatch(digits) else digits


def _digits(value: int) -> str:
    try:
        return str(value)
    except ValueError:
        # Python writes only so many decimal digits.
        return hex(value)


def _finite(value: float) -> Any:
    text = json.dumps(value)
    return {"$number": text} if text in ("NaN", "Infinity", "-Infinity") else value


def _shown(value: object) -> str:
    try:
        return str(value)
    except Exception:
        return f"{type(value).__name__} without a text"


def _within_levels(value: Any, levels: int) -> Any:
    """Puts what is nested too deep into JSON texts."""
    if not isinstance(value, (dict, list)):
        return value
    items = list(value.values()) if isinstance(value, dict) else value
    if levels == 1 and any(isinstance(item, (dict, list)) for item in items):
        return {"$json": json_text(value)}
    if isinstance(value, list):
        return [_within_levels(item, levels - 1) for item in value]
    return {key: _within_levels(item, levels - 1) for key, item in value.items()}
