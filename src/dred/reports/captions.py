"""What a report says in words; every sentence follows from what is shown."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dred.evaluation.comparison import FEWEST_RUNS
from dred.reports.extremes import Extreme
from dred.reports.kit.page import span
from dred.reports.kit.table import counted, number
from dred.reports.lineage import Shown
from dred.reports.material import Material, Suite
from dred.reports.play import stage_of
from dred.reports.results import Result, Results, best_method


def in_a_row(names: Sequence[str]) -> str:
    """Return names in a sentence: a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def title_of(material: Material) -> str:
    """Return what the page is about."""
    names = [method.name for method in material.methods]
    return f"{len(names)} methods compared" if len(names) > 3 else in_a_row(names)


def subtitle_of(material: Material) -> str:
    """Return one sentence under the title."""
    count = sum(len(method.trainings) for method in material.methods)
    agents = "One agent" if count == 1 else f"{count} agents"
    suites = ", ".join(suite.name for suite in material.suites)
    return f"{agents}, trained on one set of levels and evaluated zero-shot on {suites}."


def compared(material: Material) -> str:
    """Return a paragraph that says what was compared."""
    seeds = {method.name: counted(len(method.trainings), "seed") for method in material.methods}
    methods = in_a_row([f"{name} ({count})" for name, count in seeds.items()])
    if len({*seeds.values()}) == 1 and len(seeds) > 1:
        methods = f"{in_a_row([*seeds])} ({next(iter(seeds.values()))} each)"
    updates = span({method.config.num_updates for method in material.methods})
    size = size_of(material)
    levels = "levels whose file is not there"
    if material.dataset is not None:
        levels = counted(len(material.dataset), "level") + (f", {size}" if size else "")
    suites = [f"{suite.name} ({counted(suite.count, 'level')})" for suite in material.suites]
    verb = "This report compares" if len(seeds) > 1 else "This report shows"
    return (
        f"{verb} {methods} in the task {material.task.name}: trained for {updates} "
        f"updates on {levels}, and evaluated without further training on {in_a_row(suites)}."
    )


def size_of(material: Material) -> str:
    """Return the size of the training levels, if the task has words for it."""
    describe = material.task.describe_size
    return "" if material.dataset is None or describe is None else describe(material.dataset)


def about_dataset(material: Material, shown: int) -> str:
    """Return what the dataset is, and how much of it is shown."""
    assert material.dataset is not None
    count, size = len(material.dataset), size_of(material)
    what = counted(count, "level") + (f", {size}" if size else "")
    some = "all of them" if shown == count else f"{shown} of them, evenly over the whole set"
    return f"The levels that were given to training: {what}. Shown: {some}."


def resampled(material: Material) -> str:
    """Return what intervals in figures are from."""
    if all(len(method.trainings) >= FEWEST_RUNS for method in material.methods):
        return "resampled seeds (and levels, where seeds do not differ)"
    return "resampled seeds and levels where there are two seeds, else from resampled seeds"


def has_several_seeds(material: Material) -> bool:
    """Return whether some method has more than one seed."""
    return any(len(method.trainings) > 1 for method in material.methods)


def over_seeds(material: Material) -> str:
    """Return what curves are, and what the bands round them."""
    if has_several_seeds(material):
        return "Means over seeds; bands are one standard error"
    return "One seed of each method, so without bands"


def findings(results: Results) -> list[tuple[str, str]]:
    """Return who does best on each suite, in words."""
    return [(suite, finding(mine)) for suite, mine in results.items()]


def finding(results: Mapping[str, Mapping[str, Result]]) -> str:
    """Return who does best on one suite, and which methods do not differ from it."""
    mean, solved = results["mean_return"], results["solved_rate"]
    best = best_method(results)
    value = mean[best].estimate.value
    equal = [name for name, one in mean.items() if math.isclose(one.estimate.value, value)]
    low, high = mean[best].estimate.intervals[0.95]
    interval = "" if math.isnan(low) else f" (95 % interval {low:.3f} to {high:.3f})"
    share = number(solved[best].estimate.value, percent=True)
    if len(mean) == 1:
        return (
            f"{best} has a mean return of {number(value)}{interval}, and solves {share} of the "
            "levels."
        )
    if len(equal) > 1:
        all_alike = len(equal) == len(mean)
        who, what = ("all methods", "same") if all_alike else (in_a_row(equal), "highest")
        return f"{who} have the {what} mean return, {number(value)}."
    return (
        f"{best} has the highest mean return, {number(value)}{interval}, and solves {share} of the "
        f"levels. {rivals(mean, best)}".strip()
    )


def rivals(mean: Mapping[str, Result], best: str) -> str:
    """Return which methods do not differ from the best, if it was tested."""
    if not mean[best].is_tested:
        return ""
    alike = [name for name, result in mean.items() if result.is_best and name != best]
    if not mean[best].is_best:
        return "No method differs from it significantly."
    if not alike:
        return "All others are significantly lower."
    return f"Not significantly different: {', '.join(alike)}."


def without_ancestry(shown: Shown) -> str:
    """Return why the levels of a buffer are shown without ancestors."""
    makers = list(dict.fromkeys(one.made_by for one in shown.kept if one.made_by != "dataset"))
    if not makers:
        return "All of these are levels of the dataset."
    return f"Levels made by {in_a_row(makers)} have no parents on record, so no ancestry is shown."


def choice_of_levels(material: Material, levels: Sequence[int]) -> str:
    """Return which levels episodes are shown in, and what agents make of them."""
    suite = stage_of(material)
    if suite is None or not levels:
        return ""
    solved = [method.scores[suite.name].solved for method in material.methods]
    rate = np.concatenate(solved).mean(axis=0)[list(levels)]
    if ((rate > 0) & (rate < 1)).all():
        kind = ", chosen because agents differ in them"
    elif (rate == 1).all():
        kind = ", which every agent solves"
    elif (rate == 0).all():
        kind = ", which no agent solves"
    else:
        kind = ", some of which agents solve more often than others"
    which = "the same level" if len(levels) == 1 else "the same levels"
    return f"The first seed of each method in {which} of {suite.name}{kind}."


def headings_of_ends(
    worst: Sequence[Extreme], best: Sequence[Extreme], suite: Suite, method: str
) -> Iterable[tuple[str, Sequence[Extreme]]]:
    """Yield the worst and best levels of a method under what is true of them."""
    if suite.count == 1:
        yield f"The only level, for {method}", worst
        return
    if all(one.solved == 1 for one in worst):
        yield f"Lowest levels for {method}, all of which it solves", worst
    else:
        yield f"Worst levels for {method}", worst
    if any(one.solved > 0 for one in best):
        yield f"Best levels for {method}", best
    else:
        yield f"{method} solves none of the levels", ()
