"""Pages with two maps, a model, small graphs, hostile text, and a page from the server."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.explorer.conftest import READY, class_colours, pixels_of, place, seen
from tools.browser import Browser

from mvgrl.explorer.columns import Column, category
from mvgrl.explorer.contents import Contents, Map, SmallGraphs
from mvgrl.explorer.gather import COMMON
from mvgrl.explorer.layout import in_square
from mvgrl.explorer.page import write_page
from mvgrl.explorer.server import Server
from mvgrl.explorer.similar import all_nearest, common_share
from mvgrl.graphs import Graph

LONG = "long " * 2000
HOSTILE = (
    "</script><script>window.broken = 1</script>",
    '<img src=x onerror="window.broken = 2"> & \'quotes\' "double" `back`',
    "<!-- <b>bold</b> --> ${window.broken = 3} \\u003c",
    "emoji 👩‍🔬🎉 and e\u0301",
    "עברית and العربية \u202e reversed",
    LONG.strip(),
    'comma, "quote"\nand a new line',
    "__proto__",
)


def test_two_maps_share_selection_hover_and_filters(browser: Browser, contents: Contents, tmp_path: Path):
    rng = np.random.default_rng(1)
    vectors = np.eye(4)[np.arange(80) % 4] + 0.1 * rng.normal(size=(80, 4))
    other = Map("shuffled", in_square(rng.normal(size=(80, 2))), all_nearest(vectors, 5))
    ours = contents.maps[0]
    share = common_share(ours.neighbors.rows, other.neighbors.rows)
    both = replace(contents, maps=(ours, other), columns=(*contents.columns, Column(COMMON, "number", values=share)))
    write_page(tmp_path / "two.html", both)
    browser.open(tmp_path / "two.html", READY)
    assert browser.run("[...document.querySelectorAll('.map-name')].map(one => one.innerText)") == ["ours", "shuffled"]
    before = seen(browser, 1)
    browser.click(*place(browser, 3))
    browser.wait("document.querySelector('.node')")
    assert browser.run("explorer.maps.map(map => map.marks.selected)") == [3, 3]
    after = seen(browser, 1)
    x, y = browser.run("explorer.maps[1].position(3)")
    ring = (slice(round(y) - 12, round(y) + 13), slice(round(x) - 12, round(x) + 13))
    assert (np.abs(after[ring].astype(int) - before[ring]).max(axis=2) > 60).sum() > 20
    lists = browser.run("[...document.querySelectorAll('.neighbors')].map(list => list.children.length)")
    assert lists == [5, 5]
    shared = browser.run("document.querySelectorAll('.neighbors .shared').length")
    assert shared == 2 * round(5 * share[3])
    browser.mouse("mouseMoved", *place(browser, 50, 1))
    browser.wait(
        "explorer.maps[0].marks.hovered === explorer.maps[1].marks.hovered && explorer.maps[0].marks.hovered >= 0"
    )
    browser.run("document.querySelector(\".class[data-code='1']\").click()")
    browser.wait("document.documentElement.dataset.shown === '20'")
    for number in (0, 1):
        picture = seen(browser, number)
        assert [pixels_of(colour, picture) > 50 for colour in class_colours()] == [True, False, False, False]
    column = len(both.columns) - 1
    browser.run(
        f"const s = document.querySelector('#colour'); s.value = {column}; s.dispatchEvent(new Event('change'))"
    )
    browser.wait("document.querySelector('.histogram')")
    np.testing.assert_allclose(browser.run(f"[...explorer.state.columns[{column}].values]"), share, atol=1e-6)


def test_hostile_text_is_shown_as_text(browser: Browser, tmp_path: Path):
    count = len(HOSTILE)
    points = in_square(np.stack([np.arange(count), np.arange(count) % 3], axis=1).astype(float))
    columns = (
        category(HOSTILE[0], HOSTILE),
        Column(HOSTILE[1], "text", texts=HOSTILE),
        Column(HOSTILE[2], "number", values=np.arange(count) / 7),
    )
    model = {"losses": [2.0, 1.0], "epochs": 2, "choices": [[HOSTILE[0], HOSTILE[1]]], "card": HOSTILE[0]}
    maps = (Map("", points, all_nearest(np.eye(count) + 0.1, 3)),)
    shown = Contents(HOSTILE[0], np.array(HOSTILE), maps, columns, HOSTILE[0], model=model)
    write_page(tmp_path / "hostile.html", shown)
    text = (tmp_path / "hostile.html").read_text()
    assert text.count("</script>") == 2  # the data and the script
    assert "window.broken" not in text
    browser.open(tmp_path / "hostile.html", READY)
    assert browser.run("document.title") == HOSTILE[0]
    assert browser.run("document.querySelector('h1').textContent") == HOSTILE[0]
    legend = browser.run("[...document.querySelectorAll('.class .words')].map(one => one.textContent)")
    assert sorted(legend) == sorted(HOSTILE)
    for point, name in enumerate(HOSTILE):
        browser.run(f"explorer.select([{point}])")
        found = browser.run(
            "[...document.querySelectorAll('.node h3 .words, .node td .words')].map(o => o.textContent)"
        )
        assert found[:3] == [name, name, name]
        browser.run(f"explorer.hover(explorer.maps[0], {point})")
        assert browser.run("document.querySelector('.tip strong').textContent") == name
    assert browser.run("document.querySelector('.model pre').textContent") == HOSTILE[0]
    assert browser.run("document.documentElement.scrollWidth") == 1400
    assert browser.run("document.querySelectorAll('#app img, #app script, #app b').length") == 0
    assert browser.run("window.broken") is None
    browser.run("document.querySelector('#search').focus()")
    browser.type("</SCRIPT>")
    browser.wait("document.querySelectorAll('#hits li').length === 2")  # a class, and a point
    assert browser.run("document.querySelector('#hits .words').textContent") == f"{HOSTILE[0]} = {HOSTILE[0]}"
    browser.run("explorer.select([6, 7])")
    browser.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    browser.run("document.querySelector('#save').click()")
    browser.until((tmp_path / "ids.csv").exists)
    assert (tmp_path / "ids.csv").read_text() == 'id\n"comma, ""quote""\nand a new line"\n__proto__\n'


def test_slow_maps_show_some_points_while_they_move_and_all_at_rest(browser: Browser, tmp_path: Path):
    points = in_square(np.random.default_rng(0).normal(size=(45_000, 2)))
    write_page(tmp_path / "many.html", Contents("Many", np.arange(45_000), (Map("", points),)))
    browser.open(tmp_path / "many.html", READY)
    before = pixels_of(class_colours()[0], seen(browser))
    assert browser.run("explorer.maps[0].slow") in (True, False)  # measured, whatever this machine is
    browser.run("explorer.maps[0].slow = false; explorer.maps[0].pan(0.001, 0)")
    browser.frame()
    assert not browser.run("explorer.maps[0].light")
    browser.run("explorer.maps[0].slow = true; explorer.maps[0].pan(0.001, 0)")
    browser.wait("explorer.maps[0].light")
    assert browser.run("explorer.maps[0].plot.get('filteredPoints').length") == 15_000
    browser.wait("!explorer.maps[0].light")
    browser.run("explorer.maps[0].pending")
    assert not browser.run("explorer.maps[0].plot.get('isPointsFiltered')")
    assert pixels_of(class_colours()[0], seen(browser)) == pytest.approx(before, rel=0.05)


def test_model_has_its_loss_curve_choices_and_card(browser: Browser, contents: Contents, tmp_path: Path):
    model = {"losses": [3.0, 2.0, 1.5], "epochs": 3, "choices": [["views", "adjacency, ppr"]], "card": "# A card"}
    write_page(tmp_path / "model.html", replace(contents, model=model))
    browser.open(tmp_path / "model.html", READY)
    browser.run("document.querySelector('#model').open = true")
    path = browser.run("document.querySelector('.loss').getAttribute('d')")
    heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path)]
    assert heights == sorted(heights)  # the loss falls, and the vertical axis points down
    assert browser.run("document.querySelector('#model td').textContent") == "adjacency, ppr"
    assert browser.run("document.querySelector('#model pre').textContent") == "# A card"


@pytest.mark.parametrize("way", ["page", "server"])
def test_graphs_are_drawn_small_on_hover(browser: Browser, tmp_path: Path, way: str):
    edges = [(0, 1), (1, 2), (2, 0), (3, 4), (5, 6), (6, 7), (7, 8), (8, 5)]  # a triangle, an edge, a square
    labels = np.array([0, 0, 1, 2, 2, 0, 1, 0, 1])
    graph = Graph.from_edges(*np.array(edges).T, node_labels=labels, offsets=[0, 3, 5, 9])
    points = np.array([[-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    shown = Contents("Graphs", np.arange(3), (Map("", points),), graphs=SmallGraphs.of(graph), unit="graph")
    if way == "page":
        write_page(tmp_path / "graphs.html", shown)
        browser.open(tmp_path / "graphs.html", READY)
        check_drawings(browser)
    else:
        with running(Server(shown, [points])) as server:
            browser.open(server.address, READY)
            check_drawings(browser)


def check_drawings(browser: Browser):
    for point, (nodes, lines, kinds) in enumerate([(3, 3, "001"), (2, 1, "22"), (4, 4, "0101")]):
        browser.mouse("mouseMoved", *place(browser, point))
        browser.wait(f"document.querySelector('.tip').textContent.startsWith('{point}')")
        browser.wait(f"document.querySelectorAll('.tip line').length === {lines}")
        found = browser.run("[...document.querySelectorAll('.tip circle')].map(one => one.dataset.label).join('')")
        assert (len(found), found) == (nodes, kinds)
    apart = browser.run("""(dots => dots.flatMap((a, i) => dots.slice(0, i).map(b =>
        Math.hypot(a.cx.baseVal.value - b.cx.baseVal.value, a.cy.baseVal.value - b.cy.baseVal.value))))(
        [...document.querySelectorAll('.tip circle')])""")
    assert min(apart) > 15
    assert browser.run("document.querySelector('#count').innerText") == "3 graphs"


@contextmanager
def running(server: Server):
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def served(contents: Contents):
    vectors = np.eye(4)[np.repeat(np.arange(4), 20)] + 0.1 * np.random.default_rng(0).normal(size=(80, 4))
    with running(Server(contents, [vectors])) as server:
        yield server


def test_served_page_shows_the_same(browser: Browser, contents: Contents, served: Server, tmp_path: Path):
    browser.open(served.address, f"{READY} === '80'")
    assert all(url.startswith(served.address) for url in browser.requested)
    assert min(pixels_of(colour, seen(browser)) for colour in class_colours()) > 200
    browser.mouse("mouseMoved", *place(browser, browser.run("explorer.source.place(30)")))
    browser.wait("document.querySelector('.tip').innerText.includes('a note on point 30')")
    assert browser.run("document.querySelector('.tip strong').innerText") == "p30"
    browser.run("document.querySelector('#search').focus()")
    browser.type("p77")
    browser.wait("document.querySelector('#hits li')?.innerText === 'p77'")
    browser.press("Enter")
    browser.wait("document.querySelector('.node h3')?.innerText === 'p77'")
    names = browser.run("[...document.querySelectorAll('.neighbor .words')].map(one => one.innerText)")
    assert len(names) == 10
    assert all(60 <= int(name[1:]) < 80 for name in names)
    assert "a note on point 77" in browser.run("document.querySelector('.node').innerText")
    browser.run("explorer.select([...explorer.source.rows.keys()].filter(i => explorer.source.rows[i] < 3))")
    browser.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    browser.run("document.querySelector('#save').click()")
    browser.until((tmp_path / "ids.csv").exists)
    assert (tmp_path / "ids.csv").read_text() == "id\np0\np1\np2\n"
