"""Uses the clients as programs do. Type checkers check this file, and nothing runs it."""

import asyncio
from datetime import datetime, timezone

from session_pool import (
    AsyncSessionPoolClient,
    OpenDraft,
    Part,
    SearchHit,
    Session,
    SessionPoolClient,
    SessionPoolError,
    text,
    time_of,
)


def use(client: SessionPoolClient) -> int | None:
    session: Session = client.create_session(labels={"a": "b"}, expire_time=datetime.now(timezone.utc))
    hits: list[SearchHit] = list(client.search_messages("x", labels={"a": "b"}))
    drafts: list[OpenDraft] = client.list_drafts("x")
    with client.draft("x", on_stop=lambda: None) as draft:
        draft.write("x")
    client.update_message("x", "m", parts=[Part(type="text", text="x")])
    print(hits, drafts, time_of(session, "expire_time"))
    try:
        return client.revert_session("x", to_start=True)
    except SessionPoolError as error:
        print(error.code().name)
        return error.current_revision


async def key() -> str:
    return "x"


async def main() -> None:
    async with AsyncSessionPoolClient("localhost:50051", key=key) as client:
        task = asyncio.current_task()
        assert task is not None
        async with client.draft("x", on_stop=task.cancel) as draft:
            await draft.write("x")
        async for session in client.list_sessions(view="full"):
            print(session.title)
    SessionPoolClient("localhost:50051", key=lambda: "x")
    AsyncSessionPoolClient("localhost:50051", key=lambda: "x")
    client.append("x", text("user", "x"))  # type: ignore[unused-coroutine]
