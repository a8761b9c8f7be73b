"""Metrics of the Procgen study over training, as means over seeds and over games."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from dred.reports.kit import chart
from dred.reports.kit.chart import Curve, LinePanel
from dred.reports.kit.drawing import Drawing, drawn
from dred.reports.kit.looks import Looks
from dred.tasks.procgen.outcomes import Outcome, RunName, order_of, scales
from dred.tasks.procgen.shown import capital

Curves = Mapping[RunName, Sequence[Mapping[str, object]]]  # a row for each update that was logged
Values = dict[int, float]  # by transitions


class OverTime(NamedTuple):
    """A metric that is drawn over training."""

    metric: str  # as the trainer logs it
    name: str  # of the figure
    label: str
    is_score: bool = False  # in the game's own points
    percent: bool = False


CURVES = (
    OverTime("return/train", "curves-train", "train score", is_score=True),
    OverTime("return/test", "curves-test", "test score", is_score=True),
    OverTime("gen_gap", "curves-gen-gap", "GenGap", is_score=True),
    OverTime("mutual_information", "curves-information", "I(L; b), nats"),
    OverTime("probe_accuracy", "curves-accuracy", "classifier accuracy", percent=True),
)
ALSO_OVER_GAMES = (OverTime("effective_levels", "", "effective number of levels"),)


def read(rows: Iterable[Mapping[str, object]], metric: str) -> Values:
    """Return a metric of one run, without what is not a number; of two rows, the later counts."""
    values: Values = {}
    for row in rows:
        when, value = row.get("transitions"), row.get(metric)
        if (
            isinstance(when, int | float)
            and isinstance(value, int | float)
            and math.isfinite(value)
        ):
            values[int(when)] = float(value)
    return values


def runs_of(
    outcomes: Sequence[Outcome], curves: Curves, metric: str
) -> dict[str, dict[str, list[Values]]]:
    """Return the runs that have a metric, by strategy and game; only those among the outcomes."""
    known = {one.run for one in outcomes}
    found: dict[str, dict[str, list[Values]]] = {}
    for run in sorted(curves, key=lambda run: (order_of(run[1]), *run)):
        game, strategy, _, _ = run
        values = read(curves[run], metric) if run in known else {}
        if values:
            found.setdefault(strategy, {}).setdefault(game, []).append(values)
    return found


def curves_by_game(
    outcomes: Sequence[Outcome], curves: Curves, metric: str
) -> dict[str, dict[str, Curve]]:
    """Return means over seeds, by game and strategy."""
    found: dict[str, dict[str, Curve]] = {}
    for strategy, games in runs_of(outcomes, curves, metric).items():
        for game, runs in games.items():
            when = common(runs)
            if when:
                found.setdefault(game, {})[strategy] = mean_of([runs], when, [1.0])
    return dict(sorted(found.items()))


def curves_over_games(
    outcomes: Sequence[Outcome], curves: Curves, metric: str, *, normalise: bool
) -> dict[str, Curve]:
    """Return means over games, by strategy: over those that all strategies have.

    Scores are divided by uniform's mean test score at the end, as in `normalised`.
    """
    runs = runs_of(outcomes, curves, metric)
    scale = {game: by for (game, _), by in scales(outcomes).items()}
    shared = set[str].intersection(*(set(some) for some in runs.values())) if runs else set[str]()
    games = sorted(game for game in shared if game in scale or not normalise)
    found: dict[str, Curve] = {}
    for strategy, some in runs.items():
        when = common([values for game in games for values in some[game]])
        if when:
            by = [scale[game] if normalise else 1.0 for game in games]
            found[strategy] = mean_of([some[game] for game in games], when, by)
    return found


def common(runs: Sequence[Values]) -> list[int]:
    """Return the moments at which one of these runs has a value, from when to when all of them do.

    Not every update ends an episode in every run, so that few moments have a value in all.
    """
    if not runs:
        return []
    first, last = max(map(min, runs)), min(map(max, runs))
    return sorted(when for when in set[int].union(*map(set, runs)) if first <= when <= last)


def at(run: Values, when: Sequence[int]) -> Float[np.ndarray, " moment"]:
    """Return the values at some moments; between two that are known, on a straight line."""
    known = sorted(run)
    return np.interp(when, known, [run[moment] for moment in known])


def mean_of(games: Sequence[Sequence[Values]], when: Sequence[int], by: Sequence[float]) -> Curve:
    """The mean over games of the mean over seeds; its error only if every game has several."""
    means, errors = [], []
    for runs, scale in zip(games, by, strict=True):
        values = np.stack([at(run, when) for run in runs]) / scale
        means.append(values.mean(axis=0))
        if len(runs) > 1:
            errors.append(values.std(axis=0, ddof=1) / math.sqrt(len(runs)))
    several = len(errors) == len(games)
    error = np.linalg.norm(errors, axis=0) / len(games) if several else None
    return Curve(np.array(when), np.mean(means, axis=0), error)


def training_over_games(outcomes: Sequence[Outcome], curves: Curves, looks: Looks) -> list[Drawing]:
    """Return means over games while training goes on; scores are normalised."""
    panels: list[LinePanel] = []
    for what in (*CURVES, *ALSO_OVER_GAMES):
        lines = curves_over_games(outcomes, curves, what.metric, normalise=what.is_score)
        label = f"normalised {what.label}" if what.is_score else what.label
        if lines:
            panels.append(LinePanel(capital(label), lines, what.percent))
    if not panels:
        return []
    alt = f"Means over games over training: {', '.join(panel.title for panel in panels)}."
    return [drawn("curves", alt, lambda columns: draw_training(panels, looks, columns=columns), 3)]


def training_by_game(
    outcomes: Sequence[Outcome], curves: Curves, what: OverTime, looks: Looks
) -> list[Drawing]:
    """Return one metric over training: a panel for each game."""
    lines = curves_by_game(outcomes, curves, what.metric)
    panels = [
        LinePanel(
            game, {name: chart.thin(one, most=40) for name, one in here.items()}, what.percent
        )
        for game, here in lines.items()
    ]
    if not panels:
        return []
    alt = f"{capital(what.label)} over training in {', '.join(lines)}."
    return [drawn(what.name, alt, lambda columns: draw_training(panels, looks, columns=columns), 4)]


def draw_training(panels: Sequence[LinePanel], looks: Looks, *, columns: int) -> Figure:
    """Curves over transitions."""
    figure = chart.draw_lines(panels, looks, columns=columns, across="transitions")
    for axis in figure.axes:
        axis.xaxis.set_major_formatter(FuncFormatter(millions))
    return figure


def millions(value: float, _: object = None) -> str:
    """Return a tick: 5 000 000 as 5M."""
    return f"{value / 1e6:g}M" if abs(value) >= 1e6 else chart.thousands(value)
