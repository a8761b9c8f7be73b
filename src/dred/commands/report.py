"""`dred report`: what runs have to say, on one page."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dred.errors import ConfigError


@dataclass(frozen=True)
class Report:
    """Compare evaluated runs: one page with tables, figures, levels and episodes.

    Runs of the same method are its seeds. The page needs no network and no other file; tables (CSV,
    Markdown) and figures (SVG) are also written beside it. Evaluate the runs first.

    For example:
      dred report runs/plr --out report
      dred report runs/plr-0 runs/plr-1 runs/vae-dred --out report
    """

    paths: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folders."""
    out: Path
    """The folder to write. It must not exist yet, or be a former report, which is replaced."""
    episodes: int = 2
    """Episodes to show of each method; 0 for none."""
    seed: int = 0
    """Decides which runs are resampled for intervals, and how episodes go."""

    def run(self) -> None:
        """Read, compute, write."""
        from dred.compute import keep_compiled_programs
        from dred.config import check_seed
        from dred.progress import bar
        from dred.reports.content import compute, steps_of
        from dred.reports.gather import gather
        from dred.reports.write import check_place, write_report

        if self.episodes < 0:
            raise ConfigError(f"--episodes (={self.episodes}) must be 0 or more.")
        keep_compiled_programs()
        seed = check_seed(self.seed)
        check_place(self.out)
        material = gather(self.paths)
        with bar("Report", steps_of(material), unit="steps") as advance:
            content = compute(material, seed=seed, episodes=self.episodes, advance=advance)
        page = write_report(content, self.out)
        for note in content.notes:
            print(f"note: {note}")
        agents = sum(len(method.trainings) for method in material.methods)
        print(
            f"{page}: {len(material.methods)} methods, {agents} agents, {len(content.tables)} "
            f"tables, {len(content.drawings)} figures"
        )
