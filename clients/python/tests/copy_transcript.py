"""Reads a transcript of Claude's by the adapter, prints it as JSON, and stores it as another session's."""

import asyncio
import json
import sys

from session_pool import AsyncSessionPoolClient
from session_pool.adapters.claude_agent import SessionPoolStore


async def main(address: str, project: str, source: str, target: str) -> None:
    async with AsyncSessionPoolClient(address) as client:
        store = SessionPoolStore(client)
        entries = await store.load({"project_key": project, "session_id": source})
        await store.append({"project_key": project, "session_id": target}, entries or [])
        print(json.dumps(entries))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
