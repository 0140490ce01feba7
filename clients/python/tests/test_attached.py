import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session_pool import MessageWithParts, Part, to_struct
from session_pool.adapters.attached import attached
from session_pool.adapters.fitted import MOST_BYTES, MOST_VALUES, count_values, fitted
from session_pool.adapters.restored import listed_ids, restored

FILE = Path(__file__).parents[3] / "test/clients/fixtures/attached-parts.json"


def unfold(value: Any) -> Any:
    """Returns the value with `xxx` for each `{"join": [["x", 3]]}`."""
    if isinstance(value, list):
        return [unfold(item) for item in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("join"), list):
        return "".join(text * count for text, count in value["join"])
    return {key: unfold(item) for key, item in value.items()}


EXAMPLES = unfold(json.loads(FILE.read_text(encoding="utf-8")))


def message_of(parts: list[Any]) -> MessageWithParts:
    return json_format.ParseDict({"info": {"id": "m", "role": "assistant"}, "parts": parts}, MessageWithParts())


def kept(message: MessageWithParts, json_text_type: str = "") -> MessageWithParts:
    """Attaches and restores a message by way of the wire, as the service would keep it."""
    small, uploads = attached(message, json_text_type=json_text_type)
    contents = {upload.attachment_id: upload.content for upload in uploads}
    assert set(listed_ids([small])) == set(contents)
    return restored(MessageWithParts.FromString(small.SerializeToString()), contents)


@pytest.mark.parametrize("example", EXAMPLES, ids=[example["name"] for example in EXAMPLES])
def test_values_are_kept_as_the_examples_say(example: Any) -> None:
    message, kind = message_of(example["parts"]), example.get("json_text_type", "")
    small, uploads = attached(message, json_text_type=kind)
    assert small == message_of(example["stored"])
    assert [tuple(upload) for upload in uploads] == [
        (
            one["attachment_id"],
            one["media_type"],
            one["name"],
            one["text"].encode() if "text" in one else base64.b64decode(one["base64"]),
        )
        for one in example["attachments"]
    ]
    assert kept(message, kind) == message


encoded = st.binary(min_size=4000, max_size=5000).map(lambda content: base64.b64encode(content).decode())
large = st.one_of(
    st.tuples(st.text(min_size=1, max_size=5), st.integers(60_000, 100_000)).map(lambda one: one[0] * one[1]),
    encoded,
    encoded.map(lambda text: f"data:image/png;base64,{text}"),
    encoded.map(lambda text: text[:-1]),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["base64", "image", "text"]), "data": encoded, "filename": st.text()}
    ),
    st.text(max_size=9).map(lambda text: [text] * 30_000),
)
keys = st.text(max_size=5) | st.sampled_from(["$attachments", "$$attachments", "text", "data", "blob"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text() | large,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=4,
)
parts = st.builds(
    lambda kind, text, data: Part(type=kind, text=text, data=to_struct(data)),
    st.sampled_from(["text", "file", "attachment"]),
    st.text() | large.filter(lambda value: isinstance(value, str)),
    st.dictionaries(keys, values, min_size=1, max_size=3),
)


@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(st.lists(parts, max_size=2), st.dictionaries(keys, values, max_size=3))
def test_values_come_back_as_they_were(given_parts: list[Part], entry: dict[str, Any]) -> None:
    message = message_of([])
    message.parts.extend(given_parts)
    assert kept(message) == message
    message.parts.append(Part(type="entry", text=json.dumps(entry)))
    back = kept(message, "entry")
    assert json.loads(back.parts[-1].text) == entry
    assert list(back.parts[:-1]) == given_parts


def test_a_part_that_has_the_type_of_those_at_the_end_stays() -> None:
    message = message_of([{"type": "attachment", "text": "x" * 300_000}, {"type": "attachment", "data": {"a": 1}}])
    assert kept(message) == message


def test_a_message_fits_with_at_most_100_attachments() -> None:
    rows = list(range(60_000))
    outputs = [{"type": "tool-read", "data": {"output": str(n).ljust(100_000 + n)}} for n in range(45)]
    many = message_of([{"type": "tool-list", "data": {"rows": [rows, rows], "small": 1}}, *outputs])
    small, uploads = attached(many)
    assert small.ByteSize() <= MOST_BYTES and count_values(small) <= MOST_VALUES and len(uploads) < 45
    assert fitted(small) is small
    assert kept(many) == many

    pictures = [base64.b64encode(bytes(5000 + n)).decode() for n in range(120)]
    files = message_of([{"type": "file", "data": {"url": f"data:image/png;base64,{one}"}} for one in pictures])
    small, uploads = attached(files)
    assert [len(upload.content) for upload in uploads] == list(range(5020, 5120))
    assert sum(part.HasField("attachment") for part in small.parts) == 100
    assert kept(files) == files


def test_what_is_missing_or_another_program_s_stays_as_it_is() -> None:
    url = f"data:image/png;base64,{'A' * 8000}"
    given_message = message_of([{"type": "text", "text": "x" * 300_000}, {"type": "file", "data": {"url": url}}])
    assert restored(attached(given_message).message, {}) == message_of(
        [{"type": "text", "text": "x" * 16384}, {"type": "file", "data": {"url": "data:image/png;base64,"}}]
    )
    id = "1" * 64
    paths: list[list[Any]] = [["text", "a"], ["data", "no", 1], ["data", "list", 5], ["data", "list", "x"], ["nowhere"]]
    listed = [{"path": path, "attachment_id": id, "form": "text"} for path in paths]
    odd = message_of([{"type": "a", "text": "{", "data": {"list": [1], "$attachments": listed}}])
    assert restored(odd, {id: b"y"}) == message_of([{"type": "a", "text": "{", "data": {"list": [1]}}])
    broken = [{"path": ["data", "a"], "attachment_id": id, "form": "json"}]
    no_json = message_of([{"type": "a", "data": {"a": "kept", "$attachments": broken}}])
    for content in (b"{", b"NaN", b"[" * 100_000):
        assert restored(no_json, {id: content}).parts[0].data.fields["a"].string_value == "kept"
    lists: list[Any] = [
        [{"path": [], "attachment_id": id, "form": "text"}],
        [{"path": ["text"], "attachment_id": id, "form": "x"}],
        [{"path": ["text"], "attachment_id": 1, "form": "text"}],
        [{"path": [1.5], "attachment_id": id, "form": "text"}],
        "text",
        [None],
    ]
    foreign = message_of([{"type": "a", "data": {"$attachments": one}} for one in lists])
    assert restored(foreign, {id: b"y"}) == foreign


def test_values_that_mean_the_same_have_the_same_id() -> None:
    value = {"b": "x" * 200_000, "a": ["x" * 100_000], "é": 1}
    ids = set()
    for order in (value, dict(reversed(value.items()))):
        [upload] = attached(MessageWithParts(parts=[Part(type="a", data=to_struct({"output": order}))])).uploads
        ids.add(upload.attachment_id)
        assert re.fullmatch("[0-9a-f]{64}", upload.attachment_id)
    assert len(ids) == 1
