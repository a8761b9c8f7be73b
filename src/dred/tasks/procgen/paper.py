"""The numbers that the paper prints for Procgen, read from `paper.csv`.

Tables tb:procgen_train_scores, tb:procgen_test_scores, tb:procgen_mi and tb:procgen_accuracy of
Garcin et al. (2024), "DRED: Zero-Shot Transfer in Reinforcement Learning via Data-Regularised
Environment Design": five seeds, 200 levels, 25 million transitions. Their last rows are those of
the game `all`. Spreads are population standard deviations. Accuracies and normalised scores are
shares here and per cent there.
"""

import csv
from functools import cache
from pathlib import Path

from dred.reports.paper import Printed
from dred.tasks.procgen.outcomes import NORMALISED, STRATEGIES, Outcome

NUM_LEVELS = 200
ALL = "all"  # games

# Pearson's and Kendall's correlation over 400 runs, by the two measurements; appendix B.1.
CORRELATIONS = {
    ("information", "gen_gap"): (0.60, 0.50),
    ("information", "normalised_gen_gap"): (0.50, 0.49),
    ("information", "value_loss"): (-0.18, -0.11),
}


@cache
def table() -> dict[tuple[str, str, str], Printed]:
    """What is printed, by game, strategy and measurement."""
    with Path(__file__).with_name("paper.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["game"], row["strategy"], row["measure"]): Printed(
                float(row["mean"]), float(row["spread"])
            )
            for row in csv.DictReader(file)
        }


def printed(game: str, strategy: str, measure: str) -> Printed | None:
    """What the paper says, if it does; GenGap is the difference of two means that it prints."""
    if not measure.endswith("gen_gap"):
        return table().get((game, strategy, measure))
    kind = NORMALISED if measure.startswith(NORMALISED) else ""
    train, test = (printed(game, strategy, f"{kind}{which}") for which in ("train", "test"))
    return None if train is None or test is None else Printed(train.mean - test.mean, None)


def printed_means() -> list[Outcome]:
    """The printed means of each game and strategy, as if each were one run."""
    games = sorted({game for game, _, _ in table()} - {ALL})
    return [
        Outcome(
            game,
            strategy,
            NUM_LEVELS,
            seed=0,
            train=table()[game, strategy, "train"].mean,
            test=table()[game, strategy, "test"].mean,
            information=table()[game, strategy, "information"].mean,
            accuracy=table()[game, strategy, "accuracy"].mean,
        )
        for game in games
        for strategy in STRATEGIES
    ]
