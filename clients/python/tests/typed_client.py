"""Uses the clients as programs do. Type checkers check this file, and nothing runs it."""

import asyncio
import io
from collections.abc import AsyncIterator
from datetime import datetime, timezone
from pathlib import Path

from session_pool import (
    AsyncSessionPoolClient,
    Attachment,
    Download,
    OpenDraft,
    Part,
    PartAttachment,
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
    for source in (b"x", Path("x"), io.BytesIO(b"x"), iter([b"x"])):
        made: Attachment = client.upload_attachment("x", source, on_progress=lambda sent, total: print(sent, total))
        client.append("x", text("user", "x"))
        print(Part(type="file", attachment=PartAttachment(attachment_id=made.attachment_id)))
    with client.download_attachment("x", "a", on_progress=lambda read, total: print(total - read)) as download:
        taken: Download = download
        chunks: list[bytes] = list(taken)
    client.download_attachment("x", "a").save_to(Path("x"))
    print(chunks, [one.message_ids for one in client.list_attachments("x")])
    client.upload_attachment("x", "text")  # type: ignore[arg-type]
    try:
        return client.revert_session("x", to_start=True)
    except SessionPoolError as error:
        print(error.code().name)
        return error.current_revision


async def key() -> str:
    return "x"


async def pieces() -> AsyncIterator[bytes]:
    yield b"x"


async def main() -> None:
    async with AsyncSessionPoolClient("localhost:50051", key=key) as client:
        task = asyncio.current_task()
        assert task is not None
        async with client.draft("x", on_stop=task.cancel) as draft:
            await draft.write("x")
        async for session in client.list_sessions(view="full"):
            print(session.title)
        made = await client.upload_attachment("x", pieces(), name="x")
        async with await client.download_attachment("x", made.attachment_id) as download:
            async for chunk in download:
                print(chunk[:1])
    SessionPoolClient("localhost:50051", key=lambda: "x")
    AsyncSessionPoolClient("localhost:50051", key=lambda: "x")
    client.append("x", text("user", "x"))  # type: ignore[unused-coroutine]
    SessionPoolClient("x").upload_attachment("x", pieces())  # type: ignore[arg-type]
