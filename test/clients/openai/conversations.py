"""Stores and reads conversations with OpenAI's unmodified client, and prints what it got as a JSON object."""

import json
import sys
import time

from openai import APIStatusError, OpenAI

base_url, api_key = sys.argv[1:]
client = OpenAI(base_url=base_url, api_key=api_key, max_retries=0)


def refusal(call):
    try:
        call()
    except APIStatusError as error:
        return [error.status_code, error.code, error.param]
    return "accepted"


conversation = client.conversations.create(
    metadata={"topic": "Kyoto"},
    items=[{"type": "message", "role": "user", "content": "When do the azaleas bloom?"}],
)
id = conversation.id
created = client.conversations.items.create(
    id,
    items=[
        {
            "id": "fc_1",
            "type": "function_call",
            "call_id": "call_1",
            "name": "bloom",
            "arguments": '{"place":"Kyoto"}',
            "status": "completed",
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "Late April"},
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [
                {"type": "output_text", "text": "Late April to the middle of May.", "annotations": [], "logprobs": []}
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Like these?"},
                {
                    "type": "input_image",
                    "image_url": "https://example.com/a.png",
                    "detail": "auto",
                    "file_id": None,
                },
            ],
        },
    ],
)
upward = [item.to_dict() for item in client.conversations.items.list(id, order="asc", limit=2)]
downward = [item.type for item in client.conversations.items.list(id, limit=2, include=["message.input_image.image_url"])]
updated = client.conversations.update(id, metadata={"topic": "Nara"})
retrieved = client.conversations.retrieve(id)
item = client.conversations.items.retrieve("fc_1", conversation_id=id)
refused = [
    refusal(lambda: client.conversations.items.retrieve("nothing", conversation_id=id)),
    refusal(lambda: client.conversations.items.create(id, items=[{"type": "item_reference", "id": "msg_1"}])),
    refusal(lambda: client.conversations.create(metadata={"budget": 3})),
    refusal(lambda: client.responses.create(model="gpt-5", input="hello")),
    refusal(lambda: OpenAI(base_url=base_url, api_key="sp_wrong", max_retries=0).conversations.retrieve(id)),
]
remaining = client.conversations.items.delete("msg_1", conversation_id=id)
left = client.conversations.items.list(id, order="asc")
deleted = client.conversations.delete(id)
gone = refusal(lambda: client.conversations.retrieve(id))[0]

print(
    json.dumps(
        {
            "id": id,
            "isRecent": abs(time.time() - conversation.created_at) < 600,
            "objects": [conversation.object, created.object, deleted.object],
            "created": [one.type for one in created.data],
            "upward": [{key: value for key, value in one.items() if key != "id"} for one in upward],
            "ids": [one["id"] for one in upward],
            "downward": downward,
            "metadata": [conversation.metadata, updated.metadata, retrieved.metadata],
            "item": item.to_dict(),
            "refused": refused,
            "afterDelete": [remaining.id == id, [one.type for one in left.data]],
            "deleted": deleted.deleted,
            "gone": gone,
        }
    )
)
