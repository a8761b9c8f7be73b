"""`dred demo`: the story so far, small."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Demo:
    """Make the training levels of the paper and show them, in a few seconds.

    For example:
      dred demo --out demo
    """

    out: Path = Path("demo")
    """Folder for the levels and the picture."""
    seed: int = 0
    """Which levels."""

    def run(self) -> None:
        """Make, measure, draw."""
        from dred.levels import load, to_text
        from dred.levels.build import make_file
        from dred.levels.plan import make_plan
        from dred.levels.render import gallery_of, save_picture
        from dred.levels.tables import print_summaries

        print("Making levels (the first time, code is compiled for half a minute) …", flush=True)
        for name in ("train", "test"):
            path = self.out / f"{name}.npz"
            make_file(make_plan(f"cave-escape-{name}", seed=self.seed), path)
            print(f"  {path}")
        train = load(self.out / "train.npz")
        print(f"\nWhat the {len(train)} training levels are like:\n")
        print_summaries(train, sample=32, seed=self.seed)
        picture = self.out / "levels.png"
        save_picture(gallery_of(train, seed=self.seed), picture)
        print(f"\nLevel 0 ({train.structure[0]}), from S to G, over moss (,) and past lava (~):\n")
        print(to_text(train[0]))
        print(f"\nMore of them in {picture}")
