"""Who asks: whoever the request's token names. Each user sees only their own chats."""

from contextvars import ContextVar
from functools import cache
from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from session_pool import AsyncSessionPoolClient

token = ContextVar("token")


@cache
def client():
    """One client for all users: before each call, it asks for the token of the request that it serves."""
    return AsyncSessionPoolClient("127.0.0.1:50051", key=token.get)


async def signed_in(credentials: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]):
    token.set(credentials.credentials)
