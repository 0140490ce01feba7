"""Tests the rule by which adapters store values that a Struct cannot hold. No server is needed."""

import json
import math
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from session_pool import from_struct, to_struct
from session_pool.adapters.storable import from_storable, to_storable, well_formed

ENVELOPES = ["$number", "$$number", "$bytes", "$json", "$$$json", "$numbers", "number"]
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**53, max_value=2**80)
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from(["9", "NaN", "AAE=", "[1]", "x"])
)
keys = st.text() | st.sampled_from(ENVELOPES)
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(keys, inner, max_size=3))


def stored(value: object, **options: Any) -> Any:
    """What comes back when a Struct has held the value."""
    struct = to_struct({"value": to_storable(value, levels=23)})
    return from_storable(from_struct(struct)["value"], **options)


@given(values)
def test_json_comes_back_as_it_was(value: Any) -> None:
    assert stored(value) == value


@given(st.dictionaries(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.floats()))
def test_keys_and_numbers_come_back_as_from_json(value: Any) -> None:
    assert repr_of(stored(value)) == repr_of(json.loads(json.dumps(value)))


@given(st.text(st.characters(codec=None, exclude_categories=[])))
def test_halves_of_characters_become_u_fffd(text: str) -> None:
    [(key, one)] = stored({f"k{text}": [text]}).items()
    assert one == [well_formed(text)] and key == f"k{one[0]}"
    assert one[0].encode().decode() == one[0]
    # The same characters, after halves that belong together were joined.
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert one[0] == "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in whole)


@given(values, st.integers(min_value=20, max_value=120))
def test_what_is_nested_too_deep_comes_back(value: Any, levels: int) -> None:
    for level in range(levels):
        value = [value] if level % 2 else {"$json" if level % 3 else "a": value}
    assert stored(value) == value


@given(st.binary())
def test_bytes_come_back_where_they_are_kept(value: bytes) -> None:
    kept = to_storable([value], keep_bytes=True)
    assert from_storable(kept, keep_bytes=True) == [value]
    assert to_storable([value]) == [str(value)]


class Color(Enum):
    RED = "red"


class Size(IntEnum):
    BIG = 3


@dataclass
class Point:
    x: int
    at: datetime


class Model(BaseModel):
    name: str
    tags: set[str]


class Numbers:
    """What NumPy's arrays have in common with others."""

    def tolist(self) -> list[float]:
        return [1.5, math.inf]


class Hostile:
    def __str__(self) -> str:
        raise ValueError("no text")


AT = datetime(2026, 1, 31, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("value", "back"),
    [
        (2**63 - 1, 2**63 - 1),
        (2**64, 2**64),
        ([-(10**400)], [-(10**400)]),
        (-math.inf, -math.inf),
        ([10**5000], [hex(10**5000)]),
        ((1, (2,)), [1, [2]]),
        (OrderedDict(a=1), {"a": 1}),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (deque([1]), [1]),
        ({1}, [1]),
        (AT, "2026-01-31T00:00:00+00:00"),
        (AT.date(), "2026-01-31"),
        (Decimal("1.10"), "1.10"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Color.RED, "red"),
        (Size.BIG, 3),
        (Point(1, AT), {"x": 1, "at": "2026-01-31T00:00:00+00:00"}),
        (Model(name="a", tags={"b"}), {"name": "a", "tags": ["b"]}),
        (Numbers(), [1.5, math.inf]),
        (ValueError("broken"), "ValueError('broken')"),
        (len, "<built-in function len>"),
        (Model, str(Model)),
        (Hostile(), "[Raised ValueError: no text]"),
        ({(1, 2): "a"}, {"(1, 2)": "a"}),
        (dict([("\ud800", 1), ("\ud801", 2)]), {"\ufffd": 1, "\ufffd\ufffd": 2}),
    ],
)
def test_other_values_come_back_as_what_they_say(value: Any, back: Any) -> None:
    assert stored({"before": 1, "value": value, "after": 2}) == {"before": 1, "value": back, "after": 2}


def test_integers_are_written_digit_for_digit() -> None:
    assert to_storable([2**53, 2**53 + 1, -(2**63)]) == [
        2**53,
        {"$number": "9007199254740993"},
        {"$number": str(-(2**63))},
    ]


def test_large_floats_stay_floats() -> None:
    assert repr(stored([1e300, 1e16, 2**60])) == "[1e+300, 1e+16, 1152921504606846976]"


def test_nan_and_cycles_cost_nothing_else() -> None:
    cycle: dict[str, Any] = {"n": math.nan, "rest": [1]}
    cycle["self"] = cycle
    back = stored(cycle)
    assert math.isnan(back["n"]) and back["rest"] == [1] and back["self"] == "[Circular]"


def test_a_value_twice_is_no_cycle() -> None:
    twice = [1]
    assert stored([twice, twice]) == [[1], [1]]


def test_what_is_deeper_than_python_can_go_costs_only_itself() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    back = stored({"deep": deep, "rest": 1})
    assert back["rest"] == 1
    assert "[Deeper than 500 levels]" in str(back["deep"])


@pytest.mark.parametrize(
    "value",
    [{"$number": "x"}, {"$number": 5}, {"$number": "1_0"}, {"$bytes": "?"}, {"$json": "{"}, {"$json": {"$number": 1}}],
)
def test_what_only_looks_like_an_envelope_is_read_as_it_is(value: Any) -> None:
    assert from_storable(value, keep_bytes=True) == value


def repr_of(value: Any) -> str:
    """JSON in which NaN equals NaN, and whole numbers equal doubles."""
    return repr(sorted((key, float(one) + 0.0) for key, one in value.items()))
