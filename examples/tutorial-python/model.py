"""Stands for a language model: it answers slowly, word by word, and not always in the same way."""

import asyncio
from itertools import cycle

SHORT = cycle(["Late April to the middle of May.", "From the last days of April, for about three weeks."])
LONG = "In Kyoto the azaleas begin beside the canals and end in the hills. " * 4


async def answer(messages):
    question = messages[-1]["content"]
    words = (LONG if "more" in question else next(SHORT)).split()
    for number, word in enumerate(words):
        await asyncio.sleep(0.25)
        yield word if number == 0 else " " + word
