"""Text files of any dialect: the separator, comments and a missing header are recognised, and each guess is noted."""

from __future__ import annotations

import gzip

import pytest

from mvgrl.tables import budget, dialect
from mvgrl.tables.dialect import check_separator
from mvgrl.tables.files import read_edges, read_nodes, read_rows


@pytest.fixture
def edges(tmp_path):
    """Write a file of edges, and return a function that reads it."""

    def read(content, name="edges.csv", **more):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_edges(path, **more)

    return read


@pytest.mark.parametrize(
    ("separator", "named"), [(",", None), (";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars"), (" ", "spaces")]
)
@pytest.mark.parametrize("header", [True, False])
def test_every_separator_is_recognised_and_noted(edges, separator, named, header):
    lines = [["Source", "Target", "Weight"]] if header else []
    lines += [["a", "b", "2"], ["b", "c", "1"]]
    table, place = edges("".join(separator.join(line) + "\n" for line in lines))
    assert [column.to_pylist() for column in table.columns] == [["a", "b"], ["b", "c"], [2, 1]]
    assert [note for note in place.notes if "separated" in note] == (
        [f"{place.name} is separated by {named}"] if named else []
    )
    assert any("no header" in note and "source, target, weight" in note for note in place.notes) == (not header)
    assert place.row(1) == f"line {2 + header}"


@pytest.mark.parametrize("name", ["edges.txt", "edges.edgelist", "edges.edges"])
def test_comments_and_runs_of_spaces_are_skipped(edges, name):
    table, place = edges("# Directed graph\n# 3 nodes\n\n1   2\n 2\t3 \n\n 10 20\n", name)
    assert table.to_pydict() == {"source": [1, 2, 10], "target": [2, 3, 20]}
    assert place.notes[0] == f"skipped 2 comment lines at the top of {place.name}"
    assert [place.row(row) for row in range(3)] == ["line 4", "line 5", "line 7"]


def test_last_comment_may_name_the_columns(edges):
    table, place = edges("# Web graph\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n", "web.txt")
    assert table.column_names == ["FromNodeId", "ToNodeId"]
    assert table.num_rows == 2
    assert not any("no header" in note for note in place.notes)
    assert edges("# source,target\na,b\nc,d\n")[0].to_pydict() == {"source": ["a", "c"], "target": ["b", "d"]}


def test_row_that_starts_with_a_hash_is_not_a_comment(edges):
    table, _ = edges("#cats,#dogs\n#dogs,birds\nbob,#cats\n")
    assert table["source"].to_pylist() == ["#cats", "#dogs", "bob"]
    assert edges("#source,target\na,b\n")[0]["#source"].to_pylist() == ["a"]


def test_quoted_fields_are_read_with_every_separator(edges):
    for separator in ",;\t| ":
        content = f'source{separator}target\n"New{separator}York"{separator}"say ""hi"""\nx{separator}y\n'
        if separator == " ":
            content = 'source target\n"New York"  Rome\nx y\n'
        table, _ = edges(content)
        assert table["source"].to_pylist() == [f"New{separator}York", "x"]


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("1,2\n2,3\n", ["source", "target"]),
        ("1,2\n", ["source", "target"]),
        ("ann,bob\nbob,cy\n", ["source", "target"]),
        ("ann,bob,2\ncy,dan,1.5\n", ["source", "target", "weight"]),
        ("ann,7\ncy,8\n", ["source", "target"]),
        ("1,2,friend\n2,3,foe\n", ["source", "target", "column 3"]),
        ("1,2,1082008561\n2,3,1082008562\n", ["source", "target", "column 3"]),  # times are not weights
        ("1,2,0.5,1082008561\n2,3,1,1082008562\n", ["source", "target", "weight", "column 4"]),
    ],
)
def test_file_without_a_header_is_read(edges, content, names):
    table, place = edges(content)
    assert table.column_names == names
    assert table.num_rows == content.count("\n")
    first = content.partition("\n")[0]
    assert f"its first line, '{first}', is an edge, and the columns are {', '.join(names)}" in place.notes[-1]
    assert edges(content, header=False)[0].equals(table)


@pytest.mark.parametrize(
    "content",
    [
        "ann,bob\ncy,dan\n",  # may be names or an edge
        "ann,bob\n",
        "person,friend\n1,2\n2,3\n",  # names above numbers
        "source,friend\na,b\nb,a\n",
        "a,b,c,d,e\nb,c,a,e,d\n",
    ],
)
def test_first_line_that_may_be_names_is_not_taken_as_an_edge(edges, content):
    table, place = edges(content)
    assert table.column_names == content.partition("\n")[0].split(",")
    assert place.notes == ()


def test_header_that_recurs_as_ids_is_noted(edges):
    table, place = edges("parent,child\nchild,toy\ntoy,parent\n")
    assert table.column_names == ["parent", "child"]
    assert "--no-header (header=False)" in place.notes[0]
    assert edges("parent,child\nchild,toy\ntoy,parent\n", header=False)[0].num_rows == 3


def test_given_columns_are_in_the_header(edges, input_error):
    table, _ = edges("1,2\n2,3\n", source_column="1", target_column="2")
    assert table.to_pydict() == {"1": [2], "2": [3]}
    input_error(lambda: edges("1,2\n2,3\n", source_column="1", header=False), "'1' needs a header", "--no-header")


def test_ids_chosen_by_name_stay_what_they_are(edges):
    table, _ = edges("person,friend,x\n007,1.0,007\n", source_column="Person", target_column="friend")
    assert table.to_pydict() == {"person": ["007"], "friend": ["1.0"], "x": [7]}
    assert edges("USER_ID;Item\n007;1\n")[0]["USER_ID"].to_pylist() == ["007"]


def test_space_before_every_id_belongs_to_the_separator(edges):
    assert edges("source, target\n1, 2\n2, 3\n")[0][" target"].to_pylist() == [2, 3]
    assert edges("source,target\na, b\nb,c\n")[0]["target"].to_pylist() == [" b", "c"]  # not before every id


def test_decimal_commas_are_read(edges):
    table, place = edges("Source;Target;Weight\na;b;1,5\nb;c;2\n")
    assert table["Weight"].to_pylist() == [1.5, 2.0]
    assert "decimal commas" in place.notes[-1]
    table, place = edges("source;target;weight\na;b;1,5\nb;c;2.5\n")  # undecided, so not a number
    assert table["weight"].to_pylist() == ["1,5", "2.5"]


@pytest.mark.parametrize("content", ["a;b;1,5\nb;c;2,5\n", "a|x,b\nb|y,c\n"])
def test_separator_that_is_ambiguous_is_asked_for(edges, input_error, content):
    input_error(lambda: edges(content), "edges.csv may be separated by", "--separator (separator=)")
    assert edges(content, separator=",", header=False)[0].num_rows == 2
    input_error(lambda: edges(content, separator="::"), "'::'", "tab space")
    assert check_separator("Tab") == "\t"


def test_formats_of_other_tools_are_named(edges, input_error):
    input_error(lambda: edges("%%MatrixMarket matrix\n3 3 1\n1 2\n", "a.txt"), "Matrix Market", "mmread", ".npz")
    content = "a b {'weight': 2}\nb c {'weight': 3}\n"
    input_error(lambda: edges(content, "a.edgelist"), "NetworkX", "write_weighted_edgelist")
    assert edges("a b {}\nb c {}\n", "a.edgelist")[0]["target"].to_pylist() == ["b", "c"]


def test_only_the_first_lines_decide(edges, monkeypatch):
    monkeypatch.setattr(dialect, "_SAMPLE", 30)
    table, place = edges("# c\n" + "".join(f"{i};{i + 1}\n" for i in range(100)))
    assert table.num_rows == 100
    assert place.row(99) == "line 101"


def test_header_may_be_longer_than_what_is_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(dialect, "_SAMPLE", 30)
    names = [f"x{i}" for i in range(1000)]
    for top in ("", "# made by hand\n"):
        (tmp_path / "n.csv").write_text(f"{top}id,{','.join(names)}\n" + f"a{',1' * 1000}\n" * 3)
        table, _ = read_nodes(tmp_path / "n.csv")
        assert (table.column_names, table.num_rows) == (["id", *names], 3)


def test_line_for_excel_is_skipped(edges):
    assert edges("sep=;\nsource;target\na;b\n")[0].to_pydict() == {"source": ["a"], "target": ["b"]}


def test_single_column_of_ids_with_separators_in_it_stays_one(tmp_path):
    path = tmp_path / "ids.csv"
    path.write_text("id\nNew York\nSan Juan\n")
    assert read_rows(path)[0].to_pydict() == {"id": ["New York", "San Juan"]}
    path.write_text("id\na;b\nc;d\n")
    assert read_nodes(path)[0].to_pydict() == {"id": ["a;b", "c;d"]}


def test_node_tables_have_any_separator_and_compression(tmp_path):
    for name, content in (("n.csv", b"Id;x\n007;1,5\n"), ("n.txt", b"id x\n007 1.5\n"), ("n.csv", b"id|x\n007|1.5\n")):
        (tmp_path / name).write_bytes(content)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content))
        for path in (tmp_path / name, tmp_path / f"{name}.gz"):
            table, place = read_nodes(path)
            assert [column.to_pylist() for column in table.columns] == [["007"], [1.5]]
            assert place.row(0) == "line 2"


def test_compressed_text_is_decompressed_within_its_budget(edges, input_error, monkeypatch):
    content = b"source,target\n" + b"a,b\n" * 10**6
    assert edges(gzip.compress(content[:10_000] + b"\n"), "edges.csv.gz")[0].num_rows > 2000
    monkeypatch.setattr(budget, "ALWAYS_ALLOWED", 2**20)
    input_error(lambda: edges(gzip.compress(content), "edges.csv.gz"), "edges.csv.gz", "would unpack from")
    input_error(lambda: edges(gzip.compress(b""), "edges.csv.gz"), "edges.csv.gz is empty")
    input_error(lambda: edges(gzip.compress(content[:1000])[:-9], "edges.csv.gz"), "truncated", "write it again")
    input_error(lambda: edges(gzip.compress(b"source,target\na,b\n\nc\n"), "edges.csv.gz"), "edges.csv.gz, line 4")
