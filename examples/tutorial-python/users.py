"""Who asks: everybody is the same user."""

from functools import cache

from session_pool import AsyncSessionPoolClient


@cache
def client():
    """Made by the first request, because a client belongs to the event loop in which it is made."""
    return AsyncSessionPoolClient("127.0.0.1:50051")


async def signed_in():
    pass
