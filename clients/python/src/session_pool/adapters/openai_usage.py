"""Reads what the responses of a run of the OpenAI Agents SDK took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from sessionpool.v1.usage_service_pb2 import Usage

from session_pool.adapters.usage import openai_usage


class AgentRun(Protocol):
    """A result of `Runner.run`, or the `run_data` of an exception of the SDK."""

    @property
    def raw_responses(self) -> Sequence[Any]:
        """The responses of the model."""


class SpentResponse(NamedTuple):
    """What a response took, and by what the items that it made are recognised, the last one first."""

    usage: Usage
    keys: list[Any]


def spent_responses(run: AgentRun) -> list[SpentResponse]:
    """Returns the responses of a run that say what they took, the last one first."""
    model = getattr(getattr(run, "last_agent", None), "model", None)
    name = model if isinstance(model, str) else getattr(model, "model", None)
    spent = []
    for response in reversed(run.raw_responses):
        usage = openai_usage(response.usage, name)
        # A model that reports nothing has zeros.
        if usage is None or not (usage.input_tokens or usage.output_tokens):
            continue
        keys = [key for item in reversed(response.output) if (key := key_of(item)) is not None]
        spent.append(SpentResponse(usage, keys))
    return spent


def key_of(item: Any) -> Any:
    """Returns what an item is recognised by: the id of a call, or what a message says. None for other items."""
    if hasattr(item, "model_dump"):
        item = item.model_dump(exclude_unset=True)
    if not isinstance(item, Mapping):
        return None
    kind, call_id = item.get("type", "message"), item.get("call_id")
    if isinstance(call_id, str) and not str(kind).endswith("_output"):
        return (kind, call_id)
    if kind != "message" or item.get("role") != "assistant" or not isinstance(item.get("content"), list):
        return None
    return (kind, *(piece.get("text") or piece.get("refusal") for piece in item["content"] if isinstance(piece, Mapping)))
