"""Serve an explorer on this computer only: a random port, a secret in the address, and no other host or origin.

The server reads no files, so that there is no path to walk out of; every answer comes from memory.
"""

from __future__ import annotations

import hmac
import json
import logging
import re
import secrets
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from mvgrl.explorer.answers import Answers
from mvgrl.explorer.contents import Contents
from mvgrl.explorer.page import html, policy
from mvgrl.explorer.tiles import pack_head, pack_tile, tiles_of

HOST = "127.0.0.1"
_BYTES, _JSON, _HTML = "application/octet-stream", "application/json", "text/html; charset=utf-8"
_LARGEST = 2**26  # bytes of a request
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
logger = logging.getLogger(__name__)


class Refused(Exception):  # noqa: N818 (an answer, not a failure)
    """A request that is not answered, with its status."""


class Server(ThreadingHTTPServer):
    """Serve a map and what is known about its points, in threads; ``address`` is the only address that works."""

    daemon_threads = True

    def __init__(self, contents: Contents, vectors: list[np.ndarray]) -> None:
        self.contents = contents
        self.tiles = tiles_of(contents.maps[0].points)
        self.tile_of = np.empty(len(contents), np.int64)
        for number, tile in enumerate(self.tiles):
            self.tile_of[tile.rows] = number
        self.answers = Answers(contents, vectors)
        self.rules = policy("connect-src 'self'", "frame-ancestors 'none'")
        self.token = secrets.token_urlsafe(24)
        super().__init__((HOST, 0), Handler)
        self.origin = f"http://{HOST}:{self.server_port}"

    @property
    def address(self) -> str:
        """The address of the page, with the secret."""
        return f"{self.origin}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print errors of a request, unless the browser closed the connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def answer(self, path: str, query: str, body: bytes) -> tuple[bytes | str, str]:
        """Return what a path below the secret names, and its type."""
        if path == "":
            return html(None, policy("connect-src 'self'")), _HTML
        if path == "head":
            return pack_head(self.contents, self.tiles), _BYTES
        if path == "search":
            wanted = parse_qs(query, keep_blank_values=True).get("text", [""])[0]
            return json.dumps(self.answers.search(wanted)), _JSON
        if path == "ids":
            if len(body) % 4:
                raise LookupError
            return json.dumps(self.answers.ids(np.frombuffer(body, "<u4").astype(np.int64))), _JSON
        found = re.fullmatch(r"([a-z]+)(?:/([01]))?/(\d{1,9})", path)
        if found is None:
            raise LookupError
        name, number, row = found[1], int(found[2] or 0), int(found[3])
        if name == "tile":
            return pack_tile(self.contents, self.tiles[row]), _BYTES
        if name == "tileof":
            return json.dumps(int(self.tile_of[row])), _JSON
        if name == "row":
            return json.dumps(self.answers.row(row)), _JSON
        if name == "edges":
            return json.dumps(self.answers.edges(row)), _JSON
        if name == "graph":
            return json.dumps(self.answers.graph(row)), _JSON
        if name == "neighbors":
            return json.dumps(self.answers.neighbors(number, row)), _JSON
        raise LookupError


class Handler(BaseHTTPRequestHandler):
    """Check a request before anything else is done with it."""

    server: Server
    server_version, sys_version = "mvgrl", ""
    protocol_version = "HTTP/1.1"
    timeout = 30  # seconds that a client may be silent

    def do_GET(self) -> None:
        """Answer a question."""
        self._respond(b"")

    def do_POST(self) -> None:
        """Answer a question with a list of rows."""
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch(r"\d{1,9}", length) or int(length) > _LARGEST:
            self.close_connection = True
            return self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, b"", _JSON)
        self._respond(self.rfile.read(int(length)))

    def _respond(self, body: bytes) -> None:
        try:
            address = urlsplit(self.path)
            rest = self._below_secret(address.path)
            content, kind = self.server.answer(rest, address.query, body)
        except Refused as refused:
            return self._send(refused.args[0], b"", _JSON)
        except (LookupError, ValueError):
            return self._send(HTTPStatus.NOT_FOUND, b"", _JSON)
        self._send(HTTPStatus.OK, content.encode() if isinstance(content, str) else content, kind)

    def _below_secret(self, path: str) -> str:
        """Return the path after the secret; refuse what does not come from our own page."""
        own, headers = self.server.origin, self.headers
        if headers.get_all("Host") != [own.removeprefix("http://")]:
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST)  # another name of this address: a rebound domain
        if any(origin != own for origin in headers.get_all("Origin") or ()):
            raise Refused(HTTPStatus.FORBIDDEN)
        if headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            raise Refused(HTTPStatus.FORBIDDEN)
        token, slash, rest = path.removeprefix("/").partition("/")
        if not slash or not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise Refused(HTTPStatus.FORBIDDEN)
        return rest

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        headers = {**_HEADERS, "Content-Security-Policy": self.server.rules, "Content-Type": kind}
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *values: object) -> None:
        """Log to our logger, without the secret."""
        logger.debug("%s", (format % values).replace(self.server.token, "…"))
