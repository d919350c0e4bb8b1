"""An endpoint whose list of models is whatever a test says, on a real socket, in a thread.

with Lister(models("a", "b")) as lister:
    ...  # GET lister.base_url + "/models"
"""

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass
class Answer:
    """`delay` comes before the first byte; `drip` before each byte of the body."""

    body: bytes = b""
    status: int = 200
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0


def models(*entries: Any) -> Answer:
    data = [{"id": one, "object": "model"} if isinstance(one, str) else one for one in entries]
    return Answer(json.dumps({"object": "list", "data": data}).encode())


class Lister:
    """Answers every request alike, and remembers what it was asked, with which key."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str]] = []
        self.over = threading.Event()
        lister = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                lister._respond(self)

            do_POST = do_GET  # noqa: N815  # http.server's name

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.02])

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _respond(self, handler: BaseHTTPRequestHandler) -> None:
        answer = self.answer
        self.asked.append((handler.path, handler.headers.get("authorization", "")))
        self.over.wait(answer.delay)
        try:
            handler.send_response(answer.status)
            for name, value in {"content-type": answer.kind, **answer.headers}.items():
                handler.send_header(name, value)
            handler.end_headers()
            if not answer.drip:
                handler.wfile.write(answer.body)
                return
            for number in range(len(answer.body)):
                if self.over.is_set():
                    return
                handler.wfile.write(answer.body[number : number + 1])
                time.sleep(answer.drip)
        except OSError:
            pass  # whoever asked went away
