"""The client of session-pool, which keeps, forks, reverts and follows the conversations of agents.

    from session_pool import SessionPoolClient, text

    with SessionPoolClient("localhost:50051") as client:
        trip = client.create_session(title="Kyoto in May").session_id
        client.append(trip, text("user", "When do the azaleas bloom?"))

`AsyncSessionPoolClient` is the same for asyncio. Requests and answers are the protobuf messages of `sessionpool.v1`,
re-exported here where the client's own methods need them. Errors are gRPC's: catch `grpc.RpcError` and look at its
`code()`.
"""

from sessionpool.v1.message_service_pb2 import MessageInfo, MessageWithParts, Part, WatchMessagesResponse
from sessionpool.v1.session_service_pb2 import LoadSessionResponse, Session
from sessionpool.v1.todo_service_pb2 import Todo

from session_pool._async.client import AsyncSessionPoolClient
from session_pool._async.draft import AsyncDraft
from session_pool._sync.client import SessionPoolClient
from session_pool._sync.draft import Draft
from session_pool.messages import new_id, text, text_of
from session_pool.values import from_struct, to_struct

__all__ = [
    "AsyncDraft",
    "AsyncSessionPoolClient",
    "Draft",
    "LoadSessionResponse",
    "MessageInfo",
    "MessageWithParts",
    "Part",
    "Session",
    "SessionPoolClient",
    "Todo",
    "WatchMessagesResponse",
    "from_struct",
    "new_id",
    "text",
    "text_of",
    "to_struct",
]
