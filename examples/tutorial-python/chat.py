"""A chat backend that keeps its conversations in session-pool."""

import asyncio

import grpc
from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel
from session_pool import SessionPoolError, text, text_of

from model import answer
from users import client, signed_in

app = FastAPI(dependencies=[Depends(signed_in)])
answering = set()


class Question(BaseModel):
    text: str


class Fork(BaseModel):
    id: str


@app.post("/chats/{chat}")
async def ask(chat: str, question: Question):
    asked = await client().append(chat, text("user", question.text), create_session=True)
    return begin_answer(chat, asked.position)


@app.get("/chats/{chat}")
async def read(chat: str):
    return [{"role": message.info.role, "text": text_of(message)} async for message in client().list_messages(chat)]


@app.get("/chats/{chat}/live")
async def live(chat: str):
    return stream_answer(chat, (await last_question(chat)).info.position)


@app.post("/chats/{chat}/stop")
async def stop(chat: str):
    while drafts := await client().list_drafts(chat):
        for draft in drafts:
            try:
                await client().finish_draft(chat, draft.message.info.id, version=draft.version)
            except SessionPoolError as error:
                # The writer was faster: it has written another word, or ended the draft. Look again.
                if error.code() not in (grpc.StatusCode.ABORTED, grpc.StatusCode.FAILED_PRECONDITION):
                    raise


@app.post("/chats/{chat}/retry")
async def retry(chat: str):
    question = await last_question(chat)
    await client().revert_session(chat, up_to_message_id=question.info.id)
    return begin_answer(chat, question.info.position)


@app.post("/chats/{chat}/fork")
async def fork(chat: str, fork: Fork):
    made = await client().fork_session(chat, new_session_id=fork.id)
    return {"id": made.session_id, "messages": made.message_count}


def begin_answer(chat, question):
    """Answers in a task of its own, which goes on when the reader goes away."""
    task = asyncio.create_task(write_answer(chat))
    answering.add(task)
    task.add_done_callback(answering.discard)
    return stream_answer(chat, question)


async def write_answer(chat):
    messages = [{"role": one.info.role, "content": text_of(one)} async for one in client().list_messages(chat)]
    async with client().draft(chat, on_stop=asyncio.current_task().cancel) as draft:
        try:
            async for word in answer(messages):
                await draft.write(word)
        except SessionPoolError:
            if not draft.is_stopped:
                raise


def stream_answer(chat, question):
    return StreamingResponse(words_after(chat, question), media_type="text/plain; charset=utf-8")


async def words_after(chat, question):
    """Yields the answer to a question: what is there already, then each word as it is written."""
    shown = ""
    async for event in client().watch(chat, from_position=question + 1):
        kind = event.WhichOneof("event")
        if kind == "draft":
            words = text_of(event.draft.message).removeprefix(shown)
        elif kind == "draft_extended":
            words = "".join(delta.append_text.text for delta in event.draft_extended.deltas)
        elif kind == "appended":
            words = text_of(event.appended).removeprefix(shown)
        else:
            words = ""
        shown += words
        yield words
        if kind in ("appended", "draft_ended", "truncated"):
            return


async def last_question(chat):
    async for message in client().list_messages(chat, newest_first=True):
        if message.info.role == "user":
            return message
    raise HTTPException(404, f"Nobody has asked anything in {chat}")


@app.exception_handler(SessionPoolError)
async def refuse(_request, error):
    statuses = {grpc.StatusCode.NOT_FOUND: 404, grpc.StatusCode.UNAUTHENTICATED: 401, grpc.StatusCode.ALREADY_EXISTS: 409}
    return JSONResponse({"error": error.details()}, statuses.get(error.code(), 500))
