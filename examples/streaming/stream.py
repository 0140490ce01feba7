"""Streams an answer into a draft, word by word, and serves a page that shows it. Needs Python 3.9 and nothing else.

    python examples/streaming/stream.py http://127.0.0.1:8080 8000
"""

import json
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SESSION = "streaming"
PAGE = Path(__file__).with_name("page.html")
ANSWER = "A piece table keeps the text that was there and the text that was added, and never changes either. " * 3


def call(method, path, body=None):
    """Calls the REST API; an error of the service is an HTTPError."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(SERVICE + path, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def words_of_a_model(pause):
    """Stands for a language model that answers word by word."""
    for word in ANSWER.split():
        time.sleep(pause)
        yield word + " "


def answer(question, pause):
    """Appends the question and streams the answer to it. Returns a line that says how that ended."""
    asked = {"info": {"role": "user"}, "parts": [{"type": "text", "text": question}]}
    call("POST", f"/session/{SESSION}/message", asked)
    draft = call("POST", f"/session/{SESSION}/draft", {"message": {"info": {"role": "assistant"}}})
    path = f"/session/{SESSION}/draft/" + urllib.parse.quote(draft["messageId"], safe="")
    version = draft["version"]
    try:
        for word in words_of_a_model(pause):
            extended = call("POST", path + ":extend", {"version": version, "deltas": [{"appendText": {"text": word}}]})
            version = extended["version"]
        call("POST", path + ":finish", {"version": version})
    except urllib.error.HTTPError as error:
        problem = json.load(error)
        # 9 is failed_precondition: somebody has ended the draft, for example with the page's button.
        if problem["code"] != 9:
            raise
        return problem["message"]
    return f"Draft {json.dumps(draft['messageId'])} is complete"


class Handler(BaseHTTPRequestHandler):
    """Serves the page, and takes its questions."""

    def do_GET(self):
        self.reply(200, "text/html; charset=utf-8", PAGE.read_bytes().replace(b"{{service}}", SERVICE.encode()))

    def do_POST(self):
        question = self.rfile.read(int(self.headers["Content-Length"])).decode()
        threading.Thread(target=lambda: print(answer(question, PAUSE), flush=True), daemon=True).start()
        self.reply(202, "text/plain", b"")

    def reply(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


SERVICE = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
PORT = int(sys.argv[2]) if len(sys.argv) > 2 else 8000
PAUSE = float(sys.argv[3]) if len(sys.argv) > 3 else 0.1

call("POST", "/session", {"sessionId": SESSION})
server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
print(f"Open http://127.0.0.1:{server.server_port}", flush=True)
try:
    server.serve_forever()
except KeyboardInterrupt:
    pass
