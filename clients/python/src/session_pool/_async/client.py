from __future__ import annotations

from session_pool._async.annotations import Annotations
from session_pool._async.attachments import Attachments
from session_pool._async.drafting import Drafting
from session_pool._async.history import History
from session_pool._async.sessions import Sessions
from session_pool._async.todos import Todos
from session_pool._async.usage import Summing
from session_pool._async.watch import Watching


class AsyncSessionPoolClient(Sessions, History, Drafting, Watching, Attachments, Annotations, Summing, Todos):
    """A client of one server. It keeps its connection until `close` or the end of the `with` block.

    Reads, and calls that make something, are sent again when the server cannot be reached or does not answer in time.
    The client makes the ids, so nothing is stored twice. Errors are `SessionPoolError`s, which are gRPC's
    `grpc.RpcError`s, with a `code()` and `details()`.

    Wherever a time is expected, it is a datetime with a time zone or a protobuf Timestamp.
    """
