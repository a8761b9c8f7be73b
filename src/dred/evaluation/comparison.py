"""Which methods differ: Welch's t-test on the means of their runs, and who is best by it."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit
from scipy.stats import ttest_ind_from_stats

from dred.errors import DatasetError
from dred.evaluation.statistics import Interval, check, mean_and_variance

FEWEST_RUNS = 3  # of a method whose mean is tested against another's


def welch(x: Float[np.ndarray, " run"], y: Float[np.ndarray, " other_run"]) -> float:
    """Return how likely means differ this much by chance: the two-sided p-value of Welch's t-test.

    NaN with fewer than two runs on either side. If neither side varies, 1 for equal means and 0
    for different ones.
    """
    check(x[:, None], "x")
    check(y[:, None], "y")
    if min(len(x), len(y)) < 2:
        return float("nan")
    (mean_x, variance_x), (mean_y, variance_y) = mean_and_variance(x), mean_and_variance(y)
    if variance_x == variance_y == 0.0:
        return 1.0 if mean_x == mean_y else 0.0
    scale = max(variance_x, variance_y) ** 0.5  # the test has no units, but its squares overflow
    ours = (mean_x - mean_y) / scale, variance_x**0.5 / scale, len(x)
    theirs = 0.0, variance_y**0.5 / scale, len(y)
    return float(np.asarray(ttest_ind_from_stats(*ours, *theirs, equal_var=False))[1])


def welch_interval(
    x: Float[np.ndarray, " run"], y: Float[np.ndarray, " other_run"], confidence: float = 0.95
) -> Interval:
    """Return where the mean of X minus that of Y lies, by Welch's t-test; or X's with no Y.

    It has 0 at an end where the test's p-value is 1 − confidence. NaN with fewer than two runs on
    a side.
    """
    sides = [mean_and_variance(side) for side in (x, y) if len(side)]
    counts = [len(side) for side in (x, y) if len(side)]
    if not sides or min(counts) < 2:
        return Interval(float("nan"), float("nan"))
    middle = sides[0][0] - (sides[1][0] if len(sides) > 1 else 0.0)
    parts = [variance / count for (_, variance), count in zip(sides, counts, strict=True)]
    if sum(parts) == 0.0:
        return Interval(middle, middle)
    squares = (part**2 / (count - 1) for part, count in zip(parts, counts, strict=True))
    freedom = sum(parts) ** 2 / sum(squares)
    reach = float(stdtrit(freedom, (1 + confidence) / 2)) * sum(parts) ** 0.5
    return Interval(middle - reach, middle + reach)


def tells_of_others(runs: Float[np.ndarray, " run"]) -> bool:
    """Return whether runs say how others would differ: three at least, which are not all alike."""
    return len(runs) >= FEWEST_RUNS and bool((runs != runs[0]).any())


def compare(
    groups: Mapping[str, Float[np.ndarray, "_"]], *, higher_is_better: bool = True
) -> tuple[frozenset[str], bool]:
    """Return the methods to print bold (`not_worse_than_best`), and whether that was tested.

    It cannot be, and none is bold, with a single method, nor if some method has fewer than three
    runs or runs that do not vary.
    """
    is_tested = len(groups) > 1 and all(map(tells_of_others, groups.values()))
    if not is_tested:
        return frozenset(), False
    return not_worse_than_best(groups, higher_is_better=higher_is_better, none_if_all=True), True


def not_worse_than_best(
    groups: Mapping[str, Float[np.ndarray, "_"]],
    level: float = 0.05,
    *,
    higher_is_better: bool = True,
    none_if_all: bool = False,
) -> frozenset[str]:
    """Return the method with the best mean, and those that do not differ from it significantly.

    A method differs if Welch's test gives p < `level`; tests are not corrected for their number.
    One that cannot be tested, for want of runs, does not differ. The paper prints these methods
    bold, and none if that would be all of them: `none_if_all`.
    """
    if not groups:
        raise DatasetError("There are no methods to compare: pass the runs of at least one.")
    for name, runs in groups.items():
        check(runs[:, None], name)
    means = {name: mean_and_variance(runs)[0] for name, runs in groups.items()}
    best = (max if higher_is_better else min)(means, key=means.__getitem__)
    alike = frozenset(
        name
        for name, runs in groups.items()
        if name == best or not welch(runs, groups[best]) < level
    )
    return frozenset() if none_if_all and len(alike) == len(groups) else alike
