import uuid

import grpc
import pytest
from proxy import Proxy
from session_pool import SessionPoolClient, text
from sessionpool.v1.session_service_pb2 import WatchSessionsResponse


def told(event: WatchSessionsResponse) -> tuple[str | None, str]:
    kind = event.WhichOneof("event")
    return kind, event.deleted.session_id if kind == "deleted" else getattr(event, str(kind)).session_id


def test_tells_of_sessions_over_broken_connections(client: SessionPoolClient, proxy: Proxy) -> None:
    name = uuid.uuid4().hex
    with SessionPoolClient(proxy.address) as far:
        events = far.watch_sessions(labels={"run": name}, heartbeats=True)
        assert next(events).WhichOneof("event") == "heartbeat"
        client.create_session(f"{name}-other")
        client.create_session(f"{name}-a", labels={"run": name})
        seen = [next(events)]
        while told(seen[-1]) != ("created", f"{name}-a"):
            seen.append(next(events))
        proxy.cut()
        client.append(f"{name}-a", text("user", "one"))
        client.delete_session(f"{name}-a")
        while told(seen[-1]) != ("deleted", f"{name}-a"):
            event = next(events)
            if event.WhichOneof("event") != "heartbeat":
                seen.append(event)
        assert {id for _, id in map(told, seen)} == {f"{name}-a"}


def test_raises_what_is_wrong_with_a_token(client: SessionPoolClient) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        next(client.watch_sessions(resume_token="x"))
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
