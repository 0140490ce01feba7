"""Reads what the calls of models took from what frameworks say of it.

A value that the service would refuse is left out, so that it never costs the message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from sessionpool.v1.message_service_pb2 import MessageWithParts
from sessionpool.v1.usage_service_pb2 import Usage

_MOST_TOKENS = 1_000_000_000
_MOST_NAME_BYTES = 128
_MOST_COST = Decimal(10) ** 12
# Digits after the point.
_COST_DIGITS = 18
_COUNTS = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens")


def anthropic_usage(usage: Any, model: Any = None) -> Usage | None:
    """Returns the usage of an answer of Anthropic's API, or None if nothing is known.

    Anthropic's `input_tokens` are those that were neither read from the cache nor written to it. Ours are all of them.
    """
    own, read, written = (
        _at(usage, name) for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    )
    return made(
        model=model,
        input_tokens=_sum(own, read, written),
        output_tokens=_at(usage, "output_tokens"),
        cached_input_tokens=read,
    )


def openai_usage(usage: Any, model: Any = None, provider: Any = None) -> Usage | None:
    """Returns the usage of an answer of OpenAI's responses, as the Agents SDK has it. Input includes what was cached."""
    return made(
        model=model,
        provider=provider,
        input_tokens=_at(usage, "input_tokens"),
        output_tokens=_at(usage, "output_tokens"),
        cached_input_tokens=_at(_at(usage, "input_tokens_details"), "cached_tokens"),
        reasoning_tokens=_at(_at(usage, "output_tokens_details"), "reasoning_tokens"),
    )


def langchain_usage(usage: Any, response: Any) -> Usage | None:
    """Returns the usage of a message of LangChain: of its `usage_metadata`, or of the raw `response_metadata`."""
    model = _at(response, "model_name") or _at(response, "model")
    provider = _at(response, "model_provider")
    if usage:
        return made(
            model=model,
            provider=provider,
            input_tokens=_at(usage, "input_tokens"),
            output_tokens=_at(usage, "output_tokens"),
            cached_input_tokens=_at(_at(usage, "input_token_details"), "cache_read"),
            reasoning_tokens=_at(_at(usage, "output_token_details"), "reasoning"),
        )
    raw = _at(response, "token_usage")
    if not raw:
        return None
    return made(
        model=model,
        provider=provider,
        input_tokens=_at(raw, "prompt_tokens"),
        output_tokens=_at(raw, "completion_tokens"),
        cached_input_tokens=_at(_at(raw, "prompt_tokens_details"), "cached_tokens"),
        reasoning_tokens=_at(_at(raw, "completion_tokens_details"), "reasoning_tokens"),
    )


def made(
    *,
    model: Any = None,
    provider: Any = None,
    input_tokens: Any = None,
    output_tokens: Any = None,
    cached_input_tokens: Any = None,
    reasoning_tokens: Any = None,
    cost_usd: Any = None,
) -> Usage | None:
    """Makes a usage of values of any kind, without those that no usage can have. None if nothing is left."""
    cost = _cost(cost_usd)
    usage = Usage(
        model=_name(model),
        provider=_name(provider),
        input_tokens=_tokens(input_tokens),
        output_tokens=_tokens(output_tokens),
        cached_input_tokens=_tokens(cached_input_tokens),
        reasoning_tokens=_tokens(reasoning_tokens),
        cost=cost,
        currency="USD" if cost else "",
    )
    return usage if usage.ByteSize() > 0 else None


def set_usage(message: MessageWithParts, usage: Usage | None) -> MessageWithParts:
    """Returns the message, which has the usage if there is one."""
    if usage is not None:
        message.info.usage.CopyFrom(usage)
    return message


def sum_of(usages: Iterable[Usage]) -> Usage | None:
    """Returns what several calls took together, with the model of the last. None for no calls."""
    all_usages = list(usages)
    if not all_usages:
        return None
    model = next((one.model for one in reversed(all_usages) if one.model), None)
    provider = next((one.provider for one in reversed(all_usages) if one.provider), None)
    sums = {name: _total(all_usages, name) for name in _COUNTS}
    return made(model=model, provider=provider, **sums)


def _total(usages: Iterable[Usage], name: str) -> int | None:
    known = [getattr(one, name) for one in usages if one.HasField(name)]  # type: ignore[arg-type]
    return sum(known) if known else None


def _at(value: Any, name: str) -> Any:
    """Returns a field of a mapping or an object, or None."""
    if isinstance(value, Mapping):
        return value.get(name)
    return None if value is None else getattr(value, name, None)


def _sum(first: Any, *others: Any) -> int | None:
    """Returns the sum, or None if the first number is missing or any of them is none."""
    numbers = [_tokens(first), *(_tokens(one) for one in others if one is not None)]
    known = [one for one in numbers if one is not None]
    return sum(known) if len(known) == len(numbers) else None


def _tokens(value: Any) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value <= _MOST_TOKENS else None


def _name(value: Any) -> str:
    if not isinstance(value, str) or any(ord(one) < 32 or 127 <= ord(one) < 160 for one in value):
        return ""
    try:
        return value if len(value.encode()) <= _MOST_NAME_BYTES else ""
    except UnicodeEncodeError:
        return ""


def _cost(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return ""
    exact = Decimal(repr(value))
    if not exact.is_finite() or not 0 <= exact < _MOST_COST:
        return ""
    whole, _, fraction = f"{exact:f}".partition(".")
    return f"{whole}.{fraction[:_COST_DIGITS]}" if fraction else whole
