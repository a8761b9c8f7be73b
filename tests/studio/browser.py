"""A real browser, driven by the Chrome DevTools protocol over one web socket."""

import base64
import json
import re
import subprocess
from contextlib import ExitStack, contextmanager

from websockets.sync.client import connect

from tests.patience import PATIENCE, wait_until

# Nobody answers pings while a test does something else.
ALWAYS = {"max_size": None, "proxy": None, "ping_interval": None}
# What goes wrong in a page, wherever it is said.
COMPLAINTS = {"Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"}


class Tab:
    """One page."""

    def __init__(self, socket):
        self.socket, self.number = socket, 0
        self.complaints, self.requests = [], []

    def ask(self, method, **given):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": given}))
        while True:
            told = json.loads(self.socket.recv(timeout=PATIENCE))
            if told.get("id") == self.number:
                assert "error" not in told, told["error"]
                return told["result"]
            self.note(told)

    def note(self, told):
        said = told.get("params", {})
        if told["method"] == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        if told["method"] in COMPLAINTS and said.get("type", "error") in ("error", "warning"):
            self.complaints.append(json.dumps(said)[:600])

    def value(self, script):
        """Return what a script gives, after any promise of it is kept."""
        given = {"expression": script, "awaitPromise": True, "returnByValue": True}
        told = self.ask("Runtime.evaluate", **given)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def until(self, script):
        """Wait until a script gives what is true, and return that."""
        found = []
        wait_until(lambda: found.append(self.value(script)) or found[-1])
        return found[-1]

    def go(self, address):
        self.ask("Page.navigate", url=address)

    def size(self, width, height, *, dark=False, still=False):
        scale = {"deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, **scale)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        motion = {"name": "prefers-reduced-motion", "value": "reduce" if still else ""}
        self.ask("Emulation.setEmulatedMedia", features=[scheme, motion])

    def mouse(self, kind, x, y):
        button = {"button": "left", "buttons": 0 if kind == "mouseReleased" else 1, "clickCount": 1}
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def drag(self, *places):
        """Press at the first place, move through the others, and let go at the last."""
        self.mouse("mousePressed", *places[0])
        for place in places[1:]:
            self.mouse("mouseMoved", *place)
        self.mouse("mouseReleased", *places[-1])

    def touch(self, *places):
        """The same with a finger."""
        self.ask("Emulation.setTouchEmulationEnabled", enabled=True)
        for kind, place in zip(["touchStart"] + ["touchMove"] * 99, places, strict=False):
            points = [{"x": place[0], "y": place[1]}]
            self.ask("Input.dispatchTouchEvent", type=kind, touchPoints=points)
        self.ask("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        self.ask("Emulation.setTouchEmulationEnabled", enabled=False)

    def give_file(self, selector, path):
        """Choose a file, as in the dialog of an input."""
        root = self.ask("DOM.getDocument")["root"]["nodeId"]
        node = self.ask("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.ask("DOM.setFileInputFiles", nodeId=node, files=[str(path)])

    def click(self, selector):
        """Click in the middle of an element."""
        self.until(f"!!document.querySelector({selector!r})")
        box = self.value(
            f"(() => {{ const e = document.querySelector({selector!r}); e.scrollIntoView("
            "{block: 'center'}); const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        self.drag(box)

    def key(self, name, code=0):
        for kind in ("rawKeyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=name, windowsVirtualKeyCode=code)

    def picture(self, path):
        told = self.ask("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(told["data"]))


@contextmanager
def browser(program, folder):
    """Open a browser with an empty profile, and give its only page."""
    with windows(program, folder, 1) as (page,):
        yield page


@contextmanager
def windows(program, folder, count):
    """Open a browser with an empty profile, and give so many pages, each in a window of its own."""
    command = [
        *(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--remote-debugging-port=0", f"--user-data-dir={folder}", "--no-first-run"),
        *("--disable-background-networking", "--disable-sync", "about:blank"),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        found = None
        while found is None:
            line = process.stderr.readline()
            assert line, "the browser did not start"
            found = re.search(r"ws://[^/]+/devtools/browser/\S+", line)
        with connect(found[0], **ALWAYS) as whole, ExitStack() as opened:
            first = Tab(whole)
            for _ in range(count - 1):
                first.ask("Target.createTarget", url="about:blank", newWindow=True)
            targets = first.ask("Target.getTargets")["targetInfos"]
            start = found[0].split("/devtools")[0]
            pages = []
            for one in targets:
                if one["type"] == "page":
                    address = f"{start}/devtools/page/{one['targetId']}"
                    socket = opened.enter_context(connect(address, **ALWAYS))
                    pages.append(Tab(socket))
            for page in pages:
                for domain in ("Page", "Runtime", "Log", "Network"):
                    page.ask(f"{domain}.enable")
            yield pages
    finally:
        process.terminate()
        process.wait()
        process.stderr.close()
