"""Two runs that differ in their method alone: one picture, and one sentence of what they teach."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dred.errors import ConfigError
from dred.evaluation.statistics import Interval
from dred.reports.kit.chart import ALL, Bar, BarPanel, draw_bars
from dred.reports.kit.drawing import to_svg
from dred.reports.looks import looks_of
from dred.reports.material import Material

REPEATS = 4000
SUITES = {"train": "levels trained on", "test": "levels never seen"}
INNER, OUTER = 0.95, 0.99


class Opening(NamedTuple):
    """What a page about twins opens with."""

    sentence: str
    picture: str  # SVG


def opening_of(material: Material, base: str, other: str, *, seed: int = 0) -> Opening:
    """Return the picture and the sentence about two methods, evaluated on `train` and `test`."""
    solved = {
        method.name: {name: method.scores[name].solved.mean(axis=0) for name in SUITES}
        for method in material.methods
        if all(name in method.scores for name in SUITES)
    }
    if not {base, other} <= solved.keys():
        raise ConfigError(
            f"Twins are {base} and {other}, both evaluated on {' and '.join(SUITES)}; there are "
            f"{', '.join(solved) or 'none'}."
        )
    panels = [
        BarPanel(
            f"solved, of {len(solved[base][suite]):,} {words}",
            tuple(bar_of(name, solved[name][suite], seed) for name in (base, other)),
            percent=True,
            limits=ALL,
        )
        for suite, words in SUITES.items()
    ]
    figure = draw_bars(panels, looks_of(material), columns=2)
    count = len(solved[base]["train"])
    words = sentence_of(base, other, solved[base]["test"], solved[other]["test"], count, seed=seed)
    return Opening(words, to_svg(figure))


def bar_of(name: str, solved: Float[np.ndarray, " level"], seed: int) -> Bar:
    """Return the share that a method solves, with intervals over levels."""
    inner, outer = (over_levels(solved, share, seed=seed) for share in (INNER, OUTER))
    return Bar(name, float(solved.mean()), inner, outer)


def over_levels(values: Float[np.ndarray, " level"], share: float, *, seed: int = 0) -> Interval:
    """Return where the mean would fall with other levels of the same kind: a bootstrap."""
    drawn = np.random.default_rng(seed).integers(len(values), size=(REPEATS, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), [(1 - share) / 2, (1 + share) / 2])
    return Interval(float(low), float(high))


def sentence_of(
    base: str,
    other: str,
    ours: Float[np.ndarray, " level"],
    theirs: Float[np.ndarray, " level"],
    num_train: int,
    *,
    seed: int = 0,
) -> str:
    """Return what was learned from the comparison, with its uncertainty.

    Both were played in the same levels, so what is uncertain is the mean of the differences.
    """
    gain = theirs - ours
    low, high = over_levels(gain, INNER, seed=seed)
    shown = [round(100 * float(solved.mean()), 1) for solved in (ours, theirs)]
    points = f"{abs(shown[1] - shown[0]):.1f} percentage points"  # as readers would subtract them
    if low > 0:
        verdict = f"{points} more"
    elif high < 0:
        verdict = f"{points} fewer"
    else:
        verdict = "too close to tell which is better"
    return (
        f"Trained equally long from the same {num_train:,} levels, the agent that also practised "
        f"on new levels like them ({other}) solves {theirs.mean():.1%} of {len(ours):,} levels "
        f"that it has never seen, and the one that had just these ({base}) {ours.mean():.1%}: "
        f"{verdict} (difference {100 * low:+.1f} to {100 * high:+.1f} points, 95 % interval over "
        "levels; one seed each, and another seed may differ by more)."
    )
