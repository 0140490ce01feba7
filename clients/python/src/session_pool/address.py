"""Understands the addresses of servers: `host:port`, URLs, and the names that gRPC itself knows."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit

import grpc

# Whether each scheme of a URL means TLS, and its port if the URL has none.
_SCHEMES = {"http": (False, 80), "https": (True, 443), "grpc": (False, None), "grpcs": (True, None)}
# What gRPC resolves by itself.
_GRPC_NAMES = re.compile(r"(dns|ipv4|ipv6|unix|unix-abstract|vsock|xds):", re.IGNORECASE)
_HOST = re.compile(r"\[[0-9A-Fa-f:.]+(%[^\[\]\s]+)?\]|[^\s\[\]:/@?#]+")


class Address(NamedTuple):
    """Where a channel connects to, and how."""

    target: str
    tls: bool | grpc.ChannelCredentials


def parse_address(text: str, tls: bool | grpc.ChannelCredentials | None) -> Address:
    """Understands an address. `tls` is None when the address decides.

    Raises ValueError for one that is not understood, or that contradicts `tls`.
    """
    if _GRPC_NAMES.match(text) and not _is_port(text.partition(":")[2]):
        return Address(text, tls or False)
    if "://" not in text:
        # The port of HTTPS is gRPC's own default, but without TLS no server has it.
        return Address(_target(text, text, 443 if tls else None), tls or False)
    scheme = text.partition("://")[0].lower()
    if scheme not in _SCHEMES:
        raise _not_understood(text, f"its scheme {scheme!r} is none of {', '.join(_SCHEMES)}, dns, ipv4, ipv6, unix")
    is_secure, port = _SCHEMES[scheme]
    url = urlsplit(text)
    if url.path not in ("", "/") or url.query or url.fragment or "@" in url.netloc:
        raise _not_understood(text, "it has more than a scheme, a host and a port")
    if tls is not None and bool(tls) != is_secure:
        raise ValueError(f"address {text!r} contradicts tls={tls!r}")
    return Address(_target(text, url.netloc, port), is_secure if tls is None else tls)


def _target(text: str, place: str, default_port: int | None) -> str:
    host, colon, port = place, "", ""
    if not place.endswith("]"):
        host, colon, port = place.rpartition(":") if ":" in place else (place, "", "")
    if ":" in host and not host.startswith("["):
        raise _not_understood(text, "put an IPv6 address in brackets, as in [::1]:50051")
    if not _HOST.fullmatch(host):
        raise _not_understood(text, "it has no valid host")
    if not colon and default_port is None:
        raise _not_understood(text, "it has no port; 50051 is the server's default for gRPC")
    if colon and not _is_port(port):
        raise _not_understood(text, f"its port {port!r} is no number from 1 to 65535")
    return f"{host}:{port or default_port}"


def _is_port(text: str) -> bool:
    return re.fullmatch("[0-9]{1,5}", text) is not None and 1 <= int(text) <= 65535


def _not_understood(text: str, why: str) -> ValueError:
    return ValueError(f"address {text!r} is not understood: {why}")
