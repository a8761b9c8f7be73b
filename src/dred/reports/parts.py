"""Suites whose levels differ in size, and their parts of one size each."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Int

from dred.evaluation.by_size import name_of_part, places_by_size
from dred.reports.material import Method, Suite
from dred.reports.scores import Scores


def with_parts(
    methods: Sequence[Method], suites: Sequence[Suite]
) -> tuple[tuple[Method, ...], tuple[Suite, ...]]:
    """Return methods and suites with a suite more for each size, after one that has several.

    All that a report says of a suite it then says of each size, too.
    """
    whole: list[Suite] = []
    for suite in suites:
        whole.append(suite)
        for size, places in places_in(suite).items():
            name = name_of_part(suite.name, size)
            if any(name in method.scores for method in methods):
                continue  # a suite of its own has that name
            whole.append(part_of(suite, name, places))
            methods = [with_part(method, suite.name, name, places) for method in methods]
    return tuple(methods), tuple(whole)


def places_in(suite: Suite) -> Mapping[str, Int[np.ndarray, " some"]]:
    """Return which levels of a suite have each size, if they are known and differ."""
    if suite.levels is None or suite.task is None:
        return {}
    return places_by_size(suite.levels, suite.task)


def part_of(suite: Suite, name: str, places: Int[np.ndarray, " some"]) -> Suite:
    """Return some levels of a suite as one of their own."""
    levels = None if suite.levels is None else suite.levels[places]
    optimal = None if suite.optimal is None else suite.optimal[places]
    return Suite(name, len(places), levels, optimal, suite.task)


def with_part(method: Method, suite: str, name: str, places: Int[np.ndarray, " some"]) -> Method:
    """Return a method with its scores in some levels of a suite beside those in all."""
    scores = method.scores[suite]
    part = Scores(scores.returned[:, places], scores.solved[:, places], scores.task)
    return replace(method, scores={**method.scores, name: part})
