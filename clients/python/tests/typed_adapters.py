"""Gives each adapter to its framework. Type checkers check this file, and nothing runs it."""

from agents import Agent, Runner
from claude_agent_sdk import ClaudeAgentOptions
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables.history import RunnableWithMessageHistory
from session_pool import AsyncSessionPoolClient, SessionPoolClient
from session_pool.adapters.claude_agent import SessionPoolStore
from session_pool.adapters.langchain import SessionPoolChatMessageHistory
from session_pool.adapters.openai_agents import SessionPoolSession


def claude(client: AsyncSessionPoolClient) -> ClaudeAgentOptions:
    return ClaudeAgentOptions(session_store=SessionPoolStore(client))


async def openai(client: AsyncSessionPoolClient) -> None:
    await Runner.run(Agent(name="Guide"), "When?", session=SessionPoolSession("trip", client))


def langchain(client: SessionPoolClient) -> None:
    RunnableWithMessageHistory(
        FakeListChatModel(responses=["In May."]), lambda session_id: SessionPoolChatMessageHistory(session_id, client)
    )
