from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime

from google.protobuf.timestamp_pb2 import Timestamp
from sessionpool.v1.usage_service_pb2 import SumUsageRequest, UsageRow

from session_pool._async.calls import Calls
from session_pool.times import optional_timestamp
from session_pool.values import group_names, label_filters


class Summing(Calls):
    """The call that adds up what calls of models and tools took."""

    async def sum_usage(
        self,
        *,
        group_by: str | Iterable[str] = "",
        time_zone: str = "",
        since: datetime | Timestamp | None = None,
        until: datetime | Timestamp | None = None,
        labels: Mapping[str, str] | Iterable[str] = (),
        session_id: str = "",
        owner: str = "",
        no_owner: bool = False,
        model: str = "",
        page_size: int | None = None,
    ) -> AsyncIterator[UsageRow]:
        """Yields sums of usage by groups, in the order of the groups.

        `group_by` has names such as `day`, `model`, `tool` or `label:team`, as a text with commas or one by one; without
        it there is one row. Days are those of `time_zone`, an IANA name, or of UTC. Pages are read as they are needed,
        and the first row takes several calls while the server adds up. `NOT_FOUND`: there is no session `session_id`.
        """
        request = SumUsageRequest(
            since=optional_timestamp(since),
            until=optional_timestamp(until),
            group_by=group_names(group_by),
            time_zone=time_zone,
            owner=owner,
            no_owner=no_owner,
            label=label_filters(labels),
            session_id=session_id,
            model=model,
            limit=page_size,
        )
        while True:
            page = await self._again(self.usage.SumUsage, request)
            for row in page.rows:
                yield row
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
