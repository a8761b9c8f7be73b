"""`dred studio`: the page on this machine."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import tyro

from dred.errors import ConfigError


@dataclass(frozen=True)
class Studio:
    """Open a page on levels, generators and runs: look, draw, let agents play, watch them train.

    It is served on this machine alone, at an address that nobody can guess, until Ctrl-C.

    For example:
      dred studio
      dred studio runs/vae-dred
      dred studio --port 8080 --no-browser
    """

    folders: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN")] = ()
    """Run folders, or folders with runs, levels and generators; this folder if none is given."""
    port: int = 0
    """Where to serve; any port that is free if it is 0."""
    no_browser: bool = False
    """Do not open a browser, only print the address."""

    def run(self) -> None:
        """Serve until Ctrl-C."""
        if not 0 <= self.port < 65536:
            raise ConfigError(f"--port (={self.port}) must be from 0 to 65535.")
        if not all(map(find_spec, ("starlette", "uvicorn"))):
            from dred.extras import how_to_install

            raise ConfigError(
                f"dred studio needs Starlette and uvicorn. Install them: {how_to_install('studio')}"
            )
        from dred.studio.server import serve

        serve(self._served(), port=self.port, tell=self._tell)

    def _served(self) -> list[Path]:
        """Return the folders; this one too if only runs are given, as new files need a place."""
        if any(not (folder / "run.json").exists() for folder in self.folders):
            return list(self.folders)
        return [*self.folders, Path()]

    def _tell(self, address: str) -> None:
        print(f"dred studio: {address}\nCtrl-C ends it.", flush=True)
        if not self.no_browser:
            import webbrowser

            webbrowser.open(address)
