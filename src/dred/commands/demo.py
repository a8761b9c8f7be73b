"""`dred demo`: the whole story, small."""

import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dred.errors import ConfigError, lookup

TWINS = ("uniform", "vae-dred")  # which differ in nothing but the levels they practise on


class Sizes(NamedTuple):
    """How large the demo is."""

    train: int  # levels
    test: int
    side: int  # of a level, with the wall around
    epochs: int  # passes in fitting
    judged: int  # levels of each source by which the model is judged
    episodes: int  # in each level, when agents are evaluated


SIZES = {
    "demo": Sizes(train=64, test=512, side=11, epochs=100, judged=1024, episodes=2),
    "smoke": Sizes(train=12, test=12, side=9, epochs=2, judged=32, episodes=1),
}


@dataclass(frozen=True)
class Demo:
    """Train twins on the same few levels, one of them also on new ones, and see who copes better.

    Both are evaluated in levels that neither has seen. It takes some three minutes on two cores and
    ends with a page, OUT/report.html. If it is interrupted, the same command goes on.

    For example:
      dred demo
      dred demo --out demo-1 --seed 1
    """

    out: Path = Path("demo")
    """The folder to fill."""
    preset: str = "demo"
    """How much: demo (some three minutes) or smoke (seconds, which teaches nothing)."""
    seed: int = 0
    """Another seed gives other levels and other agents."""

    def run(self) -> None:
        """All stages; what is there already is not done again."""
        from dred.compute import keep_compiled_programs
        from dred.config import check_seed

        check_seed(self.seed)
        lookup(SIZES, self.preset, what="preset of the demo")
        keep_compiled_programs()
        self._claim()
        begun = time.monotonic()
        with stage(1, "Making levels (the first time, code is compiled for half a minute)"):
            self._make_levels()
        with stage(2, "Fitting a model of the training levels"):
            self._fit()
        with stage(3, "Training one agent on the levels, and its twin also on new ones like them"):
            for method in TWINS:
                self._train(method)
        with stage(4, "Playing levels that neither has ever seen"):
            for method in TWINS:
                self._evaluate(method)
        with stage(5, "Writing the page"):
            sentence = self._report()
        seconds = time.monotonic() - begun
        print(f"\n{sentence}")
        print(f"\n{self.out / 'report.html'}: open it in a browser ({seconds:.0f} s in all)")

    @property
    def sizes(self) -> Sizes:
        """Return how large this demo is."""
        return SIZES[self.preset]

    def _claim(self) -> None:
        """Make the folder this demo's own."""
        from dred.files import write_text

        task = {"seed": self.seed, "preset": self.preset, "twins": list(TWINS)}
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

        for name, count in (("train", self.sizes.train), ("test", self.sizes.test)):
            path = self.out / f"{name}.npz"
            if not path.exists():
                size = self.sizes.side
                plan = make_plan(f"cave-escape-{name}", seed=self.seed, count=count, size=size)
                make_file(plan, path)
        train = load(self.out / "train.npz")
        save_picture(gallery_of(train, seed=self.seed), self.out / "levels.png")
        print(f"Level 0 ({train.structure[0]}), from S to G, over moss (,) and past lava (~):\n")
        print(to_text(train[0]))

    def _fit(self) -> None:
        from dred.commands.fit import Fit
        from dred.commands.levels import Show

        vae, sizes = self.out / "vae", self.sizes
        if not vae.exists():
            levels = self.out / "train.npz"
            Fit(
                levels,
                vae,
                epochs=sizes.epochs,
                judged=sizes.judged,
                seed=self.seed,
                is_own=False,
            ).run()
        Show(vae, self.out / "interpolations.png", seed=self.seed).run()

    def _train(self, method: str) -> None:
        from dred.commands.train import Resume, Train
        from dred.runs import open_run

        path = self.out / method
        if not (path / "run.json").exists():
            Train(
                method,
                levels=self.out / "train.npz",
                generator=self.out / "vae" if method == "vae-dred" else None,
                held_out=self.out / "test.npz",
                out=path,
                preset=self.preset,
                seed=self.seed,
            ).run()
        elif open_run(path).record.status != "finished":
            Resume(path).run()

    def _evaluate(self, method: str) -> None:
        from dred.commands.evaluate import Evaluate

        suites = (self.out / "train.npz", self.out / "test.npz")
        episodes = self.sizes.episodes
        Evaluate(self.out / method, suite=suites, episodes=episodes, seed=self.seed).run()

    def _report(self) -> str:
        """Write the page, and return its first sentence."""
        from dred.files import write_text
        from dred.reports.content import compute
        from dred.reports.gather import gather
        from dred.reports.page import page_of
        from dred.reports.twins import opening_of

        material = gather([self.out / method for method in TWINS])
        opening = opening_of(material, *TWINS, seed=self.seed)
        content = compute(material, seed=self.seed, episodes=3)
        pictures = {
            "Levels of the dataset. Moss grows near the goal, lava lies far from it.": "levels.png",
            "Levels that the model makes on the way from one level to another, which stand at the "
            "ends of each row.": "interpolations.png",
        }
        story = {words: (self.out / name).read_bytes() for words, name in pictures.items()}
        first = {opening.sentence: opening.picture}
        write_text(self.out / "report.html", page_of(content, [], story={**first, **story}))
        return opening.sentence


@contextmanager
def stage(number: int, what: str) -> Generator[None]:
    """Say what is being done, and how long it took."""
    print(f"\n{number}/5 {what} …", flush=True)
    begun = time.monotonic()
    yield
    print(f"    {time.monotonic() - begun:.0f} s", flush=True)
