"""What is asked at which address, and the part that answers, imported when it is first asked.

Most parts need JAX and compiled programs, which take seconds to import. The page and the list of
what there is need neither, so they are there at once.
"""

import importlib
import threading
from functools import partial
from typing import Any

from starlette.routing import Route

from dred.studio.answers import Asked, Handler, route
from dred.studio.places import Places

# By module, its class, and the addresses that functions of that class answer, each of their name.
ASKED: dict[str, tuple[str, tuple[str, ...]]] = {
    "galleries": ("Galleries", ("POST gallery", "GET picture", "GET level")),
    "drawing": ("Drawing", ("POST inspect", "POST open", "POST save", "GET tiles")),
    "probe": ("Probe", ("GET agents", "POST probe", "POST tries")),
    "guess": ("Guess", ("POST guess",)),
    "latent": ("Latents", ("GET latent", "POST between", "POST sample", "POST mutate")),
    "turnover": ("Turnover", ("GET turnover", "GET lineage")),
    "watch": ("Watch", ("GET runs", "GET curves", "GET settings")),
}


class Parts:
    """The parts of the server, which share what is open."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._made: dict[str, Any] = {}
        self._lock = threading.Lock()

    def routes(self) -> list[Route]:
        """Return what is asked, and who answers."""
        return [
            route(method, name, partial(self.answer, part, name))
            for part, (_, addresses) in ASKED.items()
            for method, name in map(str.split, addresses)
        ]

    def answer(self, part: str, name: str, asked: Asked) -> object:
        """Return what a part has to say."""
        return getattr(self.ready()[part], name)(asked)

    def after(self, handler: Handler) -> Handler:
        """Return a handler that imports some of the same, and so waits until all is imported."""

        def waits(asked: Asked) -> object:
            self.ready()
            return handler(asked)

        return waits

    def ready(self) -> dict[str, Any]:
        """Return all parts, made the first time.

        One thread imports, others wait: two that import modules which need each other would see
        some of them half made.
        """
        with self._lock:
            if not self._made:
                from dred.studio.shelf import Shelf

                shelf = Shelf(self.places)
                self._made = {
                    part: getattr(importlib.import_module(f"dred.studio.{part}"), name)(shelf)
                    for part, (name, _) in ASKED.items()
                }
            return self._made
