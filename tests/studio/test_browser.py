"""The studio in a real browser: every view is used as a person would, and nothing goes wrong.

Any Chromium will do: `apt-get install chromium` on Debian. Without one, only the files of the page
are looked at.
"""

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dred.levels import from_text, load, to_text
from dred.studio.server import PAGE
from dred.tasks.gridworld.levels.dataset import from_levels
from tests.reports.test_browser import CHROMIUM
from tests.studio.browser import browser
from tests.studio.test_probe import GOLDEN
from tests.studio.test_runs import new_generator

WITHOUT = (
    "NO BROWSER: the studio was NOT used, only its files were looked at. Install one, as by "
    "`apt-get install chromium`, and run the tests again."
)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason=WITHOUT)
ROOM = "S......\n.......\n.......\n.......\n.......\n.......\n......G"


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    """A folder, served as in a terminal, and its address."""
    folder = tmp_path_factory.mktemp("studio")
    rooms = [ROOM.replace(".", "#", number % 5) if number % 5 < 4 else ROOM for number in range(5)]
    from_levels(map(from_text, dict.fromkeys(rooms))).save(folder / "rooms.npz")
    many = [ROOM.replace("S.", ".S") if number % 2 else ROOM for number in range(10_000)]
    from_levels(map(from_text, many), structure="many").save(folder / "many.npz")
    shutil.copytree(GOLDEN, folder / "old")
    new_generator(folder / "vae")
    (folder / "report.html").write_text("<h1>What came of it</h1>")
    command = [sys.executable, "-m", "dred", "studio", "--no-browser"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    address = re.search(r"http://\S+", process.stdout.readline())[0]
    yield folder, address
    process.send_signal(signal.SIGINT)
    process.wait()
    process.stdout.close()


@pytest.fixture
def tab(studio, tmp_path):
    with browser(CHROMIUM, tmp_path / "profile") as opened:
        opened.size(1400, 900)
        yield opened
        assert opened.complaints == []
        elsewhere = [one for one in opened.requests if not one.startswith((studio[1], "data:"))]
        assert elsewhere in ([], ["about:blank"])


def open_view(tab, studio, view):
    tab.go("about:blank")
    tab.go(f"{studio[1]}#{view}")
    name = view.partition("?")[0]
    tab.until(f"document.getElementById('view')?.dataset.ready === {name!r}")


def cell(tab, row, column, size=7):
    """Where a cell of the level on the canvas is."""
    box = "document.getElementById('board').getBoundingClientRect()"
    left, top, width = tab.value(f"[{box}.left, {box}.top, {box}.width]")
    side = width / (size + 2)
    return left + (column + 1.5) * side, top + (row + 1.5) * side


def status(tab, words):
    tab.until(f"document.getElementById('status').textContent.includes({words!r})")


@needs_browser
@pytest.mark.long
def test_ten_thousand_levels_scroll_with_at_most_two_hundred_elements(tab, studio):
    open_view(tab, studio, "levels?set=" + studio[0].name + "/many.npz")
    tiles, count = "document.querySelectorAll('.tile')", "document.querySelectorAll('.gallery *')"
    for top in (0, 5_000, 60_000, 10**7):
        tab.value(f"document.querySelector('.gallery').scrollTop = {top}")
        tab.until(f"{tiles}.length && [...{tiles}].every(t => t.firstChild.naturalWidth > 0)")
        assert 20 < tab.value(f"{count}.length") <= 200
    tab.until(f"[...{tiles}].some(tile => tile.dataset.caption === '9999')")
    tab.click(".tile")
    tab.until("document.querySelector('dialog .good')?.textContent.startsWith('Solvable')")


@needs_browser
@pytest.mark.long
def test_a_level_is_painted_becomes_unsolvable_and_solvable_again_and_is_saved(tab, studio):
    folder = studio[0]
    open_view(tab, studio, "canvas")
    tab.value("sessionStorage.setItem('dred-drawing', " + json.dumps(ROOM) + ")")
    open_view(tab, studio, "canvas")
    status(tab, "Solvable in 12 steps")
    tab.drag(cell(tab, 3, 0), cell(tab, 3, 3), cell(tab, 3, 6))
    status(tab, "Unsolvable")
    tab.click('[data-tool="."]')
    tab.drag(cell(tab, 3, 6))
    status(tab, "Solvable in 12 steps")
    tab.click('[data-tool="G"]')
    tab.drag(cell(tab, 0, 6))
    status(tab, "Solvable in 6 steps")
    tab.value("document.getElementById('board').focus()")
    tab.ask("Input.dispatchKeyEvent", type="rawKeyDown", key="z", modifiers=2)
    status(tab, "Solvable in 12 steps")
    tab.click(".files .main")
    tab.click("#save")
    tab.until("document.getElementById('toasts').textContent.includes('drawn.npz has 1 levels')")
    drawn = ROOM.splitlines()
    drawn[3] = "######."
    assert [to_text(level) for level in load(folder / "drawn.npz")] == ["\n".join(drawn)]
    tab.ask("Page.reload")
    tab.until("document.getElementById('view')?.dataset.ready === 'canvas'")
    status(tab, "Solvable in 12 steps")
    open_view(tab, studio, f"levels?set={folder.name}/drawn.npz")
    tab.until("document.querySelector('.tile img').naturalWidth > 0")


@needs_browser
@pytest.mark.long
def test_an_agent_plays_is_scrubbed_tried_often_and_followed_by_keys(tab, studio):
    open_view(tab, studio, "canvas?mode=watch")
    said = "document.getElementById('episode').textContent"
    tab.until(f"{said}.startsWith('Step 0 of')")
    tab.click("#step")
    tab.until(f"{said}.startsWith('Step 1 of')")
    tab.value("document.querySelector('[aria-label=\"Steps a second\"]').value = 40")
    tab.click("#play")
    tab.until(f"{said}.includes('It reached the goal')")
    assert tab.value("document.querySelector('.chance.done') !== null") is False  # it has ended
    tab.click("#tries")
    tab.until("document.getElementById('tried').textContent.includes('solved')")
    tab.click('[data-mode="walk"]')
    tab.until(f"{said}.startsWith('Step 0 of 0')")
    tab.key("ArrowUp", 38)
    tab.until(f"{said}.startsWith('Step 1 of 1')")
    tab.key("ArrowLeft", 37)
    tab.until(f"{said}.startsWith('Step 2 of 2')")
    tab.click(".player .row:not([hidden]) button:last-child")
    tab.until(f"{said}.includes('of') && !{said}.startsWith('Step 2 of 2')")


@needs_browser
@pytest.mark.long
def test_an_interpolation_is_dragged_and_the_level_changes(tab, studio):
    open_view(tab, studio, "generator")
    made = "document.getElementById('made').textContent"
    tab.until(f"{made}.startsWith('50 % of the way from level 0 to 1')")
    seen = {tab.value("document.getElementById('between').dataset.text")}
    places = "document.getElementById('map')"
    box = tab.value(f"[{places}.getBoundingClientRect().x, {places}.getBoundingClientRect().y]")

    def place(name):
        found = tab.value(f"{places}.dataset.{name}.split(',').map(Number)")
        return found[0] + box[0], found[1] + box[1]

    first, second = place("first"), place("second")
    tab.drag(place("handle"), second)
    tab.until(f"{made}.startsWith('100 % of the way from level 0 to 1')")
    seen.add(tab.value("document.getElementById('between').dataset.text"))
    tab.value(f"{places}.dispatchEvent(new KeyboardEvent('keydown', {{key: 'ArrowLeft'}}))")
    tab.until(f"{made}.startsWith('98 %')")
    middle = ((first[0] + second[0]) / 2, (first[1] + second[1]) / 2)
    tab.value("(s => { s.value = 0.5; s.dispatchEvent(new Event('input')); })(share)")
    tab.drag(second, middle, first)  # from one level to another
    tab.until(f"{made}.includes('from level 1 to 0')")
    for share in ("0.1", "0.9"):
        tab.value(
            f"(() => {{ const s = document.getElementById('share'); s.value = {share};"
            "s.dispatchEvent(new Event('input')); })()"
        )
        tab.until(f"{made}.startsWith('{int(100 * float(share))} %')")
        seen.add(tab.value("document.getElementById('between').dataset.text"))
    assert len(seen) > 1
    tab.click("#sample")
    tab.until("document.querySelectorAll('.made canvas').length === 12")


@needs_browser
@pytest.mark.long
def test_a_smoke_run_is_started_watched_and_stopped(tab, studio):
    folder, name = studio[0], studio[0].name
    open_view(tab, studio, f"runs?run={name}/old")
    tab.until("document.querySelectorAll('.chart svg').length > 2")
    tab.until("document.querySelectorAll('.buffer .tile').length > 3")
    tab.click("#new-run")
    tab.until("!!document.getElementById('start')")
    chosen = {
        "Method": "plr",
        "Levels": f"{name}/rooms.npz",
        "Preset": "smoke",
        "Updates": "100000",
    }
    for label, value in chosen.items():
        tab.value(
            "(() => { const f = [...document.querySelectorAll('dialog .field')].find(f => "
            f"f.firstChild.textContent === {label!r}).lastChild; f.value = {value!r};"
            "f.dispatchEvent(new Event('change')); })()"
        )
    tab.click("#start")
    row = f"document.querySelector('[data-run=\"{name}/runs/plr\"]')"
    tab.until(f"Number({row}?.querySelector('progress').value) > 0")
    before = tab.value(f"{row}.querySelector('progress').value")
    tab.until(f"{row}.querySelector('progress').value > {before}")
    assert len((folder / "runs" / "plr" / "metrics.jsonl").read_text().splitlines()) > 1
    tab.click("#stop")
    tab.until(f"{row}.textContent.includes('interrupted')")
    assert json.loads((folder / "runs" / "plr" / "run.json").read_text())["status"] == "interrupted"
    tab.until(f"{row}.textContent.includes('Resume')")


@needs_browser
@pytest.mark.long
@pytest.mark.parametrize(
    ("width", "dark", "paper"), [(1400, False, "255, 255, 255"), (420, True, "20, 23, 27")]
)
def test_every_view_fits_in_light_and_dark_wide_and_narrow(tab, studio, width, dark, paper):
    tab.size(width, 860, dark=dark)
    for view in ("levels", "canvas", "generator", "runs", "reports"):
        open_view(tab, studio, view)
        assert tab.value("document.documentElement.scrollWidth - innerWidth") <= 0, view
        assert paper in tab.value("getComputedStyle(document.body).backgroundColor")
        unnamed = "[...document.querySelectorAll('button, input, select, canvas, img')].filter(e =>"
        words = "e.textContent.trim() || e.ariaLabel || e.alt !== undefined || e.labels?.length"
        assert tab.value(f"{unnamed} !e.hidden && !({words})).map(e => e.outerHTML)") == [], view


def test_the_page_asks_nobody_else_and_makes_no_markup_from_text_whatever_the_browser():
    files = {path.name: path.read_text(encoding="utf-8") for path in PAGE.iterdir()}
    assert {"index.html", "style.css", "app.js"} <= set(files)
    for name, text in files.items():
        bare = text.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|@import|\beval\(|\bimport\(\s*['\"]http", bare), name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", text), name
        for other in re.findall(r'from "\./([\w.]+)"', text):
            assert other in files, f"{name} imports {other}"
    assert not re.search(r"<script(?! type=\"module\" src=)|\son\w+=|style=", files["index.html"])
    assert 'name="viewport"' in files["index.html"]
    assert "prefers-color-scheme: dark" in files["style.css"]


def test_the_page_is_in_the_wheel():
    """Hatchling takes every file below the package, unless it is told not to."""
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    wheel = text.partition("[tool.hatch.build.targets.wheel]")[2].partition("[tool.")[0]
    assert wheel.strip() == 'packages = ["src/dred"]'
