"""Fixtures with the servers that the tests call.

SESSION_POOL_ADDRESS names one without keys, and SESSION_POOL_KEYED_ADDRESS one that accepts the key SESSION_POOL_KEY.
"""

import os
from collections.abc import AsyncIterator, Iterator

import grpc
import pytest
import pytest_asyncio
from hypothesis import settings
from proxy import Proxy

from session_pool import AsyncSessionPoolClient, SessionPoolClient, SessionPoolError, new_id

# No test fails because the machine is slow. A failure prints how to repeat it.
settings.register_profile("session_pool", deadline=None, print_blob=True)
settings.load_profile("session_pool")


@pytest.fixture
def address() -> str:
    return os.environ["SESSION_POOL_ADDRESS"]


@pytest.fixture
def keyed() -> tuple[str, str]:
    return os.environ["SESSION_POOL_KEYED_ADDRESS"], os.environ["SESSION_POOL_KEY"]


@pytest.fixture
def client(address: str) -> Iterator[SessionPoolClient]:
    with SessionPoolClient(address) as opened:
        yield opened


@pytest_asyncio.fixture
async def async_client(address: str) -> AsyncIterator[AsyncSessionPoolClient]:
    async with AsyncSessionPoolClient(address) as opened:
        yield opened


@pytest.fixture
def proxy(address: str) -> Iterator[Proxy]:
    with Proxy(address) as started:
        yield started


@pytest.fixture
def session_id(client: SessionPoolClient) -> str:
    return client.create_session(new_id()).session_id


@pytest.fixture
def no_attachments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the clients meet a server that has no attachments."""

    def refuse(*_given: object, **_options: object) -> None:
        raise SessionPoolError(grpc.StatusCode.UNIMPLEMENTED, details="unknown method UploadAttachment")

    async def refuse_async(*_given: object, **_options: object) -> None:
        refuse()

    monkeypatch.setattr(SessionPoolClient, "upload_attachment", refuse)
    monkeypatch.setattr(AsyncSessionPoolClient, "upload_attachment", refuse_async)
