"""The page in a browser: what is drawn, and what mouse, keys and fingers do."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.explorer.conftest import CLASSES, READY, choose, class_colours, map_of, pixels_of, place, seen
from tools.browser import Browser

from mvgrl.explorer.contents import Contents

TIP = "document.querySelector('.tip')"
SHOWN = "document.documentElement.dataset.shown"


@pytest.fixture
def opened(browser: Browser, page: Path) -> Browser:
    browser.open(page, READY)
    return browser


def text(browser: Browser, selector: str) -> str:
    return browser.run(f"document.querySelector({selector!r}).innerText")


def middle(browser: Browser, selector: str) -> tuple[float, float]:
    """The middle of an element, scrolled into view."""
    found = f"document.querySelector({selector!r})"
    browser.run(f"{found}.scrollIntoView({{block: 'center'}})")
    x, y = browser.run(f"(b => [b.left + b.width / 2, b.top + b.height / 2])({found}.getBoundingClientRect())")
    return x, y


def press(browser: Browser, selector: str) -> None:
    browser.click(*middle(browser, selector))
    browser.frame()


def select(browser: Browser, point: int) -> None:
    browser.click(*place(browser, point))
    browser.wait(f"explorer.state.selected === {point} && document.querySelector('.node')")


def test_every_class_is_drawn_in_its_colour_where_it_is(opened, contents):
    picture = seen(opened)
    counts = [pixels_of(colour, picture) for colour in class_colours()]
    assert min(counts) > 200
    height, width, _ = picture.shape
    quarters = [picture[height // 2 :, : width // 2], picture[height // 2 :, width // 2 :],
                picture[: height // 2, : width // 2], picture[: height // 2, width // 2 :]]  # fmt: skip
    for number, colour in enumerate(class_colours()):
        assert [pixels_of(colour, quarter) > 100 for quarter in quarters] == [i == number for i in range(4)]
    assert opened.run("document.title") == "Animals"
    assert text(opened, "#count") == "80 nodes"


def test_nothing_is_requested_and_the_policy_refuses_everything_outside(opened, page):
    assert opened.requested == [page.as_uri()]
    script = """new Promise(done => {
        const seen = [];
        document.addEventListener('securitypolicyviolation', event => {
            seen.push(event.effectiveDirective);
            if (seen.length === 3) done(seen.sort());
        });
        fetch('http://127.0.0.1:9/').catch(() => {});
        document.body.append(Object.assign(document.createElement('img'), { src: 'http://127.0.0.1:9/a.png' }));
        const inline = document.createElement('script');
        inline.textContent = 'window.broken = true';
        document.body.append(inline);
    })"""
    assert opened.run(script) == ["connect-src", "img-src", "script-src-elem"]
    assert opened.run("window.broken") is None
    evaluated = "try { Function('return 1')() } catch (error) { error.name }"
    options = dict(allowUnsafeEvalBlockedByCSP=False, returnByValue=True)
    assert opened.send("Runtime.evaluate", expression=evaluated, **options)["result"]["value"] == "EvalError"
    opened.frame()
    assert all("Content Security Policy" in line or "ontent-Security-Policy" in line for line in opened.logged)
    assert opened.logged
    opened.logged = []


def test_hover_shows_the_id_and_the_chosen_columns(opened):
    opened.mouse("mouseMoved", *place(opened, 45))
    opened.wait(f"!{TIP}.hidden")
    shown = text(opened, ".tip")
    assert all(word in shown for word in ("p45", "kind", "cat", "age", "21.25", "a note on point 45"))
    left, top, _, _ = map_of(opened)
    opened.mouse("mouseMoved", left + 5, top + 5)
    opened.wait(f"{TIP}.hidden")
    opened.run("document.querySelectorAll('.choices input')[0].click()")  # kind
    opened.mouse("mouseMoved", *place(opened, 45))
    opened.wait(f"!{TIP}.hidden")
    assert "kind" not in text(opened, ".tip")
    assert "21.25" in text(opened, ".tip")


def test_search_finds_ids_text_and_classes_as_one_types(opened):
    opened.press("/")
    assert opened.run("document.activeElement.id") == "search"
    opened.type("P7")
    opened.wait("document.querySelectorAll('#hits li').length === 11")
    assert text(opened, "#hits li") == "p7"  # the id itself comes before p70 to p79
    opened.type("7")
    opened.wait("document.querySelectorAll('#hits li').length === 1")
    opened.press("Enter")
    opened.wait("explorer.state.selected === 77")
    assert text(opened, ".node h3") == "p77"
    opened.run("document.querySelector('#search').value = ''; document.querySelector('#search').focus()")
    opened.type("on point 33")
    opened.wait("document.querySelector('#hits li')?.innerText.startsWith('p33')")
    assert "note" in text(opened, "#hits li")
    opened.run("document.querySelector('#search').value = ''")
    opened.type("CAT")
    opened.wait("document.querySelector('#hits li')?.textContent === 'kind = cat(20 points)'")
    choose(opened, "#colour", 1)  # another column: a class is shown in its colour
    opened.press("Enter")
    opened.wait(f"{SHOWN} === '20'")
    opened.wait("document.querySelector(\".class[aria-pressed='true']\")?.innerText.startsWith('cat')")
    assert text(opened, "#count") == "20 of 80 nodes"
    opened.wait("explorer.maps.every(map => !map.fitting)")
    counts = [pixels_of(colour, seen(opened)) for colour in class_colours()]
    assert [count > 0 for count in counts] == [False, False, True, False]
    assert opened.run("explorer.maps[0].nearest(0, 0) / 20 | 0") == 2
    press(opened, "#reset")
    opened.wait(f"{SHOWN} === '80'")
    opened.run("document.querySelector('#search').value = ''; document.querySelector('#search').focus()")
    opened.type("no such thing")
    opened.wait("document.querySelector('#hits li').innerText === 'Nothing found'")


def test_click_lists_neighbours_and_draws_edges_and_one_can_step_on(opened, contents):
    before = seen(opened)
    select(opened, 7)
    found = contents.maps[0].neighbors
    names = opened.run("[...document.querySelectorAll('.neighbor .words')].map(one => one.innerText)")
    assert names == [f"p{row}" for row in found.rows[7]]
    cosines = opened.run("[...document.querySelectorAll('.neighbor .cosine')].map(one => Number(one.innerText))")
    np.testing.assert_allclose(cosines, found.cosines[7], atol=6e-4)
    dots = opened.run("[...document.querySelectorAll('.neighbor .dot')].map(dot => dot.style.background)")
    assert set(dots) == {"rgb({}, {}, {})".format(*class_colours()[0])}  # all are apes
    assert "2 edges" in text(opened, ".node")
    assert "a note on point 7" in text(opened, ".node")
    after = seen(opened)
    (x, y), (u, v) = place(opened, 7), place(opened, 8)  # an edge of the ring
    left, top, _, _ = map_of(opened)
    line = [(round(y + t * (v - y)) - top, round(x + t * (u - x)) - left) for t in np.linspace(0.2, 0.8, 40)]
    changed = [np.abs(after[a - 1 : a + 2, b - 1 : b + 2].astype(int) - before[a - 1 : a + 2, b - 1 : b + 2]).max() > 30
               for a, b in line]  # fmt: skip
    assert np.mean(changed) > 0.8
    first = int(found.rows[7, 0])
    press(opened, ".neighbor")
    opened.wait(f"explorer.state.selected === {first}")
    opened.wait(f"document.querySelector('.node h3').innerText === 'p{first}'")
    opened.press("n")  # the nearest that was not visited yet
    on = next(int(row) for row in found.rows[first] if row != 7)
    opened.wait(f"explorer.state.selected === {on}")
    opened.press("b")
    opened.wait(f"explorer.state.selected === {first}")
    opened.press("Escape")
    opened.wait("!document.querySelector('.node')")
    assert np.abs(seen(opened).astype(int) - before).max(axis=2).astype(bool).mean() < 0.002


def test_legend_shows_only_the_classes_that_are_clicked(opened):
    press(opened, ".class[data-code='2']")
    opened.wait(f"{SHOWN} === '20'")
    picture = seen(opened)
    counts = [pixels_of(colour, picture) for colour in class_colours()]
    assert counts[1] > 200
    assert [counts[i] for i in (0, 2, 3)] == [0, 0, 0]
    assert text(opened, "#count") == "20 of 80 nodes"
    press(opened, ".class[data-code='4']")
    opened.wait(f"{SHOWN} === '40'")
    assert [pixels_of(colour, seen(opened)) > 0 for colour in class_colours()] == [False, True, False, True]
    press(opened, "#reset")
    opened.wait(f"{SHOWN} === '80'")
    assert min(pixels_of(colour, seen(opened)) for colour in class_colours()) > 200


def test_numbers_have_a_scale_and_a_histogram_to_brush(opened, contents):
    choose(opened, "#colour", 1)
    opened.wait("document.querySelector('.histogram')")
    opened.frame()
    assert all(pixels_of(colour, seen(opened)) == 0 for colour in class_colours()[1:2])  # no orange on the scale
    box = "document.querySelector('.histogram').getBoundingClientRect()"
    left, width, y = opened.run(f"(b => [b.left, b.width, b.top + b.height / 2])({box})")
    opened.drag([(left + share * width, y) for share in (0.5, 0.6, 0.8, 0.95)])
    ages = contents.columns[1].values
    low, high = opened.run("(f => [f.low, f.high])(explorer.state.filters.get(1))")
    span = np.nanmax(ages) - np.nanmin(ages)
    assert (low, high) == pytest.approx((0.5 * span, 0.95 * span), abs=0.02 * span)
    expected = int(((ages >= low) & (ages <= high)).sum())
    assert 0 < expected < 60
    opened.wait(f"{SHOWN} === '{expected}'")
    picture = seen(opened)
    height = len(picture)
    drawn = np.abs(picture.astype(int) - 255).max(axis=2) > 60
    assert drawn[: height // 2].sum() > 10 * drawn[height // 2 :].sum()  # cats and dogs are above, and older
    opened.run("""const input = document.querySelector('.range input');
                  input.value = 34; input.dispatchEvent(new Event('change'))""")
    expected = int(((ages >= 34) & (ages <= high)).sum())
    opened.wait(f"{SHOWN} === '{expected}'")
    assert "1 point without a value" in text(opened, "#legend")


def test_size_grows_with_a_column(opened):
    small = seen(opened)
    choose(opened, "#size", 1)
    opened.frame()
    opened.run("explorer.maps[0].pending")
    large = seen(opened)
    young, old = class_colours()[0], class_colours()[3]
    growth = [pixels_of(colour, large) / pixels_of(colour, small) for colour in (young, old)]
    assert growth[1] > 3
    assert growth[0] < growth[1] / 2


def around(browser: Browser, points: range, room: float = 14) -> list[tuple[float, float]]:
    """A path around points."""
    places = np.array([place(browser, point) for point in points])
    (left, top), (right, bottom) = places.min(axis=0) - room, places.max(axis=0) + room
    corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    steps = [np.linspace(a, b, 6) for a, b in pairwise(corners)]
    return [(float(x), float(y)) for x, y in np.concatenate(steps)]


@pytest.mark.parametrize("way", ["shift", "button"])
def test_lasso_says_what_sets_a_group_apart_and_saves_its_ids(opened, way, tmp_path):
    if way == "button":
        press(opened, "#lasso")
        assert opened.run("document.querySelector('#lasso').getAttribute('aria-pressed')") == "true"
    opened.drag(around(opened, range(20, 40)), shift=way == "shift")
    opened.wait("document.querySelector('.group')")
    assert text(opened, ".group h3") == "20 points"
    assert sorted(opened.run("[...explorer.state.group]")) == list(range(20, 40))
    rows = opened.run("[...document.querySelectorAll('.apart tbody tr')].map(row => row.innerText)")
    assert "bee" in rows[0]
    assert "100%" in rows[0]
    assert "25%" in rows[0]
    assert any("age" in row and "12.38" in row for row in rows)  # the mean
    faded = seen(opened)
    assert pixels_of(class_colours()[1], faded) > 200
    assert pixels_of(class_colours()[0], faded) < 50
    opened.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    press(opened, "#save")
    file = tmp_path / "ids.csv"
    opened.until(file.exists)
    assert file.read_text().splitlines() == ["id", *(f"p{i}" for i in range(20, 40))]
    opened.press("Escape")
    opened.wait("!document.querySelector('.group')")


def test_keys_move_zoom_and_select(opened):
    before = place(opened, 0)
    opened.run("explorer.maps[0].canvas.focus()")
    opened.press("ArrowLeft")
    opened.frame()
    moved = place(opened, 0)
    assert moved[0] > before[0] + 50
    assert moved[1] == pytest.approx(before[1], abs=2)
    opened.press("0")
    opened.wait(f"Math.abs(explorer.maps[0].position(0)[0] - {before[0]}) < 2")
    spread = place(opened, 20)[0] - place(opened, 0)[0]
    opened.press("+")  # waits until everything is shown
    opened.wait(f"explorer.maps[0].position(20)[0] - explorer.maps[0].position(0)[0] > {1.2 * spread}")
    assert place(opened, 20)[0] - place(opened, 0)[0] == pytest.approx(1.5 * spread, rel=0.02)
    opened.press("Enter")
    opened.wait("document.querySelector('.node')")
    opened.press("0")
    opened.press("v")
    opened.wait("document.querySelector('.group')")
    assert text(opened, "#status") != ""


def test_mouse_pans_and_zooms(opened):
    before = place(opened, 0)
    left, top, right, bottom = map_of(opened)
    centre = ((left + right) / 2, (top + bottom) / 2)
    opened.drag([centre, (centre[0] + 40, centre[1]), (centre[0] + 100, centre[1] + 30)])
    moved = place(opened, 0)
    assert (moved[0] - before[0], moved[1] - before[1]) == pytest.approx((100, 30), abs=3)
    spread = place(opened, 20)[0] - moved[0]
    opened.send("Input.dispatchMouseEvent", type="mouseWheel", x=centre[0], y=centre[1], deltaX=0, deltaY=-120)
    opened.frame()
    opened.frame()
    assert place(opened, 20)[0] - place(opened, 0)[0] > 1.02 * spread


def test_dark_pages_are_dark_and_can_be_switched(browser, page):
    browser.dark(True)
    browser.open(page, READY)
    picture = seen(browser)
    assert picture[3, 3].max() < 50
    assert min(pixels_of(colour, picture) for colour in class_colours(dark=True)) > 200
    press(browser, "#theme")
    browser.run("explorer.maps[0].pending")
    browser.frame()
    assert seen(browser)[3, 3].min() > 240
    assert text(browser, "#theme") == "Dark"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(("width", "height"), [(390, 844), (1400, 900)])
def test_page_fits_phones_and_desktops(browser, page, width, height, dark):
    browser.size(width, height, mobile=width < 800)
    browser.dark(dark)
    browser.open(page, READY)
    assert browser.run("[document.documentElement.scrollWidth, innerWidth]") == [width, width]
    names = "#search, #theme, canvas, .tools button, #colour, .class"
    boxes = browser.run(f"""[...document.querySelectorAll('{names}')].map(one => one.getBoundingClientRect()).map(
        box => [box.left, box.right, box.width, box.height])""")
    assert len(boxes) == 13
    for left, right, wide, high in boxes:
        assert 0 <= left < right <= width
        assert min(wide, high) >= 20  # large enough for a finger
    left, top, right, bottom = map_of(browser)
    assert (right - left) * (bottom - top) > 0.35 * width * height
    picture = seen(browser)
    assert min(pixels_of(colour, picture) for colour in class_colours(dark)) > 40


def test_fingers_tap_and_pinch(browser, page):
    browser.size(390, 844, mobile=True)
    browser.open(page, READY)
    x, y = place(browser, 25)

    def touched(kind: str, *places: tuple[float, float]) -> None:
        browser.send("Input.dispatchTouchEvent", type=kind, touchPoints=[dict(x=a, y=b) for a, b in places])

    touched("touchStart", (x, y))
    touched("touchEnd")
    browser.wait("explorer.state.selected >= 0")
    assert CLASSES[browser.run("explorer.state.selected") // 20] == "bee"
    spread = place(browser, 20)[0] - place(browser, 0)[0]
    touched("touchStart", (150, 250), (250, 250))
    touched("touchMove", (100, 250), (300, 250))
    touched("touchEnd")
    browser.frame()
    assert place(browser, 20)[0] - place(browser, 0)[0] == pytest.approx(2 * spread, rel=0.05)


def test_contents_are_what_the_page_was_made_from(opened, contents: Contents):
    assert opened.run("explorer.source.count") == len(contents)
    np.testing.assert_allclose(opened.run("[...explorer.source.maps[0].x]"), contents.maps[0].points[:, 0], atol=1e-6)
