"""A connection to the server that a test can break."""

import socket
import threading
from types import TracebackType


class Proxy:
    """Forwards TCP to an address.

    `cut` breaks its connections. `hold_answers` holds back everything that the server sends until `release_answers`.
    """

    def __init__(self, target: str) -> None:
        host, port = target.rsplit(":", 1)
        self._target = (host, int(port))
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._answers = threading.Event()
        self._answers.set()
        self._closed = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Breaks every connection and accepts no new ones."""
        if not self._closed:
            self._closed = True
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        self.cut()

    def hold_answers(self) -> None:
        self._answers.clear()

    def release_answers(self) -> None:
        self._answers.set()

    def cut(self) -> None:
        """Breaks every connection. The answers that were held back are lost."""
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for one in pair:
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # It has ended already.
        self._answers.set()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            self._pairs.append((client, server))
            threading.Thread(target=self._pump, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pump, args=(server, client, True), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        try:
            while data := source.recv(65536):
                if answers:
                    self._answers.wait()
                sink.sendall(data)
        except OSError:
            pass  # It was cut.
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
