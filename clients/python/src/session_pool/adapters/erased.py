"""Puts something well-formed in the place of messages that were erased."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from sessionpool.v1.message_service_pb2 import MessageWithParts

ERASED = "[erased]"
"""Stands for the content of an erased message."""

_MANY = 1_000_000


class Turn(NamedTuple):
    """What matters of a message for keeping calls and results together."""

    calls: Iterable[str] = ()
    """The ids of the calls in the message."""
    results: Iterable[str] = ()
    """The ids of the calls whose results are in the message."""
    erased: Literal["", "call", "result"] = ""
    """What an erased message can have been."""
    is_question: bool = False
    """Whether the user spoke here. No call before has its result after."""


def is_erased(message: MessageWithParts) -> bool:
    """Returns whether EraseMessage has removed the content of the message."""
    return any(part.type == "erased" and not part.HasField("data") for part in message.parts)


def pair_erased(turns: Sequence[Turn], *, calls: int = _MANY, results: int = _MANY) -> list[list[str]]:
    """Returns for each turn the ids that it needs if it was erased, so that each result has its call.

    An erased `call` gets the ids of the results after it that have no call, and an erased `result` those of the calls
    before it that have no result. A message can hold at most `calls` calls or `results` results.
    """
    ids: list[list[str]] = [[] for _ in turns]
    if not any(turn.erased for turn in turns):
        return ids
    called = {id for turn in turns for id in turn.calls}
    answered = {id for turn in turns for id in turn.results}

    for at, turn in enumerate(turns):
        for id in turn.calls:
            if id not in answered:
                after = _free(turns, ids, "result", results, range(at + 1, len(turns)))
                # Each call has a result of its own, as far as there are enough.
                _give(ids, id, min(after, key=lambda place: len(ids[place]), default=None))
        for id in turn.results:
            if id not in called:
                # Models take results only right after the message that called.
                _give(ids, id, next(_free(turns, ids, "call", calls, range(at - 1, -1, -1)), None))
    return ids


def pair_both_erased(turns: Sequence[Turn], ids: list[list[str]], *, calls: int = _MANY) -> None:
    """Gives erased results that have no call an erased call before them, by an id that is made here."""
    for at, turn in enumerate(turns):
        if turn.erased == "result" and not ids[at]:
            place = next(_free(turns, ids, "call", calls, range(at - 1, -1, -1)), None)
            if place is not None:
                _give(ids, f"erased_{at}", at)
                _give(ids, f"erased_{at}", place)


def _free(turns: Sequence[Turn], ids: list[list[str]], wanted: str, most: int, places: range) -> Iterator[int]:
    """Yields where an erased call or result can be, up to the next question."""
    for place in places:
        if turns[place].erased == wanted and len(ids[place]) < most:
            yield place
        if turns[place].is_question:
            return


def _give(ids: list[list[str]], id: str, place: int | None) -> None:
    if place is not None:
        ids[place].append(id)
