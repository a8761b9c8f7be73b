"""The page in a real browser: every picture loads, nothing is wrong, and it fits."""

import json
import re
import shutil
import subprocess

import pytest

from tests.patience import PATIENCE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")

# Added to a copy of the page, which has no script of its own.
WATCH = """
<script>
addEventListener("load", () => {  // which is when every picture has loaded, or could not
  const pictures = [...document.images];
  const facts = {
    pictures: pictures.length,
    broken: pictures.filter(p => !p.complete || !p.naturalWidth).map(p => p.alt),
    without_alt: pictures.filter(p => !p.hasAttribute("alt")).length,
    wider: document.documentElement.scrollWidth - innerWidth,
    paper: getComputedStyle(document.body).backgroundColor,
    requests: performance.getEntriesByType("resource").filter(r => !r.name.startsWith("data:"))
      .map(r => r.name),
    cut_menus: [...document.querySelectorAll("nav ul")]
      .filter(menu => menu.scrollWidth > menu.clientWidth).length,
    without_sign: [...document.querySelectorAll(".scroll")]
      .filter(part => !getComputedStyle(part).backgroundImage.includes("gradient")).length,
    swatches: [...document.querySelectorAll(".legend img")]
      .map(swatch => getComputedStyle(swatch).boxShadow),
    targets: [...document.querySelectorAll("nav a")]
      .filter(a => !document.querySelector(a.getAttribute("href"))).length,
  };
  document.title = "FACTS" + JSON.stringify(facts);
});
</script>
"""


def look(page, width, *, dark=False):
    """What the browser makes of a page."""
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    command = [
        *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--enable-logging=stderr", "--virtual-time-budget=10000", f"--window-size={width},900"),
        *(f"--user-data-dir={page.parent / f'profile-{width}-{dark}'}", *scheme),
        *("--dump-dom", page.as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    told = re.search(r"<title>FACTS(.*?)</title>", done.stdout)
    assert told, done.stderr[-2000:]
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(told[1]), said


@pytest.mark.parametrize(
    ("width", "dark", "paper"),
    [(1400, False, "rgb(255, 255, 255)"), (500, True, "rgb(20, 23, 27)")],
)
def test_looks_every_picture_loads_and_nothing_is_wrong(report, tmp_path, width, dark, paper):
    page = tmp_path / "page.html"
    text = (report / "report.html").read_text(encoding="utf-8")
    page.write_text(text.replace("</body>", f"{WATCH}</body>"), encoding="utf-8")
    facts, said = look(page, width, dark=dark)
    assert facts["pictures"] > 50
    assert facts["broken"] == [] and facts["without_alt"] == 0
    assert facts["requests"] == [] and facts["targets"] == 0
    assert facts["wider"] <= 0
    assert facts["paper"] == paper
    assert facts["cut_menus"] == 0 or width < 960  # looks: on narrow pages it scrolls, with a sign
    assert facts["without_sign"] == 0
    assert facts["swatches"] and "none" not in facts["swatches"]  # dark tiles on dark pages
    assert said == []
