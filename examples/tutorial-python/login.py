"""Stands for the service where users sign in: prints a token for a user, which is valid for an hour."""

import sys
import time
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

SECRET = Path("login-key.pem")

if not SECRET.exists():
    key = Ed25519PrivateKey.generate()
    SECRET.touch(mode=0o600)
    SECRET.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public = jwt.algorithms.OKPAlgorithm.to_jwk(key.public_key())
    Path("jwks.json").write_text(f'{{"keys": [{public}]}}')

claims = {"iss": "login", "aud": "session-pool", "sub": sys.argv[1], "namespace": "chats", "scope": "write"}
expiry = {"exp": int(time.time()) + 3600}
print(jwt.encode({**claims, **expiry}, load_pem_private_key(SECRET.read_bytes(), None), "EdDSA"))
