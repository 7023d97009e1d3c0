"""The explorer's server: one page, one question, on 127.0.0.1. It opens no file that a request names and evaluates nothing.

GET /             the page
POST /api/answer  a State as JSON -> the answer; 400 or 422 with {error, field, column, shown, caret, access}
POST /api/fix     a State as JSON -> the layouts that end its conflicts, within some seconds
POST /api/quick   the same of the families that are searched at once
POST /api/copies  a State as JSON -> the shown access in other languages
POST /api/plan    a State as JSON -> the rows of its kernel's plan
POST /api/export  a State as JSON -> the self-contained page

A request must come from this machine's own page: another Host or Origin is refused (403), which stops other sites, and those
too whose name is made to point at 127.0.0.1 (DNS rebinding).
"""

import io
import json
import socket
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from simlayout.errors import SimlayoutError
from simlayout.explorer.copies import copies
from simlayout.explorer.fix import fix, quick_fix
from simlayout.explorer.model import answer
from simlayout.explorer.page import exported_page, served_page
from simlayout.explorer.sources import NONE, plan_rows
from simlayout.explorer.state import Refusal, State, state_of

ADDRESS = "127.0.0.1"
MAX_BODY = 64 * 1024        # bytes of a request
PATIENCE = 10               # seconds that a whole request may take to arrive, from its first byte, or to begin
REST_BYTES, REST_SECONDS = 16 * MAX_BODY, 1         # of what a client still writes after the last answer


class Server(ThreadingHTTPServer):
    """Listens on 127.0.0.1 alone. port: 0 for any that is free; state: what the page starts with; patience: seconds that a
    request may take to arrive; sources: kernels and lines of a report that the page may show.

    Raises SimlayoutError where the port is taken.

    >>> with Server() as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """

    daemon_threads = True
    request_queue_size = 64         # clients that may wait until they are accepted; one more is kept waiting for seconds

    def __init__(self, port=0, state=None, patience=PATIENCE, sources=NONE):
        try:
            super().__init__((ADDRESS, port), Handler)
        except OSError as error:
            raise SimlayoutError(f"cannot listen on {ADDRESS}:{port}: {error.strerror or error}; use another --port, or "
                                 "none for any that is free") from None
        self.state, self.patience, self.sources = state or State(), patience, sources
        self.hosts = {f"{name}:{self.server_port}" for name in (ADDRESS, "localhost")}

    @property
    def url(self):
        """Where the page is."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def handle_error(self, request, client_address):
        """A client that goes away in the middle of an answer is nobody's fault."""


class Arriving(io.RawIOBase):
    """What a client sends, as a file: a request begins within `patience` seconds, and is whole so long after its first byte;
    TimeoutError if it is not."""

    def __init__(self, connection, patience):
        self._connection, self._patience, self._end = connection, patience, None

    def begin(self):
        """Another request may come."""
        self._end = None

    def readable(self):
        """Yes."""
        return True

    def readinto(self, buffer):
        """As of io.RawIOBase."""
        left = self._patience if self._end is None else self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request does not arrive")
        self._connection.settimeout(left)
        count = self._connection.recv_into(buffer)
        if self._end is None:
            self._end = time.monotonic() + self._patience
        return count


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "simlayout", ""

    def setup(self):
        """Reads with a clock for the whole request, not for each of its pieces."""
        self.timeout = self.server.patience
        super().setup()
        self.rfile.close()
        self._arriving = Arriving(self.connection, self.timeout)
        self.rfile = io.BufferedReader(self._arriving)

    def handle_one_request(self):
        """As http.server does, with a clock of its own for each request."""
        self._arriving.begin()
        super().handle_one_request()

    def finish(self):
        """Ends the connection. A socket that is closed while its client is still writing, as after a refusal, takes the
        answer with it, so the rest is read first."""
        super().finish()
        left, end = REST_BYTES, time.monotonic() + REST_SECONDS
        try:
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(REST_SECONDS)
            while left > 0 and time.monotonic() < end and (read := self.connection.recv(MAX_BODY)):
                left -= len(read)
        except OSError:
            pass                                       # it has gone

    def do_GET(self):
        """The page, and nothing else."""
        if not self._is_own():
            return
        if self.path.split("?")[0] != "/":
            self._refuse(404, "there is nothing but /")
            return
        page, policy = served_page(self.server.state, self.server.sources)
        self._send(200, "text/html; charset=utf-8", page, {"Content-Security-Policy": policy})

    def do_POST(self):
        """A State, answered or exported."""
        if not self._is_own():
            return
        if self.path not in _QUESTIONS:
            self._refuse(404, f"questions go to {' or '.join(_QUESTIONS)}")
            return
        body = self._body()
        if body is None:
            return
        try:
            state = state_of(_decoded(body))
        except Refusal as refusal:
            self._send_json(400, refusal.as_dict())
            return
        kind, make = _QUESTIONS[self.path]
        try:
            answer = make(state, self.server.sources)
        except Refusal as refusal:
            self._send_json(422, refusal.as_dict())
        except (SimlayoutError, ArithmeticError, MemoryError, RecursionError) as error:
            self._send_json(422, Refusal(str(error) or type(error).__name__, "request").as_dict())
        else:
            self._send(200, kind, answer)

    def _is_own(self):
        """Whether the request comes from this machine and this page; answers 400 or 403 if not."""
        hosts, origin = self.headers.get_all("Host", ()), self.headers.get("Origin")
        if len(hosts) != 1 or any(len(self.headers.get_all(name, ())) > 1 for name in ("Origin", "Content-Length")):
            self._refuse(400, "a request has one Host, and at most one Origin and Content-Length")
        elif hosts[0].lower() not in self.server.hosts:
            self._refuse(403, "this server answers to 127.0.0.1 alone")
        elif origin is not None and origin not in {f"http://{known}" for known in self.server.hosts}:
            self._refuse(403, "this server answers its own page alone")
        else:
            return True
        return False

    def _body(self):
        """The body as bytes; None if it was refused."""
        length = self.headers.get("Content-Length", "")
        if self.headers.get_content_type() != "application/json":
            self._refuse(415, "a question is application/json")
        elif not length.isascii() or not length.isdigit() or len(length) > 12 or "Transfer-Encoding" in self.headers:
            self._refuse(411, "a question says its Content-Length")
        elif int(length) > MAX_BODY:
            self._refuse(413, f"a question has at most {MAX_BODY} bytes")
        else:
            body = self.rfile.read(int(length))
            if len(body) == int(length):
                return body
            self._refuse(400, "the request ends before its Content-Length")
        return None

    def _refuse(self, code, text):
        """An error for a request whose body was not read, after which the connection ends."""
        self.close_connection = True
        self._send_json(code, Refusal(text, "request").as_dict())

    def _send_json(self, code, value):
        self._send(code, "application/json", json.dumps(value))

    def _send(self, code, kind, text, headers=None):
        data = text.encode()
        self.connection.settimeout(self.timeout)         # of the answer
        common = {"Content-Type": kind, "Content-Length": str(len(data)), "Cache-Control": "no-store",
                  "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer"}
        if self.close_connection:
            common["Connection"] = "close"
        self.send_response(code)
        for name, value in {**common, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def send_error(self, code, message=None, explain=None):
        """What http.server itself refuses (a method, a request line) is answered as the rest is."""
        self.close_connection = True
        self._send_json(code, Refusal(message or "not a request for this server", "request").as_dict())

    def log_message(self, *_):
        """Nothing: the terminal belongs to whoever started the server."""


def _decoded(body):
    """The JSON value of a body; Refusal if it is none."""
    try:
        return json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Refusal("the request is not JSON in UTF-8", "request") from None


def _json_of(question):
    """The content type, and the function that makes a question's answer into text."""
    return "application/json", lambda state, sources: json.dumps(question(state, sources), separators=(",", ":"),
                                                                 allow_nan=False)


_QUESTIONS = {
    "/api/answer": _json_of(answer),
    "/api/fix": _json_of(fix),
    "/api/quick": _json_of(quick_fix),
    "/api/copies": _json_of(copies),
    "/api/plan": _json_of(lambda state, sources: plan_rows(state.kernel, sources)),
    "/api/export": ("text/html; charset=utf-8", exported_page),
}
"""Path -> (content type, a function of the State and the Sources that makes the text)."""
