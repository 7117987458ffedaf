"""What the tests of the datasets share: no network, a cache of their own, and files to damage."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from mvgrl.datasets import DATASETS, find, load
from mvgrl.errors import InputError


@pytest.fixture(autouse=True)
def isolated(monkeypatch, tmp_path, addresses):
    """No network, an empty cache, no data folder in the environment."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for variable in ("MVGRL_DATA", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    addresses("http://127.0.0.1:9")


@pytest.fixture
def addresses(monkeypatch):
    """Moves every dataset to another server: /data for Planetoid's files, /NAME.zip and /cora.tgz for the others."""

    def move(server):
        for name, info in DATASETS.items():
            if info.url is not None:
                monkeypatch.setitem(DATASETS, name, replace(info, url=f"{server}/{info.url.rpartition('/')[2]}"))

    return move


@pytest.fixture(scope="session")
def original(data_root):
    """A dataset as read from the published files, once per session."""

    @cache
    def original_(name):
        if DATASETS[name].url is None and find(name, data_root) is None:
            pytest.skip(f"no files of {name}, which cannot be downloaded")
        return load(name, data_root, download=False)

    return original_


@pytest.fixture
def refused():
    """Loading raises a single error that matches the message and says to download the files again."""

    def refused_(name, root, message):
        with pytest.raises(InputError, match=message) as caught:
            load(name, root)
        assert re.search("download .*again", str(caught.value))
        assert caught.value.__context__ is None or caught.value.__suppress_context__

    return refused_


@pytest.fixture
def write_tu():
    """Writes three graphs of two, one and two nodes as MUTAG's files into a data folder."""

    def write(root, **files):
        folder = root / "tu" / "MUTAG" / "raw"
        folder.mkdir(parents=True)
        valid = {"A": "1, 2\n2, 1\n4, 5\n", "graph_indicator": "1\n1\n2\n3\n3\n", "graph_labels": "5\n-1\n5\n"}
        for name, text in (valid | files).items():
            (folder / f"MUTAG_{name}.txt").write_text(text)

    return write


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        answer = self.server.answers.get(self.path)
        if answer is None:
            return self.send_error(404)
        body, length = answer if isinstance(answer, tuple) else (answer, len(answer))
        silent = body is None or (isinstance(length, int) and length > len(body) and not self.server.hang_up)
        if body is not None:
            self.send_response(200)
            if length is not None:
                self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()
        if silent:
            self.server.over.wait()

    def log_message(self, *_):
        pass


@pytest.fixture
def server(addresses):
    """A server for all datasets with ``answers`` by path: a body, or a body and a Content-Length (None for none).

    It does not answer at all where the body is None. It stops where the length is more than the body has, and hangs up
    unless ``hang_up`` is False.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.answers, server.over, server.hang_up = {}, threading.Event(), True
    server.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    addresses(server.address)
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()
    thread.join()
