"""Downloads from a server on this machine: whole and checked, or an error with the ways out and nothing left behind."""

from __future__ import annotations

import gzip
import hashlib
import io
import socket
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from mvgrl.datasets import download as module
from mvgrl.datasets import load
from mvgrl.datasets.download import BASES, DIGESTS, download, files
from mvgrl.datasets.registry import KNOWN, NAMES
from mvgrl.errors import InputError, MachineError

TINY = {
    "REDDIT-BINARY_A.txt": b"1, 2\n2, 1\n4, 5\n5, 4\n",
    "REDDIT-BINARY_graph_indicator.txt": b"1\n1\n2\n3\n3\n",
    "REDDIT-BINARY_graph_labels.txt": b"1\n-1\n1\n",
}


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        answer = self.server.answers.get(self.path)
        if answer is None:
            return self.send_error(404)
        if answer == "silence":
            return self.server.over.wait()
        body, length = answer if isinstance(answer, tuple) else (answer, len(answer))
        self.send_response(200)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def answers(monkeypatch, tmp_path):
    """What the server answers, by path; the three addresses are its folders /planetoid, /tu and /linqs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.answers, server.over = {}, threading.Event()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    for name in BASES:
        monkeypatch.setitem(BASES, name, f"http://127.0.0.1:{server.server_port}/{name}")
    for variable in ("MVGRL_DATA", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield server.answers
    server.over.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def no_server(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    for name in BASES:
        monkeypatch.setitem(BASES, name, f"http://127.0.0.1:{port}/{name}")


def zipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def tarred(members, **links):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for name, target in links.items():
            info = tarfile.TarInfo(f"cora/cora.{name}")
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
    return file.getvalue()


def tiny_zip(**more):
    return zipped({f"REDDIT-BINARY/{name}": content for name, content in (TINY | more).items()})


def refused(name, folder, *parts, error=MachineError, **options):
    """The one error, without another behind it; nothing is left of the attempt."""
    before = sorted(folder.parent.rglob("*"))
    with pytest.raises(error) as caught:
        download(name, folder, **options)
    for part in parts:
        assert str(part) in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert sorted(folder.parent.rglob("*")) == before


def test_a_set_is_downloaded_whole_and_reads_like_the_original(answers, data_root, tmp_path):
    for name in ("cora-linqs", "cora", "mutag", "imdb-multi"):
        folder = data_root / KNOWN[name].folder
        content = {file: (folder / file).read_bytes() for file in files(name)}
        if name == "cora":
            answers.update({f"/planetoid/{file}": body for file, body in content.items()})
        elif name == "cora-linqs":
            answers["/linqs/cora.tgz"] = tarred({f"cora/{file}": body for file, body in content.items()})
        else:
            set_name = folder.parent.name
            members = {f"{set_name}/{file}": body for file, body in content.items()} | {f"{set_name}/README.txt": b"hi"}
            answers[f"/tu/{set_name}.zip"] = zipped(members)
        download(name, tmp_path / KNOWN[name].folder)
        assert {path.name: path.read_bytes() for path in (tmp_path / KNOWN[name].folder).iterdir()} == content
        ours, original = load(name, tmp_path, download=False), load(name, data_root)
        assert ours.graph.content_fingerprint == original.graph.content_fingerprint
        assert np.array_equal(ours.target, original.target)
        assert ours.source == original.source == KNOWN[name].folder


def test_the_digests_are_those_of_the_original_files(data_root):
    checked = set()
    for name in NAMES:
        for file in files(name):
            content = (data_root / KNOWN[name].folder / file).read_bytes()
            if name != "reddit-binary":
                assert hashlib.sha256(content).hexdigest() == DIGESTS[file], file
                checked.add(file)
    assert checked == set(DIGESTS)


def test_progress_adds_up_to_the_bytes_of_each_file(answers, tmp_path, monkeypatch):
    content = {file: bytes([i]) * (150_000 * (i + 1)) for i, file in enumerate(files("cora"))}
    for file, body in content.items():
        monkeypatch.setitem(DIGESTS, file, hashlib.sha256(body).hexdigest())
        answers[f"/planetoid/{file}"] = (body, None) if file == "ind.cora.graph" else body
    calls = []
    download("Cora", tmp_path / "raw", progress=lambda *call: calls.append(call))
    assert list(dict.fromkeys(what for *_, what in calls)) == list(files("cora"))
    for file, body in content.items():
        done = [call[0] for call in calls if call[2] == file]
        assert done == sorted(set(done))
        assert (len(done) > 2, done[-1]) == (True, len(body))
        assert {call[1] for call in calls if call[2] == file} == {None if file == "ind.cora.graph" else len(body)}
        assert (tmp_path / "raw" / file).read_bytes() == body


def test_load_downloads_once_into_the_cache_or_the_folder_that_was_named(answers, tmp_path, monkeypatch):
    answers["/tu/REDDIT-BINARY.zip"] = tiny_zip()
    calls = []
    data = load("reddit-binary", progress=lambda *call: calls.append(call))
    assert (data.graph.sizes.tolist(), data.target.tolist()) == ([2, 1, 2], [1, 0, 1])
    assert data.source == "cache: tu/REDDIT-BINARY/raw"
    assert calls[-1] == (len(tiny_zip()), len(tiny_zip()), "REDDIT-BINARY.zip")
    assert sorted(path.name for path in (tmp_path / "cache").rglob("*.txt")) == sorted(TINY)
    load("reddit-binary", tmp_path / "named")  # the cache has it
    assert not (tmp_path / "named").exists()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert load("reddit-binary", tmp_path / "named").source == "tu/REDDIT-BINARY/raw"
    monkeypatch.setenv("MVGRL_DATA", str(tmp_path / "set"))
    load("reddit-binary")
    answers.clear()
    for root in ("named", "set"):
        assert sorted(path.name for path in (tmp_path / root / "tu/REDDIT-BINARY/raw").iterdir()) == sorted(TINY)
        assert load("reddit-binary", tmp_path / root).graph.count == 3
    assert not (tmp_path / "other").exists()


def test_no_network_says_what_was_tried_and_the_ways_out(no_server, tmp_path):
    ways = ("by hand", "--data-root", "MVGRL_DATA")
    folder = tmp_path / "planetoid" / "PubMed" / "raw"
    refused("pubmed", folder, "'pubmed'", BASES["planetoid"], "refused", "ind.pubmed.allx", folder, *ways)
    assert not (tmp_path / "planetoid").exists()
    pip = "pip install 'mvgrl[datasets]'"
    refused("mutag", tmp_path / "raw", f"{BASES['tu']}/MUTAG.zip", "MUTAG_graph_indicator.txt", pip, *ways)
    refused("cora-linqs", tmp_path / "raw", f"{BASES['linqs']}/cora.tgz", "cora.content, cora.cites", pip, *ways)


def test_load_without_network_gives_the_same_error(no_server, tmp_path):
    with pytest.raises(MachineError, match=r"IMDB-MULTI_A.txt.*into .*tu.IMDB-MULTI.raw by hand") as caught:
        load("imdb-multi", tmp_path)
    assert caught.value.__suppress_context__
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_gone_or_a_server_that_fails(answers, tmp_path):
    answers["/planetoid/ind.cora.x"] = b"the first of eight"
    refused("cora", tmp_path / "raw", "404", "ind.cora.x")
    refused("ptc-mr", tmp_path / "raw", "404 Not Found", "PTC_MR.zip")


def test_a_server_that_says_nothing(answers, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "TIMEOUT", 0.1)
    answers["/tu/REDDIT-BINARY.zip"] = "silence"
    refused("reddit-binary", tmp_path / "raw", "silent for 0.1 seconds")


def test_a_transfer_that_breaks_off(answers, tmp_path):
    whole = tiny_zip()
    answers["/tu/REDDIT-BINARY.zip"] = (whole[:-7], len(whole))
    refused("reddit-binary", tmp_path / "raw", f"broke off after {len(whole) - 7} of {len(whole)} bytes")
    answers["/tu/REDDIT-BINARY.zip"] = (whole[:-40], None)  # the server does not say how much there is
    refused("reddit-binary", tmp_path / "raw", "not an archive that can be unpacked")


def test_a_file_that_is_not_the_published_one(answers, tmp_path, monkeypatch):
    bodies = {file: file.encode() for file in files("cora-linqs")}
    for file, body in bodies.items():
        monkeypatch.setitem(DIGESTS, file, hashlib.sha256(body).hexdigest())
    answers["/linqs/cora.tgz"] = tarred({f"cora/{file}": body for file, body in bodies.items()})
    download("cora-linqs", tmp_path / "good")
    answers["/linqs/cora.tgz"] = tarred({"cora/cora.content": b"cora.content", "cora/cora.cites": b"cora.citez"})
    digest = hashlib.sha256(b"cora.citez").hexdigest()
    refused("cora-linqs", tmp_path / "bad", BASES["linqs"], "cora.cites is not the published file", digest)


def test_a_set_without_digests_must_be_complete_and_readable(answers, tmp_path):
    address = "/tu/REDDIT-BINARY.zip"
    answers[address] = zipped({"REDDIT-BINARY/REDDIT-BINARY_A.txt": TINY["REDDIT-BINARY_A.txt"]})
    refused("reddit-binary", tmp_path / "raw", "the archive has no REDDIT-BINARY/REDDIT-BINARY_graph_indicator.txt")
    answers[address] = tiny_zip(**{"REDDIT-BINARY_A.txt": b"1, 2\n2, <html>\n"})
    refused("reddit-binary", tmp_path / "raw", ": REDDIT-BINARY_A.txt, line 2")
    answers[address] = b"<html>log in first</html>"
    refused("reddit-binary", tmp_path / "raw", "not an archive that can be unpacked")


def test_no_member_of_an_archive_is_written_outside_the_folder(answers, tmp_path):
    outside = {"../escaped.txt": b"x", f"{tmp_path}/escaped.txt": b"x", "REDDIT-BINARY/../../escaped.txt": b"x"}
    members = {f"REDDIT-BINARY/{name}": content for name, content in TINY.items()}
    answers["/tu/REDDIT-BINARY.zip"] = zipped(outside | members | {"REDDIT-BINARY/extra.txt": b"x"})
    download("reddit-binary", tmp_path / "a" / "raw")
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(["a", "raw", *TINY])
    moved = {f"../{name}": content for name, content in TINY.items()}
    answers["/tu/REDDIT-BINARY.zip"] = zipped(moved)
    refused("reddit-binary", tmp_path / "b" / "raw", "the archive has no REDDIT-BINARY/REDDIT-BINARY_A.txt")


def test_a_link_in_an_archive_is_not_followed(answers, tmp_path):
    (tmp_path / "secret").write_text("secret")
    answers["/linqs/cora.tgz"] = tarred({"cora/cora.cites": b"1 2"}, content=str(tmp_path / "secret"))
    refused("cora-linqs", tmp_path / "raw", "the archive has no cora/cora.content")


def test_what_unpacks_to_far_too_much_is_refused(answers, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_MOST", 2**20)
    answers["/tu/REDDIT-BINARY.zip"] = tiny_zip(bomb=bytes(2**21))
    assert len(answers["/tu/REDDIT-BINARY.zip"]) < 2**20
    refused("reddit-binary", tmp_path / "raw", "more than 1,048,576 bytes")
    answers["/linqs/cora.tgz"] = tarred({"cora/bomb": bytes(2**21)})
    refused("cora-linqs", tmp_path / "raw", "more than 1,048,576 bytes")
    answers["/linqs/cora.tgz"] = gzip.compress(bytes(2**21), 0)
    refused("cora-linqs", tmp_path / "raw", "cora.tgz has more than 1,048,576 bytes")


def test_an_interrupted_download_leaves_nothing_and_can_be_repeated(answers, tmp_path):
    answers["/tu/REDDIT-BINARY.zip"] = tiny_zip()
    seen = []

    def interrupt(*_):
        seen.extend(path.name for path in tmp_path.rglob("*"))
        raise KeyboardInterrupt

    folder = tmp_path / "tu" / "REDDIT-BINARY" / "raw"
    with pytest.raises(KeyboardInterrupt):
        download("reddit-binary", folder, progress=interrupt)
    assert "archive" in seen
    assert not list(tmp_path.iterdir())
    download("reddit-binary", folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted(TINY)


def test_two_at_once_do_not_disturb_each_other(answers, tmp_path):
    answers["/tu/REDDIT-BINARY.zip"] = tiny_zip()
    folder = tmp_path / "raw"
    inner = []

    def overtake(*_):
        download("reddit-binary", folder)
        inner.append(sorted(path.name for path in folder.iterdir()))

    download("reddit-binary", folder, progress=overtake)
    assert inner == [sorted(TINY)]
    assert sorted(path.name for path in folder.iterdir()) == sorted(TINY)
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]


def test_a_folder_with_files_is_kept_if_whole_and_never_written_over(answers, tmp_path):
    folder = tmp_path / "raw"
    folder.mkdir()  # an empty one is filled
    answers["/tu/REDDIT-BINARY.zip"] = tiny_zip()
    download("reddit-binary", folder)
    answers.clear()
    download("reddit-binary", folder)
    (folder / "REDDIT-BINARY_A.txt").write_text("mine")
    refused("reddit-binary", folder, folder, "A.txt, line 1", "remove the folder", error=InputError)
    assert (folder / "REDDIT-BINARY_A.txt").read_text() == "mine"


def test_a_place_that_cannot_be_written_to(answers, tmp_path):
    (tmp_path / "file").write_text("")
    refused("mutag", tmp_path / "file" / "raw", "cannot be written", "choose another path", error=InputError)
