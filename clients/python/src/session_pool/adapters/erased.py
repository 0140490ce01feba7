"""Puts something well-formed in the place of messages that were erased."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from sessionpool.v1.message_service_pb2 import MessageWithParts

ERASED = "[erased]"
"""Stands for the content of an erased message."""

_MANY = 1_000_000


class PairedMessage(NamedTuple):
    """What matters of a message for keeping calls and results together."""

    calls: Iterable[str] = ()
    """The ids of the calls in the message."""
    results: Iterable[str] = ()
    """The ids of the calls whose results are in the message."""
    erased: Literal["", "call", "result"] = ""
    """What an erased message can have been."""
    is_question: bool = False
    """Whether the user spoke here. A call and its result are never on different sides of such a message."""


def is_erased(message: MessageWithParts) -> bool:
    """Returns whether EraseMessage has removed the content of the message."""
    return any(part.type == "erased" and not part.HasField("data") for part in message.parts)


def pair_erased(
    messages: Sequence[PairedMessage], *, calls: int = _MANY, results: int = _MANY, both: bool = False
) -> list[list[str]]:
    """Returns for each message the ids that it needs if it was erased, so that each result has its call.

    An erased `call` gets the ids of the results after it that have no call, and an erased `result` those of the calls
    before it that have no result. A message can hold at most `calls` calls or `results` results. With `both`, an erased
    result without a call gets an erased call, by an id that is made here.
    """
    ids: list[list[str]] = [[] for _ in messages]
    most = {"call": calls, "result": results}
    # Where an erased call or result can be, and has not as many ids as it can hold.
    free = {kind: [at for at, paired in enumerate(messages) if paired.erased == kind] for kind in most}
    if not any(free.values()):
        return ids
    questions = [0, *(at for at, paired in enumerate(messages) if paired.is_question), len(messages)]
    called = {id for paired in messages for id in paired.calls}
    answered = {id for paired in messages for id in paired.results}

    def between(kind: str, first: int, last: int) -> list[int]:
        return free[kind][bisect_left(free[kind], first) : bisect_left(free[kind], last)]

    def give(id: str, kind: str, place: int) -> None:
        ids[place].append(id)
        if len(ids[place]) == most[kind]:
            free[kind].remove(place)

    for at, paired in enumerate(messages):
        question, next_question = _around(questions, at)
        for id in paired.calls:
            # Each call has a result of its own, as far as there are enough.
            if id not in answered and (places := between("result", at, next_question)):
                give(id, "result", min(places, key=lambda place: len(ids[place])))
        for id in paired.results:
            # Models take results only right after the message that called.
            if id not in called and (places := between("call", question, at)):
                give(id, "call", places[-1])
    for at in [at for at in free["result"] if both and not ids[at]]:
        if places := between("call", _around(questions, at)[0], at):
            give(f"erased_{at}", "call", places[-1])
            give(f"erased_{at}", "result", at)
    return ids


def _around(questions: Sequence[int], at: int) -> tuple[int, int]:
    """Returns where the question before a message is, and the next one."""
    after = bisect_right(questions, at, hi=len(questions) - 1)
    return questions[after - 1], questions[after]
