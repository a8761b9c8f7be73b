"""What the paper claims of its gridworld study, as comparisons that any runs can be asked about."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

SUITES = ("test", "edge", "hardcore")
ENVIRONMENT_DESIGN = ("dr", "rplr", "accel", "accel-d")


class Comparison(NamedTuple):
    """One measurement, of which one method is said to have more than another."""

    metric: str  # a metric, or the mean return on a suite
    suite: str  # "" for a metric
    more: str
    less: str  # "" if the method is compared with zero


class Claim(NamedTuple):
    """What is said, and the comparisons that it comes down to."""

    name: str
    words: str
    comparisons: tuple[Comparison, ...]


def on_suites(
    pairs: Iterable[tuple[str, str]], suites: Sequence[str] = SUITES
) -> tuple[Comparison, ...]:
    """Return that the first of each pair has the higher mean return on each of these suites."""
    both = list(pairs)
    return tuple(Comparison("mean_return", suite, *pair) for suite in suites for pair in both)


def by_metric(metric: str, pairs: Iterable[tuple[str, str]]) -> tuple[Comparison, ...]:
    """Return that the first of each pair has more of something."""
    return tuple(Comparison(metric, "", *pair) for pair in pairs)


CLAIMS = (
    Claim(
        "model",
        "Levels of a model fitted to the dataset transfer better than edits of its levels.",
        on_suites([("vae-dred", "el-dred")]),
    ),
    Claim(
        "new-levels",
        "New levels tied to the dataset transfer better than replay of the dataset alone.",
        on_suites([("vae-dred", "plr"), ("el-dred", "plr")]),
    ),
    Claim(
        "grounded",
        "New levels tied to the dataset transfer better than uniform draws from it.",
        on_suites([("vae-dred", "uniform"), ("el-dred", "uniform")]),
    ),
    Claim(
        "replay",
        "Replay by score transfers better than uniform draws.",
        on_suites([("plr", "uniform")]),
    ),
    Claim(
        "design-loses",
        "Environment design that is not tied to the dataset does worse than uniform draws, on the "
        "dataset itself as on levels held out.",
        on_suites([("uniform", one) for one in ENVIRONMENT_DESIGN], ("train", "test")),
    ),
    Claim(
        "eta-matters",
        "Raising η slowly matters: with η at 1 from the start, edits transfer worse.",
        on_suites([("el-dred", "accel-d")]),
    ),
    Claim(
        "gen-gap",
        "New levels tied to the dataset make GenGap smaller than draws from the dataset alone do.",
        by_metric(
            "gen_gap",
            [(one, dred) for dred in ("vae-dred", "el-dred") for one in ("uniform", "plr")],
        ),
    ),
    Claim(
        "information",
        "Replay by score makes I(L; b) smaller than uniform draws do.",
        by_metric("mutual_information", [("uniform", "plr")]),
    ),
    Claim(
        "distance",
        "Environment design drifts farther from the dataset than levels of a model do.",
        by_metric("jsd_distance", [(one, "vae-dred") for one in ENVIRONMENT_DESIGN]),
    ),
    Claim(
        "distance-of-replay",
        "Replay by score is farther from the dataset than methods that also make levels.",
        by_metric("jsd_distance", [("plr", "vae-dred"), ("plr", "el-dred")]),
    ),
    Claim(
        "shift-gap-near-zero",
        "ShiftGap is near zero where new levels are tied to the dataset.",
        by_metric("shift_gap", [("vae-dred", ""), ("el-dred", "")]),
    ),
    Claim(
        "shift-gap-of-design",
        "Environment design has a larger ShiftGap than levels of a model have.",
        by_metric("shift_gap", [(one, "vae-dred") for one in ENVIRONMENT_DESIGN]),
    ),
)
