"""Converts values of Python to the Struct of a message, and back."""

from collections.abc import Mapping
from typing import Any

from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct


def to_struct(value: Mapping[str, Any]) -> Struct:
    """Makes a Struct of values that JSON can hold.

    The numbers of a Struct are doubles. Raises ValueError, with the path, for an integer that no double holds. Send
    such a number as a string.
    """
    _check(value, "")
    return json_format.ParseDict(dict(value), Struct())


def from_struct(struct: Struct) -> dict[str, Any]:
    """Returns the Struct as a dict, in which whole numbers are ints."""
    return {key: _whole(value) for key, value in json_format.MessageToDict(struct).items()}


def _check(value: object, path: str) -> None:
    if isinstance(value, bool):
        return
    if isinstance(value, int) and _as_double(value) != value:
        raise ValueError(f"{path}: no double holds {value}; send it as a string")
    if isinstance(value, Mapping):
        for key, one in value.items():
            _check(one, f"{path}.{key}" if path else str(key))
    elif isinstance(value, (list, tuple)):
        for place, one in enumerate(value):
            _check(one, f"{path}[{place}]")


def _as_double(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _whole(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return value
