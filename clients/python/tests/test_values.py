import math
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from session_pool import Session, from_struct, text, time_of, to_datetime, to_struct, to_timestamp


def nested(levels: int, value: Any) -> Any:
    for level in range(levels):
        value = {"a": value} if level % 2 else [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"a": None, "b": [True, False], "c": {"d": {}}, "e": [[], [None]]},
        {"": 0, "京都": "\U0001f341", "nul": "\0"},
        {"numbers": [0.5, -1, 2**53, -(2**60), 5e-324, 1.7976931348623157e308]},
        {"deep": nested(23, 1)},
    ],
)
def test_what_json_holds_comes_back(value: dict[str, Any]) -> None:
    assert from_struct(to_struct(value)) == value


def test_tuples_are_lists() -> None:
    assert from_struct(to_struct({"a": (1, 2)})) == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ({"deep": {"list": [1, 2**53 + 1]}}, ValueError, r"deep\.list\[1\]: no double holds 9007199254740993"),
        ({"a": 10**5000}, ValueError, "a: no double holds an integer of so many digits"),
        ({"a": [math.nan]}, ValueError, r"a\[0\]: JSON has no nan"),
        ({"a": -math.inf}, ValueError, "a: JSON has no -inf"),
        ({"a": {1: 2}}, TypeError, "a: the key 1 is no string"),
        ({None: 1}, TypeError, "the value: the key None is no string"),
        ({"file": "caf\udce9.txt"}, ValueError, "file: .*half of a character"),
        ({"caf\udce9.txt": 1}, ValueError, "a key: .*half of a character"),
        ({"when": datetime(2026, 5, 1)}, TypeError, "when: JSON has no datetime"),
        ({"b": [{"c": b"x"}]}, TypeError, r"b\[0\]\.c: JSON has no bytes"),
        ({"deep": nested(24, 1)}, ValueError, r"deep.*: more than 24 levels deep"),
    ],
)
def test_what_a_struct_does_not_hold_is_refused_with_its_path(
    value: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        to_struct(value)


def test_a_value_that_contains_itself_is_refused() -> None:
    value: dict[str, Any] = {}
    value["self"] = value
    with pytest.raises(ValueError, match="more than 24 levels deep"):
        to_struct(value)


def test_times_keep_their_microseconds() -> None:
    tokyo = timezone(timedelta(hours=9))
    for time in (datetime(1684, 8, 1, 0, 0, 0, 1, timezone.utc), datetime(2026, 5, 1, 9, 0, 0, 123456, tokyo)):
        assert to_datetime(to_timestamp(time)) == time
    timestamp = Timestamp(seconds=7)
    assert to_timestamp(timestamp) is timestamp
    assert text("user", "", timestamp=timestamp).info.timestamp == timestamp


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        to_timestamp(datetime(2026, 5, 1))


def test_an_absent_time_is_none() -> None:
    assert time_of(Session(), "expire_time") is None
    assert time_of(Session(expire_time=Timestamp()), "expire_time") == datetime(1970, 1, 1, tzinfo=timezone.utc)
