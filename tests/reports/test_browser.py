"""The page in a real browser: every picture loads, nothing is wrong, and it fits.

Any Chromium will do: `apt-get install chromium` on Debian. Without one, the same facts are read
from the page itself, but for those of layout.
"""

import base64
import io
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree

import pytest
from PIL import Image

from tests.patience import PATIENCE

BROWSERS = ("chromium", "chromium-browser", "chrome", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
WITHOUT = (
    "NO BROWSER: how pages look was NOT tested, only what is in them. Install one, as by "
    "`apt-get install chromium`, and run the tests again."
)

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


@pytest.mark.skipif(CHROMIUM is None, reason=WITHOUT)
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


class Seen(HTMLParser):
    """What a page shows, links to and asks for."""

    def __init__(self, text):
        super().__init__()
        self.pictures, self.names, self.links, self.asked, self.path = [], set(), [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.path.append(tag)
        if "id" in found:
            self.names.add(found["id"])
        if tag == "img":
            self.pictures.append(found)
        if tag == "a" and "nav" in self.path:
            self.links.append(found["href"])
        wanted = found.get("src", "") if tag != "link" else found.get("href", "")
        if wanted and not wanted.startswith("data:"):
            self.asked.append(wanted)

    def handle_endtag(self, tag):
        if tag in self.path:
            while self.path.pop() != tag:
                pass


def size_of(source):
    """How large a picture is that stands in the page itself; an error if it is none."""
    head, body = source.removeprefix("data:").split(",", 1)
    data = base64.b64decode(body) if head.endswith(";base64") else unquote_to_bytes(body)
    if head.startswith("image/svg+xml"):
        box = ElementTree.fromstring(data).get("viewBox", "")
        return tuple(float(number) for number in box.split()[2:])
    with Image.open(io.BytesIO(data)) as picture:
        picture.load()
        return picture.size


def test_every_picture_can_be_read_and_nothing_is_asked_for_whatever_the_browser(report):
    text = (report / "report.html").read_text(encoding="utf-8")
    seen = Seen(text)
    assert len(seen.pictures) > 50
    assert all("alt" in picture for picture in seen.pictures)
    assert all(min(size_of(picture["src"])) > 0 for picture in seen.pictures)
    assert seen.asked == [] and not re.search(r"url\((?!['\"]?(?:data:|#))|@import", text)
    assert seen.links and all(link.removeprefix("#") in seen.names for link in seen.links)
    assert 'name="viewport"' in text and "prefers-color-scheme: dark" in text
