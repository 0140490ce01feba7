"""The client of session-pool, which keeps, forks, reverts and follows the conversations of agents.

    from session_pool import SessionPoolClient, text

    with SessionPoolClient("localhost:50051") as client:
        trip = client.create_session(title="Kyoto in May").session_id
        client.append(trip, text("user", "When do the azaleas bloom?"))

`AsyncSessionPoolClient` is the same for asyncio. Answers are the protobuf messages of `sessionpool.v1`, re-exported
here. Errors are `SessionPoolError`s, which are `grpc.RpcError`s: look at their `code()`.
"""

from sessionpool.v1.annotation_service_pb2 import Annotation
from sessionpool.v1.attachment_service_pb2 import Attachment
from sessionpool.v1.message_service_pb2 import (
    AppendMessageResponse,
    AppendMessagesResponse,
    CopyMessagesResponse,
    FinishDraftResponse,
    MessageInfo,
    MessageWithParts,
    Part,
    PartAttachment,
    SearchedField,
    SearchHit,
    WatchMessagesResponse,
)
from sessionpool.v1.message_service_pb2 import Draft as OpenDraft
from sessionpool.v1.session_service_pb2 import LoadSessionResponse, Session
from sessionpool.v1.todo_service_pb2 import Todo
from sessionpool.v1.usage_service_pb2 import Usage, UsageRow, UsageSums

from session_pool._async.client import AsyncSessionPoolClient
from session_pool._async.download import AsyncDownload
from session_pool._async.draft import AsyncDraft
from session_pool._sync.client import SessionPoolClient
from session_pool._sync.download import Download
from session_pool._sync.draft import Draft
from session_pool.errors import SessionPoolError
from session_pool.messages import new_id, text, text_of
from session_pool.times import time_of, to_datetime, to_timestamp
from session_pool.values import from_struct, to_struct

__all__ = [
    "Annotation",
    "AppendMessageResponse",
    "AppendMessagesResponse",
    "AsyncDownload",
    "AsyncDraft",
    "AsyncSessionPoolClient",
    "Attachment",
    "CopyMessagesResponse",
    "Download",
    "Draft",
    "FinishDraftResponse",
    "LoadSessionResponse",
    "MessageInfo",
    "MessageWithParts",
    "OpenDraft",
    "Part",
    "PartAttachment",
    "SearchHit",
    "SearchedField",
    "Session",
    "SessionPoolClient",
    "SessionPoolError",
    "Todo",
    "Usage",
    "UsageRow",
    "UsageSums",
    "WatchMessagesResponse",
    "from_struct",
    "new_id",
    "text",
    "text_of",
    "time_of",
    "to_datetime",
    "to_struct",
    "to_timestamp",
]
