"""Pages made when they are asked for, for this machine alone."""

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qsl, urlsplit

Pages = Callable[[str, dict[str, str]], str | None]
"""(path, words of the query) -> HTML, or None where there is no such page."""

HOST = "127.0.0.1"


def server(pages: Pages, port: int = 0) -> ThreadingHTTPServer:
    """A server on the loopback interface; port 0 takes any that is free.

    Pages are made one at a time. A request that names another host is refused: a page from elsewhere must not
    reach this server through a name it controls.
    """
    lock = Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.headers.get("Host", "").rpartition(":")[0] not in (HOST, "localhost"):
                self.send_error(403)
                return
            with lock:
                asked = urlsplit(self.path)
                page = pages(asked.path, dict(parse_qsl(asked.query)))
            if page is None:
                self.send_error(404)
                return
            data = page.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the terminal shows the address."""

    return ThreadingHTTPServer((HOST, port), Handler)
