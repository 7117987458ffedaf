"""The server answers its own page only, and ends with Ctrl-C."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from mvgrl.explorer.answers import Answers
from mvgrl.explorer.contents import Contents, Map, SmallGraphs
from mvgrl.explorer.packing import unpacked
from mvgrl.explorer.server import Server
from mvgrl.explorer.tiles import tiles_of
from mvgrl.neighbors import nearest
from mvgrl.tables.embeddings import Embeddings, write_embeddings


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(80, 4)).astype(np.float32)


@pytest.fixture(scope="module")
def server(contents: Contents, vectors: np.ndarray):
    with Server(contents, [vectors]) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def ask(server: Server, path: str, method: str = "GET", body: bytes | None = None, **headers: str):
    """The status, headers and content of an answer; headers replace those that a browser sends."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    sent = {"Host": f"127.0.0.1:{server.server_port}"} | {name.replace("_", "-"): v for name, v in headers.items()}
    connection.putrequest(method, path, skip_host=True)
    for name, value in {**sent, **({} if body is None else {"Content-Length": str(len(body))})}.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, answer.headers, content


def test_page_is_served_at_the_secret_address_of_this_computer_only(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.server_port}/{server.token}/"
    assert len(server.token) == 32
    status, headers, content = ask(server, f"/{server.token}/")
    assert status == 200
    assert b'id="data"' not in content
    assert "connect-src 'self'" in headers["Content-Security-Policy"]
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize("path", ["/", "/head", "/x/", "/x/head", "//head", "/{}x/head", "/{}", "/%2e%2e/{}/head"])
def test_wrong_token_is_refused(server, path):
    status, _, content = ask(server, path.format(server.token[:-1] if "x" in path else server.token))
    assert (status, content) == (403, b"")


@pytest.mark.parametrize("host", ["localhost:{}", "evil.example:{}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.:{}", ""])
def test_other_host_is_refused(server, host):
    status, _, content = ask(server, f"/{server.token}/head", Host=host.format(server.server_port))
    assert (status, content) == (421, b"")


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"},
     {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"}],
)  # fmt: skip
def test_other_origin_is_refused(server, headers):
    assert ask(server, f"/{server.token}/head", **headers)[0] == 403
    assert ask(server, f"/{server.token}/ids", "POST", b"", **headers)[0] == 403


@pytest.mark.parametrize(
    "path",
    ["../../etc/passwd", "..%2f..%2fetc/passwd", "/etc/passwd", "tile/../../x", "tile/99", "tile/-1", "row/80", "row/x",
     "neighbors/1/0", "neighbors/2/0", "tile/0/", "row/99999999999", "%00", "explorer.js", "assets/explorer.js"],
)  # fmt: skip
def test_paths_that_are_not_offered_are_not_found(server, path):
    status, _, content = ask(server, f"/{server.token}/{path}")
    assert (status, content) == (404, b"")


def test_only_reading_is_allowed(server):
    for method in ("PUT", "DELETE", "OPTIONS", "HEAD"):
        assert ask(server, f"/{server.token}/head", method)[0] == 501
    assert ask(server, f"/{server.token}/ids", "POST")[0] == 413
    assert ask(server, f"/{server.token}/ids", "POST", b"123")[0] == 404
    assert ask(server, f"/{server.token}/ids", "POST", np.array([80], "<u4").tobytes())[0] == 404


def test_answers_are_those_of_the_table(server, contents, vectors):
    found = json.loads(ask(server, f"/{server.token}/neighbors/0/7")[2])
    expected = nearest(vectors, [7], 10)
    assert [one["row"] for one in found] == expected.rows[0].tolist()
    np.testing.assert_allclose([one["cosine"] for one in found], expected.cosines[0], atol=1e-6)
    assert [one["id"] for one in found] == [f"p{row}" for row in expected.rows[0]]
    row = json.loads(ask(server, f"/{server.token}/row/3")[2])
    assert row == {"id": "p3", "texts": {"note": "a note on point 3"}}
    assert sorted(json.loads(ask(server, f"/{server.token}/edges/0")[2])) == [1, 19]
    hits = json.loads(ask(server, f"/{server.token}/search?text=POINT%203")[2])
    assert [hit["row"] for hit in hits] == [3, *range(30, 40)]
    ids = ask(server, f"/{server.token}/ids", "POST", np.array([5, 2], "<u4").tobytes())[2]
    assert json.loads(ids) == ["p5", "p2"]


def test_graph_of_a_point_is_that_of_the_contents(contents):
    sizes, edges = np.array([3, 300, 2]), np.array([2, 1, 1])
    pairs, labels = np.array([[0, 1], [1, 2], [0, 299], [0, 1]]), np.repeat([1, 0, 2], sizes)
    graphs = SmallGraphs(sizes, edges, pairs, labels)
    answers = Answers(Contents("Graphs", np.arange(3), (Map("", np.zeros((3, 2))),), graphs=graphs), [])
    assert answers.graph(0) == {"nodes": 3, "edges": [[0, 1], [1, 2]], "labels": [1, 1, 1]}
    assert answers.graph(1) == {"nodes": 300}  # too many to draw
    assert answers.graph(2) == {"nodes": 2, "edges": [[0, 1]], "labels": [2, 2]}
    for wrong in (answers, Answers(contents, [])):
        with pytest.raises(LookupError):
            wrong.graph(3 if wrong is answers else 0)


def test_tiles_hold_every_point_once_with_its_columns(server, contents):
    head, _ = unpacked(ask(server, f"/{server.token}/head")[2])
    assert head["count"] == 80
    assert [column["name"] for column in head["columns"]] == ["kind", "age", "note"]
    assert "a note" not in json.dumps(head)
    _, (rows, x, y, codes, ages) = unpacked(ask(server, f"/{server.token}/tile/0")[2])
    assert sorted(rows.tolist()) == list(range(80))
    np.testing.assert_allclose(np.stack([x, y], axis=1), contents.maps[0].points[rows], atol=1e-6)
    np.testing.assert_array_equal(codes, contents.columns[0].codes[rows])
    np.testing.assert_allclose(ages, contents.columns[1].values[rows])


def test_tiles_cover_areas_of_the_map_without_overlap():
    points = np.random.default_rng(0).random((5000, 2))
    overview, *areas = tiles_of(points, overview=1000, area=300)
    assert len(overview.rows) == 1000
    assert max(len(tile.rows) for tile in areas) <= 300
    assert sorted(np.concatenate([overview.rows, *(tile.rows for tile in areas)]).tolist()) == list(range(5000))
    sizes = [(tile.box[1] - tile.box[0]) * (tile.box[3] - tile.box[2]) for tile in areas]
    assert sum(sizes) < 1


@pytest.mark.parametrize(
    ("error", "printed"), [(ConnectionResetError, False), (BrokenPipeError, False), (ValueError, True)]
)
def test_a_connection_closed_by_the_browser_is_not_reported(server, capsys, error: type[Exception], printed: bool):
    try:
        raise error
    except error:
        server.handle_error(None, ("127.0.0.1", 1))
    assert (error.__name__ in capsys.readouterr().err) == printed


@pytest.mark.skipif(os.name == "nt", reason="signals differ on Windows")
def test_interrupt_ends_the_server(tmp_path: Path):
    write_embeddings(tmp_path / "v.csv", Embeddings(np.arange(6), np.eye(6, dtype=np.float32)))
    words = [sys.executable, "-m", "mvgrl", "explore", "v.csv", "--layout", "pca", "--serve"]
    process = subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )  # fmt: skip
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    host, _, rest = address.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=10)
    connection.request("GET", f"/{rest}head")
    assert connection.getresponse().status == 200
    connection.close()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    assert errors.splitlines()[-1] == "stopped"
