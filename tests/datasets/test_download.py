"""Downloads from a local server: complete and verified, or an error with the remedy and nothing left behind."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from mvgrl.datasets import DATASETS, load
from mvgrl.datasets import download as module
from mvgrl.datasets.download import download
from mvgrl.errors import InputError, MachineError

TINY = {
    "REDDIT-BINARY_A.txt": b"1, 2\n2, 1\n4, 5\n5, 4\n",
    "REDDIT-BINARY_graph_indicator.txt": b"1\n1\n2\n3\n3\n",
    "REDDIT-BINARY_graph_labels.txt": b"1\n-1\n1\n",
}


@pytest.fixture
def answers(server):
    """What the server answers, by path."""
    return server.answers


@pytest.fixture
def set_files(monkeypatch):
    """Makes these the published files of a dataset."""

    def set_(name, content):
        digests = {file: hashlib.sha256(body).hexdigest() for file, body in content.items()}
        monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], files=digests))

    return set_


def zipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def tarred(members, **links):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as archive:
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
    """The download raises a single error with these parts, and leaves nothing behind."""
    before = sorted(folder.parent.rglob("*"))
    with pytest.raises(error) as caught:
        download(DATASETS[name], folder, **options)
    for part in parts:
        assert str(part) in str(caught.value)
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert sorted(folder.parent.rglob("*")) == before


def test_a_downloaded_dataset_reads_like_the_original(answers, data_root, original, tmp_path):
    for name in ("cora-linqs", "cora", "mutag", "imdb-multi"):
        info = DATASETS[name]
        folder = data_root / info.folder
        content = {file: (folder / file).read_bytes() for file in info.files}
        if name == "cora":
            answers.update({f"/data/{file}": body for file, body in content.items()})
        elif name == "cora-linqs":
            answers["/cora.tgz"] = tarred({f"cora/{file}": body for file, body in content.items()})
        else:
            set_name = folder.parent.name
            members = {f"{set_name}/{file}": body for file, body in content.items()} | {f"{set_name}/README.txt": b"hi"}
            answers[f"/{set_name}.zip"] = zipped(members)
        download(info, tmp_path / info.folder)
        assert {path.name: path.read_bytes() for path in (tmp_path / info.folder).iterdir()} == content
        ours, published = load(name, tmp_path, download=False), original(name)
        assert ours.graph.content_fingerprint == published.graph.content_fingerprint
        assert np.array_equal(ours.target, published.target)
        assert ours.source == published.source == info.folder


def test_the_digests_are_those_of_the_original_files(data_root):
    for name, info in DATASETS.items():
        for file, digest in info.files.items():
            content = (data_root / info.folder / file).read_bytes()
            if name == "reddit-binary":  # rebuilt from another collection, so not the published files
                assert digest is None
            else:
                assert hashlib.sha256(content).hexdigest() == digest, file


def test_progress_adds_up_to_the_bytes_of_each_file(answers, tmp_path, set_files):
    content = {file: bytes([i]) * (150_000 * (i + 1)) for i, file in enumerate(DATASETS["cora"].files)}
    set_files("cora", content)
    for file, body in content.items():
        answers[f"/data/{file}"] = (body, None) if file == "ind.cora.graph" else body
    calls = []
    download(DATASETS["cora"], tmp_path / "raw", progress=lambda *call: calls.append(call))
    assert list(dict.fromkeys(what for *_, what in calls)) == list(content)
    for file, body in content.items():
        done = [call[0] for call in calls if call[2] == file]
        assert done == sorted(set(done))
        assert (len(done) > 2, done[-1]) == (True, len(body))
        assert {call[1] for call in calls if call[2] == file} == {None if file == "ind.cora.graph" else len(body)}
        assert (tmp_path / "raw" / file).read_bytes() == body


def test_load_downloads_once_into_the_cache_or_the_data_folder(answers, tmp_path, monkeypatch):
    answers["/REDDIT-BINARY.zip"] = tiny_zip()
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


def test_a_dataset_without_an_address_is_not_downloaded(tmp_path):
    folder = tmp_path / "gnn-benchmark"
    parts = "cannot be downloaded: put amazon_electronics_photo.npz into", folder, "GraphData"
    refused("amazon-photo", folder, *parts, error=InputError)


def test_without_network_the_error_names_the_address_and_the_remedies(tmp_path):
    remedies = ("by hand", "--data-root", "MVGRL_DATA")
    folder = tmp_path / "planetoid" / "PubMed" / "raw"
    parts = "'pubmed'", DATASETS["pubmed"].url, "no connection (Connection refused)", "ind.pubmed.allx"
    refused("pubmed", folder, *parts, folder, *remedies)
    assert not (tmp_path / "planetoid").exists()
    pip = "pip install 'mvgrl[datasets]'"
    refused("mutag", tmp_path / "raw", "127.0.0.1:9/MUTAG.zip", "MUTAG_graph_indicator.txt", pip, *remedies)
    refused("cora-linqs", tmp_path / "raw", "127.0.0.1:9/cora.tgz", "cora.content, cora.cites", pip, *remedies)


def test_load_without_network_gives_the_same_error(tmp_path):
    with pytest.raises(MachineError, match=r"IMDB-MULTI_A.txt.*into .*tu.IMDB-MULTI.raw by hand") as caught:
        load("imdb-multi", tmp_path)
    assert caught.value.__suppress_context__
    assert not list(tmp_path.iterdir())


def test_an_error_of_the_server_is_quoted(answers, tmp_path):
    answers["/data/ind.cora.x"] = b"the first of eight"
    refused("cora", tmp_path / "raw", "404 Client Error: Not Found", "/data/ind.cora.y")
    refused("ptc-mr", tmp_path / "raw", "404 Client Error: Not Found", "PTC_MR.zip")


def test_a_server_that_stops_responding(server, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "TIMEOUT", 0.1)
    server.answers["/REDDIT-BINARY.zip"] = (None, None)
    refused("reddit-binary", tmp_path / "raw", "did not respond for 0.1 seconds")
    server.answers["/REDDIT-BINARY.zip"] = (tiny_zip(), 10_000)
    server.hang_up = False
    refused("reddit-binary", tmp_path / "raw", "did not respond for 0.1 seconds")


def test_an_interrupted_connection(answers, tmp_path):
    complete = tiny_zip()
    answers["/REDDIT-BINARY.zip"] = (complete[:-7], len(complete))
    broken = f"the connection broke after {len(complete) - 7} of {len(complete)} bytes of REDDIT-BINARY.zip"
    refused("reddit-binary", tmp_path / "raw", broken)
    answers["/REDDIT-BINARY.zip"] = (complete[:-40], None)  # the server does not send the length
    refused("reddit-binary", tmp_path / "raw", "not a valid archive")


def test_a_file_that_is_not_the_published_one(answers, tmp_path, set_files):
    bodies = {file: file.encode() for file in DATASETS["cora-linqs"].files}
    set_files("cora-linqs", bodies)
    answers["/cora.tgz"] = tarred({f"cora/{file}": body for file, body in bodies.items()})
    download(DATASETS["cora-linqs"], tmp_path / "good")
    answers["/cora.tgz"] = tarred({"cora/cora.content": b"cora.content", "cora/cora.cites": b"cora.citez"})
    digest = hashlib.sha256(b"cora.citez").hexdigest()
    refused("cora-linqs", tmp_path / "bad", "/cora.tgz", "cora.cites is not the published file", digest)


def test_a_dataset_without_digests_must_be_complete_and_readable(answers, tmp_path):
    address = "/REDDIT-BINARY.zip"
    answers[address] = zipped({"REDDIT-BINARY/REDDIT-BINARY_A.txt": TINY["REDDIT-BINARY_A.txt"]})
    refused("reddit-binary", tmp_path / "raw", "the archive has no REDDIT-BINARY/REDDIT-BINARY_graph_indicator.txt")
    answers[address] = tiny_zip(**{"REDDIT-BINARY_A.txt": b"1, 2\n2, <html>\n"})
    refused("reddit-binary", tmp_path / "raw", ": REDDIT-BINARY_A.txt, line 2")
    answers[address] = b"<html>log in first</html>"
    refused("reddit-binary", tmp_path / "raw", "not a valid archive")


def test_no_member_of_an_archive_is_written_outside_the_folder(answers, tmp_path):
    outside = {"../escaped.txt": b"x", f"{tmp_path}/escaped.txt": b"x", "REDDIT-BINARY/../../escaped.txt": b"x"}
    members = {f"REDDIT-BINARY/{name}": content for name, content in TINY.items()}
    answers["/REDDIT-BINARY.zip"] = zipped(outside | members | {"REDDIT-BINARY/extra.txt": b"x"})
    download(DATASETS["reddit-binary"], tmp_path / "a" / "raw")
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(["a", "raw", *TINY])
    moved = {f"../{name}": content for name, content in TINY.items()}
    answers["/REDDIT-BINARY.zip"] = zipped(moved)
    refused("reddit-binary", tmp_path / "b" / "raw", "the archive has no REDDIT-BINARY/REDDIT-BINARY_A.txt")


def test_a_link_in_an_archive_is_not_followed(answers, tmp_path):
    (tmp_path / "secret").write_text("secret")
    answers["/cora.tgz"] = tarred({"cora/cora.cites": b"1 2"}, content=str(tmp_path / "secret"))
    refused("cora-linqs", tmp_path / "raw", "the archive has no cora/cora.content")


def test_oversized_archives_are_refused(answers, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES", 2**20)
    answers["/REDDIT-BINARY.zip"] = tiny_zip(bomb=bytes(2**21))
    assert len(answers["/REDDIT-BINARY.zip"]) < 2**20
    refused("reddit-binary", tmp_path / "raw", "more than 1,048,576 bytes")
    answers["/cora.tgz"] = tarred({"cora/bomb": bytes(2**21)})
    refused("cora-linqs", tmp_path / "raw", "more than 1,048,576 bytes")
    answers["/cora.tgz"] = gzip.compress(bytes(2**21), 0)
    refused("cora-linqs", tmp_path / "raw", "cora.tgz has more than 1,048,576 bytes")


def test_an_interrupted_download_leaves_nothing_and_can_be_repeated(answers, tmp_path):
    answers["/REDDIT-BINARY.zip"] = tiny_zip()
    seen = []

    def interrupt(*_):
        seen.extend(path.name for path in tmp_path.rglob("*"))
        raise KeyboardInterrupt

    folder = tmp_path / "tu" / "REDDIT-BINARY" / "raw"
    with pytest.raises(KeyboardInterrupt):
        download(DATASETS["reddit-binary"], folder, progress=interrupt)
    assert "archive" in seen
    assert not list(tmp_path.iterdir())
    download(DATASETS["reddit-binary"], folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted(TINY)


def test_concurrent_downloads_do_not_disturb_each_other(answers, tmp_path):
    answers["/REDDIT-BINARY.zip"] = tiny_zip()
    folder = tmp_path / "raw"
    inner = []

    def overtake(*_):
        download(DATASETS["reddit-binary"], folder)
        inner.append(sorted(path.name for path in folder.iterdir()))

    download(DATASETS["reddit-binary"], folder, progress=overtake)
    assert inner == [sorted(TINY)]
    assert sorted(path.name for path in folder.iterdir()) == sorted(TINY)
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]


def test_a_folder_with_files_is_kept_if_complete_and_never_overwritten(answers, tmp_path):
    folder = tmp_path / "raw"
    folder.mkdir()  # an empty one is filled
    answers["/REDDIT-BINARY.zip"] = tiny_zip()
    download(DATASETS["reddit-binary"], folder)
    answers.clear()
    download(DATASETS["reddit-binary"], folder)
    (folder / "REDDIT-BINARY_A.txt").write_text("mine")
    refused("reddit-binary", folder, folder, "A.txt, line 1", "remove it to download it again", error=InputError)
    assert (folder / "REDDIT-BINARY_A.txt").read_text() == "mine"


def test_a_path_that_cannot_be_written(answers, tmp_path):
    (tmp_path / "file").write_text("mine")
    refused("mutag", tmp_path / "file" / "raw", "cannot be written", "choose another", error=InputError)
    refused("mutag", tmp_path / "file", "is a file", "choose another folder", error=InputError)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_full_disk_is_reported(answers, tmp_path, files_up_to):
    answers["/REDDIT-BINARY.zip"] = tiny_zip(padding=bytes(np.random.default_rng(0).bytes(200_000)))
    with files_up_to(100_000):
        refused("reddit-binary", tmp_path / "raw", "raw cannot be written: File too large")
