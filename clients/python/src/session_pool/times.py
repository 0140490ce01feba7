"""Converts between datetimes and the Timestamps of the API."""

from __future__ import annotations

from datetime import datetime, timezone

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp


def to_timestamp(time: datetime | Timestamp) -> Timestamp:
    """Makes a Timestamp. Raises ValueError for a datetime without a time zone, because it is no moment."""
    if isinstance(time, Timestamp):
        return time
    if time.utcoffset() is None:
        raise ValueError(f"{time!r} has no time zone; use for example datetime.now(timezone.utc)")
    made = Timestamp()
    made.FromDatetime(time)
    return made


def to_datetime(timestamp: Timestamp) -> datetime:
    """Returns the moment as a datetime in UTC, to the microsecond. An absent Timestamp is 1970: see `time_of`."""
    return timestamp.ToDatetime(tzinfo=timezone.utc)


def time_of(message: Message, field: str) -> datetime | None:
    """Returns a time of a message, such as `time_of(session, "expire_time")`, or None if it is absent."""
    return to_datetime(getattr(message, field)) if message.HasField(field) else None


def optional_timestamp(time: datetime | Timestamp | None) -> Timestamp | None:
    """Makes a Timestamp for a field that may be absent."""
    return None if time is None else to_timestamp(time)
