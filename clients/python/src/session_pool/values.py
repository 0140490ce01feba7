"""Converts values of Python to the Struct of a message, and back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf import json_format
from google.protobuf.struct_pb2 import NULL_VALUE, Struct, Value

# How many objects and lists the service takes in each other.
_MOST_LEVELS = 24


def to_struct(value: Mapping[str, Any]) -> Struct:
    """Makes a Struct of values that JSON can hold.

    The numbers of a Struct are doubles. Raises ValueError or TypeError, with the path, for what no Struct holds: an
    integer that no double holds (send it as a string), NaN and infinity, half of a character, a key that is no string,
    more than 24 levels of objects and lists, and any other type, such as a datetime.
    """
    struct = Struct()
    _fill(struct, value, "", 1)
    return struct


def from_struct(struct: Struct) -> dict[str, Any]:
    """Returns the Struct as a dict, in which whole numbers are ints."""
    return {key: _whole(value) for key, value in json_format.MessageToDict(struct).items()}


def label_filters(labels: Mapping[str, str] | Iterable[str]) -> list[str]:
    """Writes labels to look for as `key=value`. They may be so already."""
    if isinstance(labels, str):
        return [labels]
    return [f"{key}={value}" for key, value in labels.items()] if isinstance(labels, Mapping) else list(labels)


def group_names(names: str | Iterable[str]) -> str:
    """Writes the names to group by as one text. Of names one by one, keys of labels may have any characters."""
    return names if isinstance(names, str) else ",".join(map(_group_name, names))


def _group_name(name: str) -> str:
    kind, colon, key = name.partition(":")
    is_quoted = len(key) > 1 and key[0] == key[-1] == '"'
    if f"{kind}{colon}" != "label:" or is_quoted or not ("," in key or '"' in key or key.strip() != key):
        return name
    return 'label:"' + key.replace('"', '""') + '"'


def to_labels(labels: Mapping[str, str] | None) -> Mapping[str, str] | None:
    """Returns the labels. Raises TypeError for anything but texts by text."""
    if labels is None:
        return None
    if not isinstance(labels, Mapping):
        raise TypeError(f"labels must be a mapping of texts, not {type(labels).__name__}")
    for key, value in labels.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"labels: {key!r} and {value!r} must be texts")
        well_formed(key, "a key of labels")
        well_formed(value, f"labels.{key}")
    return labels


def _fill(struct: Struct, value: Mapping[Any, Any], path: str, level: int) -> None:
    _check_level(path, level)
    for key, one in value.items():
        if not isinstance(key, str):
            raise TypeError(f"{path or 'the value'}: the key {key!r} is no string")
        _set(struct.fields[well_formed(key, "a key")], one, f"{path}.{key}" if path else key, level)


def _set(value: Value, one: object, path: str, level: int) -> None:
    if one is None:
        value.null_value = NULL_VALUE
    elif isinstance(one, bool):
        value.bool_value = one
    elif isinstance(one, str):
        value.string_value = well_formed(one, path)
    elif isinstance(one, (int, float)):
        value.number_value = _double(one, path)
    elif isinstance(one, Mapping):
        value.struct_value.SetInParent()
        _fill(value.struct_value, one, path, level + 1)
    elif isinstance(one, (list, tuple)):
        _check_level(path, level + 1)
        value.list_value.SetInParent()
        for place, item in enumerate(one):
            _set(value.list_value.values.add(), item, f"{path}[{place}]", level + 1)
    else:
        raise TypeError(f"{path}: JSON has no {type(one).__name__}")


def _check_level(path: str, level: int) -> None:
    if level > _MOST_LEVELS:
        raise ValueError(f"{path}: more than {_MOST_LEVELS} levels deep")


def well_formed(text: str, path: str) -> str:
    """Returns the text. Raises ValueError, with the path, if it holds half of a character, which no UTF-8 can."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{path}: {text[:100]!r} holds half of a character") from None
    return text


def _double(number: int | float, path: str) -> float:
    if isinstance(number, float) and not math.isfinite(number):
        raise ValueError(f"{path}: JSON has no {number}")
    try:
        double = float(number)
    except OverflowError:
        raise ValueError(f"{path}: no double holds an integer of so many digits; send it as a string") from None
    if double != number:
        raise ValueError(f"{path}: no double holds {number}; send it as a string")
    return double


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return value
