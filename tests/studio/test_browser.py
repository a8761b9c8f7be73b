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
from PIL import Image

from dred.levels import draw_level, from_text, load, to_text
from dred.studio.server import PAGE
from dred.tasks.gridworld.levels.dataset import from_levels
from tests.patience import wait_until
from tests.reports.test_browser import CHROMIUM
from tests.studio.browser import browser, windows
from tests.studio.test_probe import GOLDEN
from tests.studio.test_runs import earlier_checkpoint, new_generator

WITHOUT = (
    "NO BROWSER: the studio was NOT used, only its files were looked at. Install one, as by "
    "`apt-get install chromium`, and run the tests again."
)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason=WITHOUT)
MARKUP = "<img src=x onerror=document.title='bad'>"
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
    earlier_checkpoint(folder / "old", 2, {0: 70})
    new_generator(folder / "vae")
    (folder / MARKUP).mkdir()  # a run that cannot be read
    (folder / MARKUP / "run.json").write_text('{"config": {}, "seeds": [0], "task": "x"}')
    (folder / "cut.npz").write_bytes((folder / "rooms.npz").read_bytes()[:-100])
    (folder / "report.html").write_text("<h1>What came of it</h1>")
    command = [sys.executable, "-m", "dred", "studio", "--no-browser"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    address = re.search(r"http://\S+", process.stdout.readline())[0]
    yield folder, address
    process.send_signal(signal.SIGINT)
    process.wait()
    process.stdout.close()


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    with browser(CHROMIUM, tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def tab(studio, opened):
    """A page with nothing from tests before, which asks nobody but the studio and complains not."""
    opened.size(1400, 900)
    opened.ask("Storage.clearDataForOrigin", origin=studio[1][:-1], storageTypes="all")
    opened.complaints.clear(), opened.requests.clear()
    yield opened
    assert opened.complaints == []
    elsewhere = {one for one in opened.requests if not one.startswith((studio[1], "data:"))}
    assert elsewhere <= {"about:blank"}


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


def draw(tab, studio, room=ROOM, mode="draw", more=""):
    """Open the canvas with a drawing."""
    open_view(tab, studio, "canvas")
    tab.value("sessionStorage.setItem('dred-drawing', " + json.dumps(room) + ")")
    open_view(tab, studio, f"canvas?mode={mode}{more}")


def drawn(tab):
    return tab.value("sessionStorage.getItem('dred-drawing')").split("\n")


def choose(tab, selector, value):
    """Choose an option, or write into a field."""
    tab.value(
        f"(() => {{ const e = document.querySelector({selector!r}); e.value = {value!r};"
        "for (const kind of ['input', 'change'])"
        "e.dispatchEvent(new Event(kind, {bubbles: true})); })()"
    )


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
    draw(tab, studio)
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
    tab.until("document.getElementById('toasts').textContent.includes('drawn.npz has 1 level ')")
    rows = ROOM.splitlines()
    rows[3] = "######."
    assert [to_text(level) for level in load(folder / "drawn.npz")] == ["\n".join(rows)]
    tab.ask("Page.reload")
    tab.until("document.getElementById('view')?.dataset.ready === 'canvas'")
    status(tab, "Solvable in 12 steps")
    open_view(tab, studio, f"levels?set={folder.name}/drawn.npz")
    tab.until("document.querySelector('.tile img').naturalWidth > 0")


@needs_browser
@pytest.mark.long
def test_brushes_are_symmetric_strokes_are_undone_fingers_and_keys_paint_too(tab, studio):
    draw(tab, studio)
    status(tab, "Solvable in 12 steps")
    choose(tab, ".draw select", "left-right")
    tab.drag(cell(tab, 2, 1))
    assert drawn(tab)[2] == ".#...#."
    choose(tab, ".draw select", "both")
    tab.drag(cell(tab, 1, 0))
    assert [row[0] + row[6] for row in drawn(tab)] == ["S.", "##", "..", "..", "..", "##", ".G"]
    choose(tab, ".draw select", "turn")
    tab.drag(cell(tab, 4, 3), cell(tab, 4, 4))  # a stroke, which is one step back
    assert (drawn(tab)[2], drawn(tab)[4]) == (".###.#.", "...##..")
    for left in (".#...#.", ".#...#.", "......."):
        tab.click(".draw .row button")
        assert drawn(tab)[2] == left
    assert drawn(tab) == ROOM.split("\n")
    tab.click(".draw .row button:last-child")  # redo
    assert drawn(tab)[2] == ".#...#."
    choose(tab, ".draw select", "none")
    tab.touch(cell(tab, 6, 0), cell(tab, 6, 1), cell(tab, 6, 2))
    assert drawn(tab)[6] == "###...G"
    tab.value("document.getElementById('board').focus()")
    tab.key("4", 52)
    assert tab.value("document.querySelector('[data-tool=\"~\"]').ariaPressed") == "true"
    for name, code in (("ArrowUp", 38), ("ArrowRight", 39), (" ", 32)):
        tab.key(name, code)
    said = tab.value("document.getElementById('cursor').textContent")
    row, column = map(int, re.findall(r"\d+", said))
    assert said.endswith("Lava") and drawn(tab)[row][column] == "~"


@needs_browser
@pytest.mark.long
def test_drawings_are_opened_from_pictures_and_text_and_copied_as_text(tab, studio, tmp_path):
    first, second = ROOM.replace("S......", "S.#~,..", 1), ROOM.replace("S.", "v#", 1)
    draw(tab, studio)
    Image.fromarray(draw_level(from_text(first), cell=16)).save(tmp_path / "level.png")
    tab.give_file(".files input[type=file]", tmp_path / "level.png")
    tab.until("sessionStorage.getItem('dred-drawing').startsWith('S.#~,..')")
    assert "\n".join(drawn(tab)) == first
    (tmp_path / "two.txt").write_text(f"{first}\n\n{second}\n")
    tab.give_file(".files input[type=file]", tmp_path / "two.txt")
    tab.click("dialog .made-one:nth-child(2)")
    tab.until("!document.querySelector('dialog')")  # else it may still lie over the buttons
    assert "\n".join(drawn(tab)) == second
    tab.value("navigator.clipboard.writeText = text => { window.copied = text; }")
    tab.click(".files .row button:nth-child(2)")
    tab.until("window.copied !== undefined")
    assert tab.value("window.copied") == second
    tab.click(".files .row button:nth-child(3)")
    choose(tab, "dialog textarea", "S.&\n..G")
    tab.click("dialog .main")
    tab.until("document.querySelector('dialog [role=alert]').textContent.includes('not a tile')")
    choose(tab, "dialog textarea", "S..\n..G")
    tab.click("dialog .main")
    tab.until("!document.querySelector('dialog')")
    assert drawn(tab) == ["S..", "..G"]


@needs_browser
@pytest.mark.long
def test_an_agent_plays_is_scrubbed_tried_often_and_followed_by_keys(tab, studio):
    draw(tab, studio, mode="watch")
    said = "document.getElementById('episode').textContent"
    tab.until(f"{said}.startsWith('Step 0 of')")
    tab.click("#step")
    tab.until(f"{said}.startsWith('Step 1 of')")
    tab.value("document.querySelector('[aria-label=\"Steps a second\"]').value = 40")
    tab.click("#play")
    tab.until(f"{said}.includes('It reached the goal')")
    assert tab.value("document.querySelector('.chance.done') !== null") is False  # it has ended
    choose(tab, ".player input[type=range]", "2")  # scrubbed
    assert tab.value(said).startswith("Step 2 of")
    pixels = "document.getElementById('board').toDataURL()"
    before = tab.value(pixels)
    tab.click("#tries")
    tab.until("document.getElementById('tried').textContent.includes('solved')")
    with_heat = tab.value(pixels)
    tab.click("#tried input")
    assert with_heat != before == tab.value(pixels)
    length = tab.value(said)
    tab.click('[data-tool="#"]')  # paint in the middle of it, and it plays on in the new level
    tab.drag(cell(tab, 1, 0), cell(tab, 1, 5))
    tab.until(f"{said}.startsWith('Step 0 of') && {said} !== {length!r}")
    assert tab.value("document.getElementById('tried').textContent") == ""
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
def test_the_memory_of_a_run_s_agent_is_asked_which_level_it_is_in(tab, studio):
    folder = studio[0]
    known = to_text(load(folder / "old" / "train.npz")[1])
    draw(tab, studio, known, "watch", f"&agent=run:{folder.name}/old")
    tab.click("#guess")
    said = "document.getElementById('guessed').textContent"
    tab.until(f"/^Level [0-9]+ with/.test({said}) && {said}.includes('training levels')")
    assert re.search(r"That is the level it is in|It is in level 1, to which", tab.value(said))
    assert tab.value("!!document.querySelector('.mind figure canvas[aria-label^=Training]')")
    choose(tab, ".player select", "vae-dred")  # whose training levels are not known
    tab.until("document.getElementById('guess').closest('.player > div').hidden")


@needs_browser
@pytest.mark.long
def test_an_interpolation_is_dragged_and_the_level_changes(tab, studio):
    open_view(tab, studio, "generator")
    made = "document.getElementById('made').textContent"
    tab.until(f"{made}.startsWith('50 % of the way from level 0 to ')")
    far = int(re.search(r"to (\d+)", tab.value(made))[1])
    seen = {tab.value("document.getElementById('between').dataset.text")}
    places = "document.getElementById('map')"
    box = tab.value(f"[{places}.getBoundingClientRect().x, {places}.getBoundingClientRect().y]")

    def place(name):
        found = tab.value(f"{places}.dataset.{name}.split(',').map(Number)")
        return found[0] + box[0], found[1] + box[1]

    first, second = place("first"), place("second")
    tab.drag(place("handle"), second)
    tab.until(f"{made}.startsWith('100 % of the way from level 0 to {far}:')")
    seen.add(tab.value("document.getElementById('between').dataset.text"))
    tab.value(f"{places}.dispatchEvent(new KeyboardEvent('keydown', {{key: 'ArrowLeft'}}))")
    tab.until(f"{made}.startsWith('98 %')")
    middle = ((first[0] + second[0]) / 2, (first[1] + second[1]) / 2)
    tab.value("(s => { s.value = 0.5; s.dispatchEvent(new Event('input')); })(share)")
    tab.drag(second, middle, first)  # from one level to another
    tab.until(f"{made}.includes('from level {far} to 0')")
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
    tab.until("document.querySelectorAll('[data-bars=histogram] rect').length === 10")
    tab.until("document.querySelectorAll('#turnover, .strip .made-one img').length > 2")
    tab.until("document.getElementById('turnover').textContent.includes('1 level entered')")
    tab.click(".strip .made-one")
    tab.until("!!document.querySelector('.lineage canvas')")
    assert "num_updates = 6" in tab.value("document.getElementById('settings').textContent")
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
            "f.dispatchEvent(new Event('input')); f.dispatchEvent(new Event('change')); })()"
        )
    tab.until("document.getElementById('preview').textContent.includes('num_updates = 100000')")
    tab.click("#start")
    row = f"document.querySelector('[data-run=\"{name}/runs/plr\"]')"
    tab.until(f"Number({row}?.querySelector('progress').value) > 0")
    before = tab.value(f"{row}.querySelector('progress').value")
    tab.value(f"{row}.querySelector('input').focus()")
    tab.until(f"{row}.querySelector('progress').value > {before}")
    assert tab.value(f"document.activeElement === {row}.querySelector('input')")  # not lost
    tab.until("document.querySelectorAll('.chart').length > 8")
    assert len((folder / "runs" / "plr" / "metrics.jsonl").read_text().splitlines()) > 1
    tab.click("#stop")
    tab.until(f"{row}.textContent.includes('interrupted')")
    assert json.loads((folder / "runs" / "plr" / "run.json").read_text())["status"] == "interrupted"
    tab.until(f"{row}.textContent.includes('Resume')")


@needs_browser
@pytest.mark.long
def test_two_pages_see_the_same_run_and_each_can_stop_it(studio, tmp_path):
    name = studio[0].name
    asked = {"method": "plr", "preset": "smoke", "levels": f"{name}/rooms.npz"}
    asked |= {"out": f"{name}/both", "updates": 100_000}
    row = f"document.querySelector('[data-run=\"{name}/both\"]')"
    with windows(CHROMIUM, tmp_path, 2) as (first, second):
        for one in (first, second):
            open_view(one, studio, "runs")
        body = f"{{method: 'POST', body: {json.dumps(json.dumps(asked))}}}"
        assert first.value(f"fetch('api/train', {body}).then(told => told.ok)")
        for one in (first, second):
            one.until(f"Number({row}?.querySelector('progress').value) > 0")
        second.click("#stop")
        for one in (first, second):
            one.until(f"{row}.textContent.includes('interrupted')")
            assert one.complaints == []


@needs_browser
@pytest.mark.long
def test_a_report_is_shown_inside_and_markup_in_names_and_damage_are_words(tab, studio):
    name = studio[0].name
    open_view(tab, studio, "reports")
    tab.until("document.querySelector('iframe').sandbox.length === 0")

    def frames():  # one that may do nothing is a process of its own
        targets = tab.ask("Target.getTargets")["targetInfos"]
        return [one["url"] for one in targets if one["type"] == "iframe"]

    wait_until(lambda: any("api/report" in url for url in frames()))
    open_view(tab, studio, "runs")
    row = (
        f"[...document.querySelectorAll('tr')].find(r => r.dataset.run === {f'{name}/{MARKUP}'!r})"
    )
    tab.until(f"{row}.querySelector('.badge').textContent === 'unreadable'")
    assert "missing" in tab.value(f"{row}.nextSibling.textContent")
    assert tab.value(f"{row}.querySelector('th').textContent") == MARKUP
    assert tab.value("document.images.length + document.title") == "1runs · dred studio"
    open_view(tab, studio, f"levels?set={name}/cut.npz")
    tab.until("document.querySelector('.pane [role=alert]').textContent.includes('cut.npz')")
    assert "damaged" in tab.value("document.querySelector('.sets [aria-current]').textContent")
    refused = [one for one in tab.complaints if "status of 400" in one]  # as browsers always say
    assert tab.complaints == refused and len(refused) == 1
    tab.complaints.clear()


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
        current = "[...document.querySelectorAll('nav [aria-current=page]')].map(e => e.hash)"
        assert tab.value(current) == [f"#{view}"]


@needs_browser
@pytest.mark.long
def test_the_page_is_used_by_keys_alone_and_stands_still_if_asked_to(tab, studio):
    tab.size(1400, 900, still=True)
    open_view(tab, studio, "levels?set=" + studio[0].name + "/rooms.npz")
    tab.until("document.querySelectorAll('.tile').length === 4")
    assert tab.value(
        "getComputedStyle(document.querySelector('.tile img')).transitionDuration"
    ) in (
        "0s",
        "0s, 0s",
    )
    focused = "document.activeElement"
    tab.key("Tab", 9)
    assert tab.value(f"{focused}.className") == "skip"
    tab.value(f"{focused}.click()")
    assert tab.value(f"{focused}.id") == "view"
    tab.value("document.querySelector('nav a:nth-child(5)').click()")  # to another view
    tab.until(f"document.getElementById('view').dataset.ready === 'reports' && {focused}.id")
    tab.value("history.back()")
    tab.until("document.querySelectorAll('.tile').length === 4")
    tab.value("document.querySelector('.tile').focus()")
    for name, code in (("ArrowRight", 39), ("Enter", 13)):
        tab.key(name, code)
    assert tab.value(f"{focused}.ariaLabel") == "level 1"


@needs_browser
@pytest.mark.long
def test_the_first_view_asks_for_little_before_it_is_painted(tab, studio):
    """Few requests, small files, and no answer that waits for what is compiled."""
    open_view(tab, studio, "levels")
    entries = "performance.getEntriesByType('resource')"
    first = f"{entries}.filter(e => !/api.(gallery|picture|tiles)/.test(e.name))"
    assert tab.value(f"{first}.length") <= 14
    assert tab.value(f"{first}.reduce((sum, e) => sum + e.decodedBodySize, 0)") < 100_000
    assert tab.value("performance.getEntriesByName('first-contentful-paint').length") == 1


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
