"""What settings do to results: runs of methods that differ in a few settings, and nothing else.

Methods that are alike but for one number make a line: the result against that number. A report of
many variants shows all of them here, and in detail only those that do best.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from dred.reports.kit.drawing import Drawing, drawn
from dred.reports.kit.looks import looks_for
from dred.reports.kit.response import Response, ResponsePanel, draw_responses
from dred.reports.kit.table import Cell, Table, Value, counted, plus_minus
from dred.reports.looks import METHOD_LOOKS
from dred.reports.material import Material, Method, Suite
from dred.reports.results import end_numbers
from dred.reports.variants import DECISIVE, endings, flattened

MOST_IN_DETAIL = 12  # methods of which a report shows everything
NAME = "method.name"
Settings = Mapping[str, object]


class Line(NamedTuple):
    """Methods that differ in one number alone, in its order."""

    name: str
    methods: tuple[Method, ...]


class Sweep(NamedTuple):
    """A number that was varied."""

    setting: str
    lines: tuple[Line, ...]


def settings_of(method: Method) -> dict[str, object]:
    """Return the settings that make a method's training what it is, but its name."""
    decisive = {name: asdict(method.config)[name] for name in DECISIVE}
    return {name: value for name, value in flattened(decisive) if name != NAME}


def varied_in(several: Sequence[Settings]) -> list[str]:
    """Return the settings that are not the same in all."""
    names = dict.fromkeys(name for one in several for name in one)
    return [name for name in names if len({repr(one.get(name)) for one in several}) > 1]


def sweeps_of(methods: Sequence[Method]) -> list[Sweep]:
    """Return the numbers that were varied while all other settings stayed as they were."""
    settings = [settings_of(method) for method in methods]
    found: list[Sweep] = []
    for setting in varied_in(settings):
        groups: dict[str, list[tuple[float, Method]]] = {}
        for method, mine in zip(methods, settings, strict=True):
            value = mine.get(setting)
            if isinstance(value, int | float) and not isinstance(value, bool):
                others = repr({name: mine[name] for name in mine if name != setting})
                groups.setdefault(others, []).append((float(value), method))
        several = [
            tuple(m for _, m in sorted(one, key=lambda pair: pair[0]))
            for one in groups.values()
            if len({value for value, _ in one}) > 1
        ]
        if several:
            found.append(Sweep(setting, named(several)))
    return found


def named(groups: Sequence[tuple[Method, ...]]) -> tuple[Line, ...]:
    """Return lines with names: the words that the names of their methods have in common."""
    names = [" ".join(common_words([m.config.method.name for m in group])) for group in groups]
    firsts = [settings_of(group[0]) for group in groups]
    short = endings(varied_in(firsts))
    lines: list[Line] = []
    for name, first, group in zip(names, firsts, groups, strict=True):
        told = ", ".join(f"{short[key]} {first.get(key)}" for key in short)
        is_enough = bool(name) and names.count(name) == 1
        lines.append(Line(name if is_enough else f"{name} ({told})".strip(), group))
    return tuple(lines)


def common_words(names: Sequence[str]) -> list[str]:
    """Return the words that names have in common at the same places."""
    return [
        words[0] for words in zip(*(n.split() for n in names), strict=False) if len({*words}) == 1
    ]


def result_of(method: Method, suite: str, headline: str) -> Float[np.ndarray, " run"]:
    """Return how well each agent of a method does on a suite."""
    scores = method.scores[suite]
    return (scores.solved if headline == "solved_rate" else scores.returned).mean(axis=1)


def sweep_drawings(material: Material) -> list[Drawing]:
    """Return a figure for each number that was varied: the result on each suite against it."""
    return [sweep_drawing(material, sweep) for sweep in sweeps_of(material.methods)]


def sweep_drawing(material: Material, sweep: Sweep) -> Drawing:
    """Return the result on each suite against a number."""
    looks = looks_for((line.name for line in sweep.lines), METHOD_LOOKS)
    panels = [panel_of(suite, sweep, material.task.headline) for suite in material.suites]
    return drawn(
        drawing_name(sweep.setting),
        f"Results on {', '.join(suite.name for suite in material.suites)} against "
        f"{sweep.setting}; the table of settings has the numbers.",
        lambda columns: draw_responses(panels, looks, columns=columns),
        min(3, len(panels)),
    )


def drawing_name(setting: str) -> str:
    """Return what the figure of a setting is called."""
    return f"sweep-{setting}"


def panel_of(suite: Suite, sweep: Sweep, headline: str) -> ResponsePanel:
    """Return the result on one suite against a number."""
    percent = headline == "solved_rate"
    return ResponsePanel(
        f"{'Solved' if percent else 'Mean return'}, {suite.name} ({counted(suite.count, 'level')})",
        sweep.setting,
        tuple(response_of(line, sweep.setting, suite.name, headline) for line in sweep.lines),
        percent,
    )


def response_of(line: Line, setting: str, suite: str, headline: str) -> Response:
    """Return the results of one line."""
    values = tuple(float(str(settings_of(method)[setting])) for method in line.methods)
    results = tuple(result_of(method, suite, headline) for method in line.methods)
    return Response(line.name, values, results)


def grid_table(material: Material) -> Table | None:
    """Return each variant with what was varied and its results, best first; None if nothing was."""
    methods, headline = ranked(material), material.task.headline
    settings = {method.name: settings_of(method) for method in methods}
    swept = {
        method.name
        for sweep in sweeps_of(methods)
        for line in sweep.lines
        for method in line.methods
    }
    names = varied_in([settings[name] for name in swept]) if swept else []
    if not names:
        return None
    short, suites = endings(names), [suite.name for suite in material.suites]
    percent = headline == "solved_rate"
    rows: list[tuple[Cell, ...]] = []
    data: list[tuple[Value, ...]] = []
    for method in methods:
        mine = [settings[method.name].get(name, "–") for name in names]
        found = [result_of(method, suite, headline) for suite in suites]
        shown = [Cell(plus_minus(one, percent=percent)) for one in found]
        seeds = Cell(str(len(method.trainings)))
        rows.append((Cell(method.name), *(Cell(str(value)) for value in mine), seeds, *shown))
        for suite, one in zip(suites, found, strict=True):
            data.append((method.name, *(str(value) for value in mine), suite, *end_numbers(one)))
    return Table(
        "grid",
        f"{'Solved' if percent else 'Mean return'} by settings, best on {suites[-1]} first",
        ("Method", *(short[name] for name in names), "Seeds", *suites),
        tuple(rows),
        ("method", *names, "suite", "seeds", "mean", "deviation"),
        tuple(data),
    )


def ranked(material: Material) -> list[Method]:
    """Return all methods, those with the best results on held-out levels first."""
    names = [suite.name for suite in material.suites]
    suite = next((name for name in names if name != "train"), names[0])
    headline = material.task.headline
    return sorted(material.methods, key=lambda m: -float(result_of(m, suite, headline).mean()))


def in_detail(material: Material) -> Material:
    """Return a report's material with not too many methods: those that do best, in their order."""
    if len(material.methods) <= MOST_IN_DETAIL:
        return material
    best = {method.name for method in ranked(material)[:MOST_IN_DETAIL]}
    note = (
        f"Of {len(material.methods)} methods and variants, the {MOST_IN_DETAIL} that do best on "
        "held-out levels are shown in detail; all are in the table of settings that were varied "
        "(tables/grid.csv)."
    )
    methods = tuple(method for method in material.methods if method.name in best)
    return replace(material, methods=methods, notes=(*material.notes, note))
