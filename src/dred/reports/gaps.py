"""The table of gaps, which agrees with the tables of scores of the same report.

Each number has one definition, and three places where it may come from, the best one first:

    evaluation      GenGap: what the whole suites `train` and `test` tell, seed by seed
    after training  what `dred evaluate RUN --gaps` measured of the same agents, and printed
    metrics         what runs measured while they trained, of at most `evaluate_levels` levels: live

All methods of a report have a number from the same place, and the row says from where.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dred.agents.probe import needed_for
from dred.evaluation.gaps import error_of_gap
from dred.evaluation.measured import (
    ACCURACY,
    BOUND,
    GEN_GAP,
    INFORMATION,
    Measured,
    Sizes,
    above_the_bound,
    measured_on,
    read_gaps,
)
from dred.metrics import Metric, in_section
from dred.reports.at_end import Source, at_end
from dred.reports.curves import at_the_end
from dred.reports.kit.table import Table, number, plus_minus
from dred.reports.material import Material, Method
from dred.reports.notes import updates_done
from dred.reports.paper import paper_note
from dred.reports.results import Results
from dred.reports.tables import levels_of

Sources = Mapping[str, Source]  # by metric


def gaps_table(material: Material, results: Results) -> Table:
    """Return GenGap, ShiftGap, shift and information at the end of training."""
    metrics = in_section("gaps", material.task.features)
    sources = sources_of(material, results)
    table = at_end(material, "gaps", "Generalisation and shift", metrics, sources=sources)
    theirs = paper_note({k: n for k, n in levels_of(material).items() if k in ("train", "test")})
    notes = (origin_note(material, sources), table.note, *remarks(material, sources), theirs)
    return replace(table, note=" ".join(filter(None, notes)))


def sources_of(material: Material, results: Results) -> Sources:
    """Return what is known of each gap at the end of training, from the best place for it."""
    metrics = in_section("gaps", material.task.features)
    return {
        **live_gaps(material, metrics),
        **gaps_after(material, metrics),
        **evaluated_gap(material, results),
    }


def live_gaps(material: Material, metrics: tuple[Metric, ...]) -> Sources:
    """Return what runs measured last while they trained."""
    config = material.methods[0].config
    most = min(method.config.evaluate_levels for method in material.methods)
    train = most if material.dataset is None else min(most, len(material.dataset))
    test = min(most, levels_of(material).get("test", most))
    done = max(updates_done(method.trainings) for method in material.methods)
    sizes = Sizes(train, test, min(config.average_window, done), config.probe.length)
    return {
        metric.name: Source(
            {m.name: at_the_end(m, metric.name) for m in material.methods},
            words=f"live: {measured_on(metric.name, sizes)}",
        )
        for metric in metrics
    }


def gaps_after(material: Material, metrics: tuple[Metric, ...]) -> Sources:
    """Return what was measured after training, of what all seeds of all methods have."""
    found = {method.name: measured_of(method) for method in material.methods}
    every = [seed for seeds in found.values() for seed in seeds]
    return {
        metric.name: Source(
            {m: np.array([seed[metric.name].value for seed in s]) for m, s in found.items()},
            "after training",
            every[0][metric.name].measured_on,
            {m: np.array([seed[metric.name].error for seed in s]) for m, s in found.items()},
        )
        for metric in metrics
        if all(metric.name in seed for seed in every)
    }


def measured_of(method: Method) -> list[Mapping[str, Measured]]:
    """Return what was measured of each agent of a method as it is now; empty if nothing was."""
    return [read_gaps(one.run, updates_done([one])).get(one.seed, {}) for one in method.trainings]


def evaluated_gap(material: Material, results: Results) -> Sources:
    """Return GenGap of each seed by the mean returns of the report, if it has both suites."""
    there = {"train", "test"} <= results.keys()
    if not there or not all(map(played_its_own_levels, material.methods)):
        return {}
    train, test = (results[suite]["mean_return"] for suite in ("train", "test"))
    return {
        GEN_GAP: Source(
            {name: train[name].by_run - test[name].by_run for name in train},
            "evaluation",
            "whole suites, train − test",
            {method.name: errors_of(method) for method in material.methods},
        )
    }


def errors_of(method: Method) -> np.ndarray:
    """Return the standard error over levels of each seed's GenGap."""
    both = (method.scores[suite].returned for suite in ("train", "test"))
    return np.array([error_of_gap(*returned) for returned in zip(*both, strict=True)])


def played_its_own_levels(method: Method) -> bool:
    """Return whether `train` is what the method was trained on, as far as that is known."""
    played = method.scores["train"].task.get("digest")
    noted = [run.record.levels.get("train") for run in method.runs]
    given = {file.digest for file in noted if file is not None and file.digest}
    return played is None or given <= {played}


def origin_note(material: Material, sources: Sources) -> str:
    """Return where GenGap comes from, and where all else does."""
    counts, told = levels_of(material), list[str]()
    names = {source.name for source in sources.values() if any(map(len, source.values.values()))}
    if "evaluation" in names:
        told.append(
            f"GenGap is the mean return on all {counts['train']:,} levels of the suite train minus "
            f"that on all {counts['test']:,} of the suite test, as the table of mean returns has "
            "them."
        )
    if "after training" in names:
        told.append(
            "What is not called live was measured after training, with the final agents, as `dred "
            "evaluate --gaps` prints it."
        )
    if "metrics" in names:
        most = max(method.config.evaluate_levels for method in material.methods)
        told.append(
            f"Live: the last measurement during training, from one try in at most {most:,} levels "
            "of each set. `dred evaluate RUN --suite train.npz test.npz --gaps` measures it of the "
            "final agents, on all levels."
        )
    return " ".join(told)


def remarks(material: Material, sources: Sources) -> list[str]:
    """Return what must be said beside these numbers, so that none seems to contradict another."""
    gap, bound = (sources[name].values for name in (GEN_GAP, BOUND))
    above = [m for m in gap if len(gap[m]) and len(bound[m]) and gap[m].mean() > bound[m].mean()]
    return [
        *([above_the_bound(", ".join(above))] if above else []),
        *filter(None, (too_sure(material, method.name, sources) for method in material.methods)),
    ]


def too_sure(material: Material, method: str, sources: Sources) -> str:
    """Return why I(L; b) is less than its guesses would need, or 0 beside some luck, if it is."""
    nats, accuracy = (sources[name].values[method] for name in (INFORMATION, ACCURACY))
    if material.dataset is None or not len(nats) or not len(accuracy):
        return ""
    live = sources[ACCURACY].name == "metrics"
    config, count = material.methods[0].config, len(material.dataset)
    levels = min(config.evaluate_levels, count) if live else count
    right, chance = float(accuracy.mean()), 1.0 / levels
    least, shown = float(needed_for(right, levels)), plus_minus(nats).split()[0]
    is_less = float(nats.mean()) < least - 0.005  # of a run from before both were compared
    if right <= chance or not (is_less or float(shown) == 0):
        return ""
    why = (
        f"so many right guesses take at least {least:.2g} nats (Fano's inequality), which the "
        "classifier of that run, too sure where it was wrong, does not show. `dred evaluate RUN "
        "--gaps` measures it anew."
        if is_less
        else "guesses that are hardly better than chance take no more."
    )
    return (
        f"I(L; b) of {method} is shown as {shown}, while {number(right, percent=True)} of its "
        f"guesses are right and {number(chance, percent=True)} would be by chance: {why}"
    )
