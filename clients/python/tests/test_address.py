import grpc
import pytest
from session_pool import AsyncSessionPoolClient, SessionPoolClient
from session_pool.address import parse_address


@pytest.mark.parametrize(
    ("text", "target", "tls"),
    [
        ("localhost:50051", "localhost:50051", False),
        ("[::1]:50051", "[::1]:50051", False),
        ("http://localhost:8080", "localhost:8080", False),
        ("HTTP://localhost:8080/", "localhost:8080", False),
        ("http://localhost", "localhost:80", False),
        ("https://sessions.example.com", "sessions.example.com:443", True),
        ("https://[::1]", "[::1]:443", True),
        ("grpc://10.0.0.1:50051", "10.0.0.1:50051", False),
        ("grpcs://10.0.0.1:50051", "10.0.0.1:50051", True),
        ("dns:///localhost:50051", "dns:///localhost:50051", False),
        ("ipv4:127.0.0.1:50051", "ipv4:127.0.0.1:50051", False),
        ("unix:/run/session-pool.sock", "unix:/run/session-pool.sock", False),
        ("dns:50051", "dns:50051", False),
    ],
)
def test_addresses_and_urls_are_understood(text: str, target: str, tls: bool) -> None:
    assert parse_address(text, None) == (target, tls)


def test_tls_may_be_asked_for() -> None:
    credentials = grpc.ssl_channel_credentials()
    assert parse_address("sessions.example.com", True) == ("sessions.example.com:443", True)
    assert parse_address("https://sessions.example.com:8443", credentials) == ("sessions.example.com:8443", credentials)
    assert parse_address("dns:///sessions.example.com", True) == ("dns:///sessions.example.com", True)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no valid host"),
        (":50051", "no valid host"),
        ("local host:50051", "no valid host"),
        ("localhost", "no port"),
        ("grpc://localhost", "no port"),
        ("localhost:", "no number from 1 to 65535"),
        ("localhost:grpc", "no number from 1 to 65535"),
        ("http://localhost:0", "no number from 1 to 65535"),
        ("localhost:65536", "no number from 1 to 65535"),
        ("::1:50051", "brackets"),
        ("http://::1", "brackets"),
        ("localhost:8080/v1", "no number|no valid host"),
        ("http://localhost:8080/v1", "more than"),
        ("http://localhost:8080?key=1", "more than"),
        ("http://user:secret@localhost:8080", "more than"),
        ("ftp://localhost:21", "its scheme 'ftp' is none of"),
        ("sqlite://sessions.db", "its scheme 'sqlite' is none of"),
    ],
)
@pytest.mark.parametrize("client", [SessionPoolClient, AsyncSessionPoolClient])
def test_what_is_not_understood_is_refused_at_once(client: type[SessionPoolClient], text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        client(text)


def test_an_address_that_contradicts_tls_is_refused() -> None:
    with pytest.raises(ValueError, match="contradicts tls=True"):
        SessionPoolClient("http://localhost:8080", tls=True)
    with pytest.raises(ValueError, match="contradicts tls=False"):
        SessionPoolClient("https://localhost", tls=False)


def test_a_url_reaches_the_server(address: str) -> None:
    for scheme in ("http://", "grpc://", "dns:///"):
        with SessionPoolClient(scheme + address) as client:
            assert client.create_session(title="Kyoto").title == "Kyoto"
