"""Crafted files: pickles that would run code, archives that unpack to gigabytes, XML entities, HTML and formulas."""

from __future__ import annotations

import json
import pickle
import random
import tracemalloc
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from tests.attacks.arrays import HOW, MARKER, Payload, npy_bytes, object_array, zip_bomb, zip_bytes
from tests.attacks.seeds import (
    SETTINGS,
    VIEWS,
    Seed,
    adjacency,
    edge_table,
    graph,
    ledger_lines,
    make_seeds,
    sparse_bytes,
)
from tests.attacks.targets import TARGETS
from tests.attacks.worker import wrong_message

from mvgrl.cli import main
from mvgrl.errors import InputError, MVGRLError
from mvgrl.graphs.read import read
from mvgrl.pretrained import load_model, save_model
from mvgrl.reports.report import write_report
from mvgrl.training import fit
from mvgrl.views import ViewCache

GIGABYTES = 3000  # in megabytes, what a bomb of 3 MB unpacks to
UNREAD = {"README.md", "ind.tiny.x"}  # of a model and of a Planetoid folder
TOLERATED = {"views", "ledger", "report"}  # damaged files and lines are ignored there, not refused


@pytest.fixture(scope="module")
def seeds() -> dict[str, list[Seed]]:
    return make_seeds()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def pickles(how: str) -> dict[str, bytes]:
    """A pickle that runs code in the forms in which it could come."""
    bare, text = (pickle.dumps(Payload(how), protocol=protocol) for protocol in (4, 0))
    torch_file = zip_bytes([("archive/data.pkl", bare), ("archive/version", b"3\n")])
    array = npy_bytes(np.array([Payload(how), None], dtype=object))
    arrays = zip_bytes([(f"{name}.npy", array) for name in ("data", "indices", "indptr", "format", "shape", "key")])
    return {"bare": bare, "text": text, "torch": torch_file, "array": array, "npz": arrays}


def test_the_payloads_do_run_code_where_pickles_are_trusted(folder: Path) -> None:
    for how in HOW:
        pickle.loads(pickles(how)["bare"])
        assert Path(MARKER).exists()
        Path(MARKER).rmdir() if Path(MARKER).is_dir() else Path(MARKER).unlink()


@pytest.mark.parametrize("target", [name for name in TARGETS if name not in ("scipy", "objects", "report")])
def test_a_pickle_is_refused_at_every_door(target: str, seeds: dict[str, list[Seed]], folder: Path) -> None:
    for number, seed in enumerate(seeds[target]):
        for name in sorted(seed.files.keys() - UNREAD):
            for form, content in pickles("os.system").items():
                place = write(folder / f"{number}-{name.replace('/', '-')}-{form}", {**seed.files, name: content})
                if target in TOLERATED:
                    TARGETS[target](place, seed)
                else:
                    with pytest.raises(MVGRLError) as caught:
                        TARGETS[target](place, seed)
                    assert wrong_message(str(caught.value)) is None, str(caught.value)
                assert not Path(MARKER).exists(), f"{name} as {form} ran code"


@pytest.mark.parametrize("how", HOW)
def test_an_allowed_name_of_a_planetoid_file_cannot_be_used_to_run_code(
    how: str, seeds: dict[str, list[Seed]], folder: Path
) -> None:
    (seed,) = seeds["planetoid"]
    inside = pickle.dumps({"data": Payload(how), "indices": object_array(random.Random(0), b"")}, protocol=2)
    for part in ("allx", "ally", "graph"):
        place = write(folder / part, {**seed.files, f"ind.tiny.{part}": inside})
        with pytest.raises(InputError, match=r"not a Planetoid file: it refers to \S+, which no Planetoid file needs"):
            read(place)
        assert not Path(MARKER).exists()


@pytest.fixture
def within_budget():
    """Check that a call is refused before it has used a tenth of what the file unpacks to."""

    def refused(call) -> str:
        tracemalloc.start()
        try:
            with pytest.raises(InputError) as caught:
                call()
            used = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert used < GIGABYTES * 2**20 / 10, f"{used / 2**20:.0f} MB were used"
        return str(caught.value)

    return refused


@pytest.mark.parametrize("declared", [None, 64], ids=["declared", "hidden"])
@pytest.mark.parametrize("name", ["data.npy", "indptr.npy", "arr_0.npy"])
def test_a_zip_bomb_is_refused_as_graph_and_as_features(declared: int | None, name: str, within_budget) -> None:
    Path("bomb.npz").write_bytes(zip_bomb(name, GIGABYTES, declared=declared))
    Path("a.npz").write_bytes(sparse_bytes(adjacency()))
    assert "bomb.npz" in within_budget(lambda: read("bomb.npz"))
    assert "bomb.npz" in within_budget(lambda: read("a.npz", nodes="bomb.npz"))


def test_a_header_that_declares_too_much_is_refused(within_budget) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (8, 1000000000000), }\n"
    Path("x.npy").write_bytes(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + bytes(64))
    Path("a.npz").write_bytes(sparse_bytes(adjacency()))
    within_budget(lambda: read("a.npz", nodes="x.npy"))


def test_a_bomb_in_the_view_cache_is_ignored(folder: Path) -> None:
    cache = ViewCache(folder / "views")
    computed = VIEWS[0](graph())
    path = cache.path(VIEWS[0], graph())
    path.parent.mkdir()
    path.write_bytes(zip_bomb("dense.npy", GIGABYTES))
    tracemalloc.start()
    found = cache.get(VIEWS[0], graph())
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(found, computed)
    assert used < GIGABYTES * 2**20 / 10


GRAPHML = """<?xml version="1.0"?>{doctype}<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="label" attr.type="string"/><graph edgedefault="undirected">
<node id="a"><data key="d0">{text}</data></node><node id="b"/><edge source="a" target="b"/></graph></graphml>"""
LAUGHS = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))


@pytest.mark.parametrize(
    "doctype",
    [
        f'<!DOCTYPE g [<!ENTITY e0 "ha">{LAUGHS}]>',
        '<!DOCTYPE g [<!ENTITY e9 SYSTEM "secret.txt">]>',
        '<!DOCTYPE g [<!ENTITY % p SYSTEM "secret.txt"> %p;]>',
        '<!DOCTYPE g SYSTEM "http://127.0.0.1:9/g.dtd">',
    ],
    ids=["a billion laughs", "external entity", "external parameter entity", "external document type"],
)
def test_xml_entities_are_refused(doctype: str) -> None:
    Path("secret.txt").write_text("the secret")
    Path("g.graphml").write_text(GRAPHML.format(doctype=doctype, text="&e9;"))
    with pytest.raises(InputError) as caught:
        read("g.graphml", label_column="label")
    assert "the secret" not in str(caught.value)
    assert wrong_message(str(caught.value)) is None


def test_deeply_nested_xml_is_refused() -> None:
    Path("g.graphml").write_text(GRAPHML.format(doctype="", text="<data>" * 50_000 + "</data>" * 50_000))
    with pytest.raises(InputError) as caught:
        read("g.graphml")
    assert wrong_message(str(caught.value)) is None


SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>"


def test_html_in_a_ledger_is_text_in_the_report() -> None:
    first, second, *_ = (json.loads(line) for line in ledger_lines().splitlines())
    runs = [{**first, "device": SCRIPT, "versions": {SCRIPT: SCRIPT}}, {**second, "failed": SCRIPT}]
    Path("runs.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs))
    write_report("report.html", "runs.jsonl")
    page = Path("report.html").read_text()
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_html_in_what_a_model_was_trained_on_is_text_in_its_card() -> None:
    save_model(fit(graph(), SETTINGS, device="cpu"), "m", about={"trained on": f"{SCRIPT} | x\n# y", SCRIPT: 1})
    card = Path("m/README.md").read_text()
    assert "<script" not in card
    assert "<img" not in card
    assert "\n# y" not in card
    assert load_model("m", device="cpu").about["trained on"] == f"{SCRIPT} | x\n# y"


FORMULAS = ["=1+1", "@SUM(A1)", "+1-1", "-2+3", '=HYPERLINK("http://x")']


def test_formulas_in_ids_are_written_verbatim_unless_asked_otherwise() -> None:
    nx.write_graphml(nx.cycle_graph(FORMULAS), "g.graphml")
    flags = ["--hidden", "2", "--epochs", "1", "--device", "cpu", "--quiet"]
    assert main(["embed", "g.graphml", "-o", "plain.csv", *flags]) == 0
    assert main(["embed", "g.graphml", "-o", "safe.csv", "--csv-safe", *flags]) == 0
    lines = {name: Path(name).read_text().splitlines()[1:] for name in ("plain.csv", "safe.csv")}
    firsts = {name: [line.lstrip('"')[0] for line in some] for name, some in lines.items()}
    assert firsts == {"plain.csv": list("=@+-="), "safe.csv": ["'"] * 5}


def test_a_table_that_is_a_pickle_of_a_data_frame_is_refused() -> None:
    edge_table().to_pickle("edges.parquet")
    with pytest.raises(InputError, match=r"edges\.parquet is not a Parquet file"):
        read("edges.parquet")
