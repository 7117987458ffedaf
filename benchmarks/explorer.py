"""The explorer's page at 10⁴, 10⁵ and 10⁶ points: its size, the time to the first picture, and frames while panning.

Measured in headless Chromium, whose renderer is named: without a graphics card it is SwiftShader, which draws on the
CPU, so that a browser on a laptop is faster. Points have an id, a class, a number and their nearest neighbours (10 up
to 100,000 points, else 5); they are in 20 clusters of vectors of 16, placed by PCA.

    python benchmarks/explorer.py
    python benchmarks/explorer.py --json --points 10000
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from browser import Browser

from mvgrl.explorer.columns import Column, category
from mvgrl.explorer.gather import Gathered, arranged
from mvgrl.explorer.page import write_page
from mvgrl.tables.embeddings import Embeddings

WINDOW = (1400, 900)
WARM_UP, SECONDS = 3.0, 5.0  # of panning
RENDERER = """(() => {
    const gl = document.createElement('canvas').getContext('webgl');
    return gl.getParameter(gl.getExtension('WEBGL_debug_renderer_info').UNMASKED_RENDERER_WEBGL);
})()"""
ALL_POINTS = "explorer.maps[0].lighten = () => {}"  # even where frames are slow
USUAL = "delete explorer.maps[0].lighten"
# The map is moved in every frame; what counts is how often the points were drawn, after a while.
PANNING = """new Promise(done => {
    const map = explorer.maps[0];
    const began = performance.now();
    let [start, frames] = [0, 0];
    const counted = map.plot.subscribe('draw', () => { if (start) frames++; });
    const step = (now) => {
        if (!start && now - began > %d) start = now;
        if (start && now - start > %d) {
            map.plot.unsubscribe(counted);
            return done(1000 * frames / (now - start));
        }
        map.pan(0.01 * Math.sin(now / 300), 0.01 * Math.cos(now / 300));
        requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
})"""


def written(path: Path, count: int) -> dict[str, float]:
    """Write a page of random clusters; return its size and the seconds it took."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 20, count)
    vectors = (3 * rng.normal(size=(20, 16))[kinds] + rng.normal(size=(count, 16))).astype(np.float32)
    ids = np.array([f"node {i}" for i in range(count)])
    columns = [
        category("class", np.array([f"class {i}" for i in range(20)])[kinds]),
        Column("value", "number", values=rng.normal(size=count)),
    ]
    started = time.perf_counter()
    contents = arranged(Gathered(Embeddings(ids, vectors), columns), title="Benchmark", method="pca")
    gathered = time.perf_counter() - started
    size = write_page(path, contents)
    wrote = time.perf_counter() - started - gathered
    return {"bytes": size, "bytes_per_point": size / count, "layout_and_neighbours_s": gathered, "writing_s": wrote}


def opened(browser: Browser, path: Path) -> dict[str, float]:
    """Return the seconds from opening the page to its first picture, and the pictures per second while panning.

    As usual, a slow map shows some of its points while it moves; and with all of them in every picture.
    """
    started = time.perf_counter()
    browser.open(path, "document.documentElement.dataset.ready")
    seconds = time.perf_counter() - started
    browser.frame()
    rates = []
    for mode in (ALL_POINTS, USUAL):
        browser.run(mode)
        rates.append(browser.run(PANNING % (1000 * WARM_UP, 1000 * SECONDS)))
    return {"first_picture_s": seconds, "frames_per_second": rates[1], "frames_per_second_all_points": rates[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, Browser(timeout=300) as browser:
        browser.size(*WINDOW)
        found |= {"renderer": browser.run(RENDERER), "browser": browser.version, "window": list(WINDOW), "points": {}}
        written(Path(folder, "warm.html"), 100)
        opened(browser, Path(folder, "warm.html"))  # shaders are compiled once
        for count in arguments.points:
            page = Path(folder, "page.html")
            rounded = {
                name: round(value, 3) for name, value in {**written(page, count), **opened(browser, page)}.items()
            }
            found["points"][f"{count}"] = rounded
            if not arguments.json:
                listed = ", ".join(f"{name} {value:,}" for name, value in rounded.items())
                print(f"{count:,} points: {listed}", flush=True)
    print(json.dumps(found) if arguments.json else f"{found['browser']}, {found['renderer']}")


if __name__ == "__main__":
    main()
