"""Keeps a conversation with the OpenAIConversationsSession of openai-agents, and prints what it got as JSON."""

import asyncio
import json
import sys

from agents import OpenAIConversationsSession
from openai import AsyncOpenAI, NotFoundError


async def main(base_url: str, key: str) -> None:
    client = AsyncOpenAI(base_url=base_url, api_key=key, max_retries=0)
    session = OpenAIConversationsSession(openai_client=client)
    arguments = '{"place":"Kyoto"}'
    await session.add_items(
        [
            {"role": "user", "content": "When do the azaleas bloom?"},
            {"type": "function_call", "call_id": "c1", "name": "bloom", "arguments": arguments, "status": "completed"},
            {"type": "function_call_output", "call_id": "c1", "output": "May"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "In May."}]},
        ]
    )
    for i in range(25):
        await session.add_items([{"role": "user", "content": f"More {i}"}])
    items = await session.get_items()
    last = await session.get_items(2)
    popped = await session.pop_item()
    conversation_id = await session._get_session_id()
    left = len(await OpenAIConversationsSession(conversation_id=conversation_id, openai_client=client).get_items())
    await session.clear_session()
    try:
        await client.conversations.retrieve(conversation_id)
        gone = 200
    except NotFoundError as error:
        gone = error.status_code
    print(
        json.dumps(
            {
                "types": [item["type"] for item in items[:4]],
                "result": items[2]["output"],
                "texts": [text_of(items[0]), text_of(items[3])],
                "count": len(items),
                "last": [text_of(item) for item in last],
                "popped": text_of(popped),
                "left": left,
                "gone": gone,
                "restarted": await session.get_items(),
            }
        )
    )


def text_of(item: dict) -> str:
    return item["content"][0]["text"]


asyncio.run(main(*sys.argv[1:]))
