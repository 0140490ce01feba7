"""Groups messages into calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sessionpool.v1.message_service_pb2 import MessageWithParts

from session_pool.adapters.fitted import MOST_VALUES, count_values

_MOST_MESSAGES = 1000
# Below the 8 MiB of a call.
_MOST_BYTES = 7 * 1024 * 1024


def batches(messages: Iterable[MessageWithParts]) -> Iterator[list[MessageWithParts]]:
    """Yields the messages in their order, in as few lists as the limits of `append_all` allow."""
    batch: list[MessageWithParts] = []
    size = values = 0
    for message in messages:
        size += message.ByteSize()
        values += count_values(message)
        if batch and (len(batch) == _MOST_MESSAGES or size > _MOST_BYTES or values > MOST_VALUES):
            yield batch
            batch, size, values = [], message.ByteSize(), count_values(message)
        batch.append(message)
    if batch:
        yield batch
