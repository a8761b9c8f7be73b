"""`dred demo`: the whole story, small."""

import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dred.errors import ConfigError, lookup

COUNT, SIZE, EPOCHS = 256, 11, 100  # levels, tiles along a side, passes in fitting


@dataclass(frozen=True)
class Demo:
    """Make levels, learn to make more like them, train an agent, and show what came of it.

    It takes some minutes on two cores and ends with a page, OUT/report.html. If it is interrupted,
    the same command goes on.

    For example:
      dred demo
      dred demo --out demo-1 --seed 1
    """

    out: Path = Path("demo")
    """The folder to fill."""
    preset: str = "demo"
    """How long to train: demo (a few minutes) or smoke (seconds, which teaches nothing)."""
    seed: int = 0
    """Another seed gives other levels and another agent."""

    def run(self) -> None:
        """All stages; what is there already is not done again."""
        from dred.compute import keep_compiled_programs
        from dred.config import check_seed
        from dred.tasks.gridworld.presets import GRIDWORLD_BUDGETS

        check_seed(self.seed)
        lookup(GRIDWORLD_BUDGETS, self.preset, what="preset")
        keep_compiled_programs()
        self._claim()
        begun = time.monotonic()
        with stage(1, "Making levels (the first time, code is compiled for half a minute)"):
            self._make_levels()
        with stage(2, "Fitting a model of the training levels"):
            self._fit()
        with stage(3, "Training an agent on the levels and on new ones like them"):
            self._train()
        with stage(4, "Playing levels that it has never seen"):
            self._evaluate()
        with stage(5, "Writing the page"):
            self._report()
        seconds = time.monotonic() - begun
        print(f"\n{self.out / 'report.html'}: open it in a browser ({seconds:.0f} s in all)")

    def _claim(self) -> None:
        """Make the folder this demo's own."""
        from dred.files import write_text

        task = {"seed": self.seed, "preset": self.preset}
        note = self.out / "demo.json"
        if note.exists():
            if json.loads(note.read_text(encoding="utf-8")) != task:
                raise ConfigError(
                    f"{self.out} holds a demo with other settings. Remove it, or choose another "
                    "--out."
                )
        elif self.out.exists() and any(self.out.iterdir()):
            raise ConfigError(f"{self.out} exists and holds no demo. Choose another --out.")
        else:
            write_text(note, json.dumps(task))

    def _make_levels(self) -> None:
        from dred.tasks.gridworld.levels import load, to_text
        from dred.tasks.gridworld.levels.build import make_file
        from dred.tasks.gridworld.levels.plan import make_plan
        from dred.tasks.gridworld.levels.render import gallery_of, save_picture

        for name in ("train", "test"):
            path = self.out / f"{name}.npz"
            if not path.exists():
                plan = make_plan(f"cave-escape-{name}", seed=self.seed, count=COUNT, size=SIZE)
                make_file(plan, path)
        train = load(self.out / "train.npz")
        save_picture(gallery_of(train, seed=self.seed), self.out / "levels.png")
        print(f"Level 0 ({train.structure[0]}), from S to G, over moss (,) and past lava (~):\n")
        print(to_text(train[0]))

    def _fit(self) -> None:
        from dred.commands.generate import Fit
        from dred.commands.levels import Show

        vae = self.out / "vae"
        if not vae.exists():
            Fit(self.out / "train.npz", vae, epochs=EPOCHS, seed=self.seed).run()
        Show(vae, self.out / "interpolations.png", seed=self.seed).run()

    def _train(self) -> None:
        from dred.commands.train import Resume, Train
        from dred.runs import open_run

        path = self.out / "run"
        if not (path / "run.json").exists():
            Train(
                "vae-dred",
                levels=self.out / "train.npz",
                generator=self.out / "vae",
                held_out=self.out / "test.npz",
                out=path,
                preset=self.preset,
                seed=self.seed,
            ).run()
        elif open_run(path).record.status != "finished":
            Resume(path).run()

    def _evaluate(self) -> None:
        from dred.commands.evaluate import Evaluate

        suites = (self.out / "train.npz", self.out / "test.npz")
        Evaluate(self.out / "run", suite=suites, gaps=True, seed=self.seed).run()

    def _report(self) -> None:
        from dred.files import write_text
        from dred.reports.content import compute
        from dred.reports.gather import gather
        from dred.reports.page import page_of

        content = compute(gather([self.out / "run"]), seed=self.seed, episodes=3)
        pictures = {
            "Levels of the dataset. Moss grows near the goal, lava lies far from it.": "levels.png",
            "Levels that the model makes on the way from one level to another, which stand at the "
            "ends of each row.": "interpolations.png",
        }
        story = {words: (self.out / name).read_bytes() for words, name in pictures.items()}
        write_text(self.out / "report.html", page_of(content, [], story=story))


@contextmanager
def stage(number: int, what: str) -> Generator[None]:
    """Say what is being done, and how long it took."""
    print(f"\n{number}/5 {what} …", flush=True)
    begun = time.monotonic()
    yield
    print(f"    {time.monotonic() - begun:.0f} s", flush=True)
