"""The same backend as backend.ts, with the same routes and arguments. Needs the client and PyJWT with cryptography."""

import json
import re
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import grpc
import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from session_pool import SessionPoolClient, SessionPoolError, text

DEFAULTS = ["http://127.0.0.1:8080", "8000", "build/web-app", "0.1", "300"]
SERVICE, PORT, FOLDER, PAUSE, VALID = sys.argv[1:] + DEFAULTS[len(sys.argv) - 1 :]
# Stands for your own table of users.
PASSWORDS = {"ada": "piece", "bob": "table"}
ANSWER = "A piece table keeps the text that was there and the text that was added, and never changes either. "


def load_key():
    """Signs tokens. Its public half is in the file that session-pool reads with --jwks."""
    path = Path(FOLDER, "login-key.pem")
    if not path.exists():
        key = Ed25519PrivateKey.generate()
        path.touch(mode=0o600)
        path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        public = jwt.algorithms.OKPAlgorithm.to_jwk(key.public_key())
        Path(FOLDER, "jwks.json").write_text(f'{{"keys": [{public}]}}')
    return load_pem_private_key(path.read_bytes(), None)


KEY = load_key()


def token_of(user):
    """A token that opens the sessions of this user, and no others."""
    claims = {"namespace": "web-app", "scope": "write", "iss": "web-app", "aud": "session-pool", "sub": user}
    return jwt.encode({**claims, "exp": int(time.time()) + int(VALID)}, KEY, "EdDSA")


# The users who are signed in, by the secret in their cookie.
signed_in = {}


def answer(user, chat):
    """Stands for a language model, which is stopped when somebody ends the draft."""
    try:
        with client_of(user) as client, client.draft(chat) as draft:
            for word in re.split("(?= )", (ANSWER * 10).strip()):
                time.sleep(float(PAUSE))
                draft.write(word)
        print(f"Answered {user}", flush=True)
    except SessionPoolError as error:
        print(f"Stopped for {user}: {error.details()}", flush=True)


def client_of(user):
    """Acts as the user does, so a mistake here reaches no session of another user."""
    return SessionPoolClient(SERVICE, key=lambda: token_of(user))


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/":
            page = Path("examples/web-app/page.html").read_text().replace("{{service}}", SERVICE)
            self.reply(200, page, "text/html; charset=utf-8")
        elif self.path == "/page.js":
            self.reply(200, Path(FOLDER, "page.js").read_text(), "text/javascript")
        else:
            self.reply(404, "No such route")

    def do_POST(self):
        if self.path == "/login":
            return self.log_in()
        user = signed_in.get((re.findall(r"\blogin=([\w-]+)", self.headers.get("Cookie", "")) or [""])[0])
        if user is None:
            self.reply(401, "Nobody is signed in")
        elif self.path == "/token":
            self.reply(200, token_of(user))
        elif self.path == "/ask":
            self.ask(user)
        else:
            self.reply(404, "No such route")

    def log_in(self):
        body = self.body()
        if body.get("password") is None or PASSWORDS.get(body.get("user")) != body["password"]:
            return self.reply(401, "Wrong user or password")
        secret = str(uuid.uuid4())
        signed_in[secret] = body["user"]
        self.reply(204, "", cookie=f"login={secret}; HttpOnly; SameSite=Strict; Path=/")

    def ask(self, user):
        body = self.body()
        try:
            with client_of(user) as client:
                client.append(body["chat"], text("user", body["text"]))
        except SessionPoolError as error:
            return self.reply(404 if error.code() == grpc.StatusCode.NOT_FOUND else 502, error.details())
        self.reply(202, "")
        threading.Thread(target=answer, args=(user, body["chat"]), daemon=True).start()

    def body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def reply(self, status, content, kind="text/plain; charset=utf-8", cookie=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if cookie is not None:
            self.send_header("Set-Cookie", cookie)
        if status != 204:
            self.send_header("Content-Length", str(len(content.encode())))
        self.end_headers()
        self.wfile.write(content.encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(PORT)), Handler)
print(f"Open http://127.0.0.1:{server.server_port}", flush=True)
try:
    server.serve_forever()
except KeyboardInterrupt:
    pass
