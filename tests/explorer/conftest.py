"""Shared by the tests of the explorer: a browser, a page to open in it, and what is seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from tools.browser import PROGRAM, Browser

from mvgrl.explorer.columns import Column, category
from mvgrl.explorer.contents import PALETTE, Contents, Map
from mvgrl.explorer.layout import in_square
from mvgrl.explorer.page import write_page
from mvgrl.explorer.similar import all_nearest

READY = "document.documentElement.dataset.ready"
CLASSES = ("ape", "bee", "cat", "dog")
CENTRES = np.array([[-1.0, -0.6], [1.0, -0.6], [-1.0, 0.6], [1.0, 0.6]])


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if PROGRAM is None:
        pytest.skip("there is no Chromium to open the page with; apt-get install chromium")
    with Browser() as found:
        yield found


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """A browser with a desktop's window and a light page; a page that logs an error fails the test."""
    chromium.size(1400, 900)
    chromium.dark(False)
    yield chromium
    assert [line for line in chromium.logged if "GL Driver Message" not in line] == []


@pytest.fixture(scope="session")
def contents() -> Contents:
    """80 points in four clusters, in the corners of the map; points of a class are neighbours in a ring."""
    rng = np.random.default_rng(0)
    kind = np.repeat(np.arange(4), 20)
    points = in_square(CENTRES[kind] + 0.12 * rng.normal(size=(80, 2)))
    vectors = np.eye(4)[kind] + 0.1 * rng.normal(size=(80, 4))
    ages = 10.0 * kind + np.arange(80) % 20 / 4
    ages[79] = np.nan
    notes = tuple(f"a note on point {i}" for i in range(80))
    around = 20 * kind + (np.arange(80) + 1) % 20
    ring = sp.csr_array((np.ones(80), (np.arange(80), around)), shape=(80, 80))
    columns = (
        category("kind", np.array(CLASSES)[kind]),
        Column("age", "number", values=ages),
        Column("note", "text", texts=notes),
    )
    maps = (Map("ours", points, all_nearest(vectors, 5)),)
    ids = np.array([f"p{i}" for i in range(80)])
    return Contents("Animals", ids, maps, columns, "kind", edges=sp.csr_array(ring + ring.T))


@pytest.fixture(scope="session")
def page(contents: Contents, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explorer") / "page.html"
    write_page(path, contents)
    return path


def rgb(colour: str) -> np.ndarray:
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])


def class_colours(dark: bool = False) -> list[np.ndarray]:
    return [rgb(colour) for colour in PALETTE["dark" if dark else "light"]["few"][:4]]


def pixels_of(colour: np.ndarray, picture: np.ndarray) -> int:
    """The number of pixels of nearly this colour; points are a little transparent."""
    return int((np.abs(picture.astype(int) - colour).max(axis=2) < 40).sum())


def map_of(browser: Browser, number: int = 0) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of a map."""
    box = browser.run(f"(b => [b.left, b.top, b.right, b.bottom])(explorer.maps[{number}].box.getBoundingClientRect())")
    left, top, right, bottom = map(round, box)
    return left, top, right, bottom


def seen(browser: Browser, number: int = 0) -> np.ndarray:
    """The pixels of a map."""
    browser.frame()
    left, top, right, bottom = map_of(browser, number)
    return browser.picture()[top:bottom, left:right]


def place(browser: Browser, point: int, number: int = 0) -> tuple[float, float]:
    """Where a point is in the window."""
    x, y = browser.run(f"explorer.maps[{number}].position({point})")
    left, top, _, _ = map_of(browser, number)
    return left + x, top + y


def choose(browser: Browser, menu: str, value: int) -> None:
    """Choose an entry of a menu."""
    browser.run(
        f"(s => {{ s.value = {value}; s.dispatchEvent(new Event('change')); }})(document.querySelector('{menu}'))"
    )
