"""Measures how other programs store conversations, for the table of peers in docs/performance.md.

    pip install openai-agents langgraph-checkpoint-sqlite
    python test/bench/peers/peers.py
"""

import asyncio
import os
import tempfile
import time

from agents import SQLiteSession
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

SENTENCE = 'The café\'s "daily" log says: run 42 passed,\nthen the parser met an unexpected token. '
TEXT = (SENTENCE * 20)[:1024]
MESSAGE = {"role": "user", "content": TEXT}
SECONDS = 3.0


def report(name: str, count: int, clock: float, processor: float) -> None:
    print(f"| {name} | {processor / count * 1000:.3f} | {count / clock:,.0f} |", flush=True)


def measure(name: str, call) -> None:
    """Repeats the call for some seconds and reports how long it takes. A call that takes longer is made once."""
    call()
    count, begun, used = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - begun < SECONDS:
        call()
        count += 1
    report(name, count, time.perf_counter() - begun, time.process_time() - used)


def disk(folder: str) -> int:
    return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))


def openai_agents(folder: str) -> None:
    name = "openai-agents SQLiteSession"
    loop = asyncio.new_event_loop()
    run = loop.run_until_complete
    path = os.path.join(folder, "openai.db")
    written = SQLiteSession("written", path)
    measure(f"{name}, append", lambda: run(written.add_items([MESSAGE])))
    written.close()
    small = SQLiteSession("small", os.path.join(folder, "small.db"))
    run(small.add_items([MESSAGE] * 10_000))
    measure(f"{name}, last 100 of 10,000", lambda: run(small.get_items(100)))
    small.close()
    print(f"{name}: {os.path.getsize(os.path.join(folder, 'small.db')) / 10_000:,.0f} bytes of disk a message")
    large = SQLiteSession("large", os.path.join(folder, "large.db"))
    run(large.add_items([MESSAGE] * 100_000))
    # get_items can only return the newest messages, so it must read all from the page to the end.
    measure(f"{name}, 100 in the middle of 100,000", lambda: run(large.get_items(50_100))[:100])
    large.close()


def langgraph(folder: str) -> None:
    """Measures langgraph, in which each checkpoint holds the whole state and so all messages."""
    name = "langgraph SqliteSaver"
    for length, what in ((100, "append to 100"), (10_000, "append to 10,000")):
        path = os.path.join(folder, f"langgraph-{length}.db")
        with SqliteSaver.from_conn_string(path) as saver:
            state = [MESSAGE] * length
            config = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}

            def append() -> None:
                checkpoint = empty_checkpoint() | {"channel_values": {"messages": state}}
                saver.put(config, checkpoint, {"source": "loop", "step": 1}, {})

            measure(f"{name}, {what}", append)
            if length == 10_000:

                def read() -> list:
                    return saver.get_tuple(config).checkpoint["channel_values"]["messages"][-100:]

                measure(f"{name}, last 100 of 10,000", read)
    path = os.path.join(folder, "langgraph-turns.db")
    with SqliteSaver.from_conn_string(path) as saver:
        for turn in range(1, 301):
            checkpoint = empty_checkpoint() | {"channel_values": {"messages": [MESSAGE] * turn}}
            config = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
            saver.put(config, checkpoint, {"source": "loop", "step": turn}, {})
    print(f"{name}: {os.path.getsize(path) / 300:,.0f} bytes of disk a message, after 300 appends")


with tempfile.TemporaryDirectory() as folder:
    print("| | CPU a call, ms | calls/s |\n|---|---|---|")
    openai_agents(folder)
    langgraph(folder)
