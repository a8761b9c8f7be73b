"""How quick the studio is in a real browser, and what watching costs a training.

python docs/measure_studio.py page gallery agent      # a minute
python docs/measure_studio.py training                # minutes, on a quiet machine

From the folder of a checkout, with Chromium. Each number is the median of repeats, with the lowest
and the highest, or says what it is.
"""

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # for the tests' way to drive a browser

from dred.levels import from_levels, from_text, make  # noqa: E402
from tests.reports.test_browser import CHROMIUM  # noqa: E402
from tests.studio.browser import Tab, browser, windows  # noqa: E402

DRED = (sys.executable, "-m", "dred")
MANY, SIDE = 10_000, 13
WALK = 200  # steps
BLOCK, SETTLING = 8, 2  # chunks without pages, then with; the first of each do not count


def many_levels(path: Path) -> None:
    """Save as many levels as are to be scrolled through, all different."""
    rng = np.random.default_rng(0)
    drawings: list[str] = []
    for _ in range(MANY):
        cells = rng.choice(list("......##,,~"), size=SIDE**2)
        cells[rng.choice(SIDE**2, 2, replace=False)] = "S", "G"
        drawings.append("\n".join(map("".join, cells.reshape(SIDE, SIDE))))
    from_levels(map(from_text, drawings), structure="random").save(path)


@contextmanager
def studio(folder: Path) -> Iterator[str]:
    """Serve a folder as in a terminal, and give the address."""
    command = [*DRED, "studio", "--no-browser"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        yield found[0]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def opened(tab: Tab, address: str, view: str) -> None:
    """Open a view anew, and wait until it is there."""
    tab.go("about:blank")
    tab.go(f"{address}#{view}")
    name = view.partition("?")[0]
    tab.until(f"document.getElementById('view')?.dataset.ready === {name!r}")


def told(what: str, values: list[float], unit: str = "ms") -> None:
    """Print the median of some numbers, with the lowest and the highest."""
    low, middle, high = min(values), statistics.median(values), max(values)
    print(f"{what}: {middle:.1f} {unit} ({low:.1f} to {high:.1f}, of {len(values)})", flush=True)


def page(tab: Tab, address: str, view: str, repeats: int) -> None:
    """Measure how soon something is painted, and all that is in sight."""
    tiles = "[...document.querySelectorAll('.tile img')]"
    first: list[float] = []
    whole: list[float] = []
    for _ in range(repeats + 1):  # the first warms up
        tab.ask("Network.clearBrowserCache")
        opened(tab, address, view)
        tab.until(f"{tiles}.length > 20 && {tiles}.every(one => one.naturalWidth)")
        paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
        entries = "performance.getEntriesByType('resource').map(one => one.responseEnd)"
        first.append(tab.value(paint))
        whole.append(tab.value(f"Math.max(...{entries})"))
    told("first paint, empty cache", first[1:])
    told(f"every picture in sight of {MANY:,} levels", whole[1:])


SCROLL = """new Promise(done => {
  const node = document.querySelector('.gallery'), times = [], counts = [];
  let before = null;
  const frame = now => {
    if (before !== null) times.push(now - before);
    before = now;
    counts.push(document.querySelectorAll('.gallery *').length);
    node.scrollTop += STEP;
    if (times.length < FRAMES) requestAnimationFrame(frame);
    else done({ times, most: Math.max(...counts), at: node.scrollTop });
  };
  requestAnimationFrame(frame);
})"""


def gallery(tab: Tab, address: str, view: str, _: int) -> None:
    """Measure the times between frames while the gallery scrolls."""
    opened(tab, address, view)
    for name, step in (("20 pixels a frame", 20), ("150 pixels a frame", 150)):
        tab.value("document.querySelector('.gallery').scrollTop = 0")
        found = tab.value(SCROLL.replace("STEP", str(step)).replace("FRAMES", "300"))
        times = np.array(found["times"])
        late = (times > 33.4).mean()
        print(
            f"scrolling {name}: frames every {np.median(times):.1f} ms, 95 % within "
            f"{np.quantile(times, 0.95):.1f} ms, at most {times.max():.1f} ms, {late:.1%} later "
            f"than two frames; at most {found['most']} elements",
            flush=True,
        )


ASK = """(async () => {
  const text = sessionStorage.getItem('dred-drawing'), actions = [], took = [], served = [];
  for (let step = 0; step <= STEPS; step++) {
    const since = Math.max(0, step - 1), agent = 'vae-dred';
    const body = JSON.stringify({ text, agent, seed: 0, actions, stops: true, since });
    const began = performance.now();
    await (await fetch('api/probe', { method: 'POST', body })).json();
    took.push(performance.now() - began);
    const entry = performance.getEntriesByType('resource').filter(e => e.name.endsWith('probe'));
    served.push(entry.at(-1).responseStart - entry.at(-1).requestStart);
    performance.clearResourceTimings();
    actions.push(step % 2 ? 0 : 1);
  }
  return { took, served };
})()"""
PRESS = """new Promise(done => {
  const said = document.getElementById('episode'), began = performance.now();
  const wait = new MutationObserver(() => {
    if (!said.textContent.startsWith('Step NUMBER of NUMBER')) return;
    wait.disconnect();
    requestAnimationFrame(() => done(performance.now() - began));
  });
  wait.observe(said, { childList: true, characterData: true, subtree: true });
  document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'KEY', bubbles: true }));
})"""


def agent(tab: Tab, address: str, _: str, __: int) -> None:
    """Measure a step of an agent in the level on the canvas: asked for, and from key to picture."""
    opened(tab, address, "canvas?mode=walk")
    tab.until("document.getElementById('episode').textContent.startsWith('Step 0')")
    tab.value("sessionStorage.setItem('dred-drawing', '" + "\\n".join(room()) + "')")
    found = tab.value(ASK.replace("STEPS", str(WALK)))
    told("an agent's step, in the server", found["served"][1:])
    told("an agent's step, there and back", found["took"][1:])
    opened(tab, address, "canvas?mode=walk")
    tab.until("document.getElementById('episode').textContent.startsWith('Step 0')")
    keys = [
        tab.value(PRESS.replace("NUMBER", str(number)).replace("KEY", "ad"[number % 2]))
        for number in range(1, WALK + 1)
    ]
    told("an agent's step, from the key to the picture", keys)


def room() -> list[str]:
    """Return the drawing of an empty room."""
    rows = ["." * SIDE] * (SIDE - 2)
    return ["S" + "." * (SIDE - 1), *rows, "." * (SIDE - 1) + "G"]


def training(folder: Path, blocks: int, preset: str, method: str, *, buffer: bool) -> None:
    """Measure the chunks of one run, in turns without pages and with two that watch it."""
    make("cave-escape-train").save(folder / "train.npz")
    words = ["train", method, "--levels", "train.npz", "--preset", preset, "--out", "run"]
    command = [*DRED, *words, "--updates", "100000"]
    file = folder / "run" / "metrics.jsonl"
    with ExitStack() as stack:
        address = stack.enter_context(studio(folder))
        pages = stack.enter_context(windows(CHROMIUM, folder / "profile", 2))
        for one in pages:  # what nobody hears is not to be told
            for domain in ("Network", "Log"):
                one.ask(f"{domain}.disable")
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
        stack.callback(process.wait)
        stack.callback(process.send_signal, signal.SIGINT)
        wait_for_rows(file, 2)
        seconds: dict[bool, list[list[float]]] = {False: [], True: []}
        for block in range(2 * blocks):
            watched = block % 2 == 1
            for one in pages:
                if watched:
                    opened(one, address, f"runs?run={folder.name}/run")
                    assert one.value("document.visibilityState") == "visible"
                    if buffer:
                        one.until("document.querySelectorAll('.buffer .tile').length > 3")
                        one.value("document.querySelector('.buffer').scrollIntoView()")
                else:
                    one.go("about:blank")
            rows = wait_for_rows(file, len(rows_of(file)) + BLOCK)
            seconds[watched].append([row["seconds_per_update"] for row in rows[SETTLING - BLOCK :]])
    for watched, found in seconds.items():
        every = [1e3 * second for block in found for second in block]
        told(f"an update, {'two pages open' if watched else 'no page'}", every)
    pairs = zip(seconds[True], seconds[False], strict=True)
    slower = [100 * (statistics.median(one) / statistics.median(other) - 1) for one, other in pairs]
    told("slower with two pages, by blocks side by side", slower, "%")
    whole = {
        watched: statistics.mean(map(statistics.mean, found)) for watched, found in seconds.items()
    }
    print(f"slower by the means of all: {100 * (whole[True] / whole[False] - 1):.1f} %")


def rows_of(file: Path) -> list[dict[str, float]]:
    """Return the whole lines of a file of measurements."""
    text = file.read_text() if file.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def wait_for_rows(file: Path, count: int) -> list[dict[str, float]]:
    """Wait until so many lines are there."""
    while len(rows_of(file)) < count:
        time.sleep(0.05)
    return rows_of(file)


MEASURES = {"page": page, "gallery": gallery, "agent": agent}


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="+", choices=(*MEASURES, "training"))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--blocks", type=int, default=6, help="of the training, without and with")
    parser.add_argument("--preset", default="laptop")
    parser.add_argument("--method", default="plr")
    parser.add_argument("--buffer", action="store_true", help="scroll to the levels in the buffer")
    given = parser.parse_args()
    if CHROMIUM is None:
        sys.exit("This needs Chromium: apt-get install chromium.")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        if wanted := [one for one in given.what if one != "training"]:
            many_levels(folder / "many.npz")
            with studio(folder) as address, browser(CHROMIUM, folder / "profile") as tab:
                tab.size(1400, 900)
                for one in wanted:
                    view = f"levels?set={folder.name}/many.npz"
                    MEASURES[one](tab, address, view, given.repeats)
        if "training" in given.what:
            training(folder, given.blocks, given.preset, given.method, buffer=given.buffer)


if __name__ == "__main__":
    main()
