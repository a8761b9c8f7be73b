"""`dred report`: what runs have to say, on one page."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dred.commands.options import Plugins
from dred.errors import ConfigError


@dataclass(frozen=True)
class Report:
    """Compare evaluated runs: one page with tables, figures, levels and episodes.

    Runs of the same method are its seeds, unless their settings differ: then they are told apart.
    The page needs no network and no other file; tables (CSV, Markdown) and figures (SVG) are also
    written beside it. Evaluate the runs first.

    For example:
      dred report runs/plr --out report
      dred report runs/plr-0 runs/plr-1 runs/vae-dred --out report --title "Does a model help?"
    """

    paths: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folders."""
    out: Path
    """The folder to write. It must not exist yet, or be a former report, which is replaced."""
    plugins: Plugins = ()
    """Plug-ins, if those that runs note are elsewhere now or have changed."""
    episodes: int = 2
    """Episodes to show of each method; 0 for none."""
    seed: int = 0
    """Decides which runs are resampled for intervals, and how episodes go."""
    title: str = ""
    """The title of the page, instead of the names of the methods."""

    def run(self) -> None:
        """Read, compute, write."""
        from dred.compute import keep_compiled_programs
        from dred.config import check_seed
        from dred.plugins import load_plugins
        from dred.progress import bar
        from dred.reports.content import compute, steps_of
        from dred.reports.gather import gather, own_report
        from dred.reports.kit.folder import check_place
        from dred.reports.write import write_report

        if self.episodes < 0:
            raise ConfigError(f"--episodes (={self.episodes}) must be 0 or more.")
        load_plugins(self.plugins)
        keep_compiled_programs()
        seed = check_seed(self.seed)
        check_place(self.out)
        own = own_report(self.paths)
        if own is not None:
            print(own(self.paths, self.out, seed=seed))
            return
        material = gather(self.paths)
        with bar("Report", steps_of(material), unit="steps") as advance:
            content = compute(material, seed=seed, episodes=self.episodes, advance=advance)
        page = write_report(content, self.out, title=self.title)
        for note in content.notes:
            print(f"note: {note}")
        agents = sum(len(method.trainings) for method in material.methods)
        print(
            f"{page}: {len(material.methods)} methods, {agents} agents, {len(content.tables)} "
            f"tables, {len(content.drawings)} figures"
        )
