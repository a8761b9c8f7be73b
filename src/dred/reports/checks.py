"""Whether runs can be compared at all: the same levels, played in the same way, each run once."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dred.errors import ConfigError, DatasetError
from dred.reports.scores import Scores
from dred.runs import Run


def check_given_once(runs: Sequence[Run]) -> None:
    """Stop at a folder that was given twice."""
    places = [run.path.resolve() for run in runs]
    for run, place in zip(runs, places, strict=True):
        if places.count(place) > 1:
            raise ConfigError(
                f"{run.path} was given twice. Its agents would count double; give each run once."
            )


def check_digests(runs: Sequence[Run]) -> None:
    """Stop if the same name stands for different levels in two runs."""
    first: dict[str, tuple[Run, str]] = {}
    for run in runs:
        for name, facts in run.record.levels.items():
            earlier, digest = first.setdefault(name, (run, facts.digest))
            if facts.digest != digest:
                raise DatasetError(
                    f"The levels called {name!r} are not the same in all runs: their digest is "
                    f"{digest[:12]}… in {earlier.path} and {facts.digest[:12]}… in {run.path}. "
                    "Agents can be compared only if their levels were the same. Report such runs "
                    "separately, or train and evaluate them again with one set of files."
                )


def check_suites(runs: Sequence[Run], scores: Mapping[Path, Mapping[str, Scores]]) -> None:
    """Stop unless all runs were evaluated on the same suites, in the same way."""
    first = scores[runs[0].path]
    for run in runs[1:]:
        mine = scores[run.path]
        if mine.keys() != first.keys():
            raise ConfigError(
                f"The runs were evaluated on mixed suites: {runs[0].path} on {listed(first)}, but "
                f"{run.path} on {listed(mine)}. All need the same ones. Evaluate "
                f"{' and '.join(missing_where(runs[0], first, run, mine))} with `dred evaluate "
                "RUN --suite FILE.npz`, or remove what is too much from their folder evaluation/."
            )
        for name in first:
            check_suite(name, runs[0], first[name], run, mine[name])


def check_suite(name: str, one: Run, ours: Scores, other: Run, theirs: Scores) -> None:
    """Stop if a suite is not the same levels, or was played differently, in two runs."""
    counts = ours.returned.shape[1], theirs.returned.shape[1]
    digests = ours.task.get("digest"), theirs.task.get("digest")
    if counts[0] != counts[1] or (None not in digests and digests[0] != digests[1]):
        how = (
            f"has {counts[0]} levels in {one.path} and {counts[1]} in {other.path}"
            if counts[0] != counts[1]
            else f"has the digest {str(digests[0])[:12]}… in {one.path} and "
            f"{str(digests[1])[:12]}… in {other.path}"
        )
        raise DatasetError(
            f"The suite {name!r} {how}, so these are different levels under the same name. "
            "Evaluate both runs again on one file."
        )
    greedy = ours.task.get("greedy", False), theirs.task.get("greedy", False)
    if greedy[0] != greedy[1]:
        raise ConfigError(
            f"The suite {name!r} was played with --greedy in one of {one.path} and {other.path} "
            "and without in the other, so their results cannot be compared. Evaluate both in the "
            "same way."
        )


def missing_where(
    run: Run, has: Mapping[str, Scores], other: Run, other_has: Mapping[str, Scores]
) -> list[str]:
    """Return which run lacks which suites."""
    gaps = ((run, other_has.keys() - has.keys()), (other, has.keys() - other_has.keys()))
    return [f"{one.path} on {listed(names)}" for one, names in gaps if names]


def listed(names: Iterable[str]) -> str:
    """Names in a sentence."""
    return ", ".join(sorted(names))


def check_seeds(name: str, runs: Sequence[Run]) -> None:
    """Stop if two runs of a method used the same seed: they are one training, counted twice."""
    owner: dict[int, Run] = {}
    for run in runs:
        for seed in run.seeds:
            if owner.setdefault(seed, run) is not run:
                raise ConfigError(
                    f"{owner[seed].path} and {run.path} are both {name} with seed {seed}. The same "
                    "seed gives the same training, so it would count twice and intervals would be "
                    "too narrow. Leave one out, or train with another --seed."
                )
