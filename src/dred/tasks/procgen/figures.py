"""The figures of the Procgen study, in the style of all reports.

| here | in the paper |
|---|---|
| over-games | fig:procgen_results |
| correlations | fig:correlation_analysis |
| improvement | fig:p_improvement_procgen |
| num-levels-<game> | fig:numlvl_exp |
| curves | fig:procgen_agg_train_test_curves |
| curves-test, curves-train | fig:procgen_perenv_test_curves, fig:procgen_perenv_train_curves |
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from dred.reports.correlations import correlation, in_words
from dred.reports.kit import chart
from dred.reports.kit.chart import ALL, Bar, BarPanel
from dred.reports.kit.drawing import Drawing, drawn
from dred.reports.kit.figures import REPORT_STYLE, grid_of, middle_range
from dred.reports.kit.looks import Looks
from dred.reports.kit.scatter import Dots, ScatterPanel, draw_scatter
from dred.tasks.procgen.analysis import PAIRS, Aggregate, AtSize, Findings, points_of
from dred.tasks.procgen.comparisons import RELATIONS
from dred.tasks.procgen.curves import CURVES, Curves, training_by_game, training_over_games
from dred.tasks.procgen.looks import looks_of
from dred.tasks.procgen.outcomes import MEASURES, UNIFORM, Outcome, strategies_of
from dred.tasks.procgen.shown import capital

AXES = {
    "information": "I(L; b), nats",
    "gen_gap": "GenGap",
    "normalised_gen_gap": "normalised GenGap",
    "value_loss": "value loss",
    "learned_information": "learned I(L; b), nats",
    "learned_gen_gap": "learned GenGap",
}


def all_figures(findings: Findings, curves: Curves) -> dict[str, Drawing]:
    """Return every figure that there is something to show in, by name."""
    looks, usual = looks_of(findings.outcomes), findings.usual
    figures = [
        *over_games(findings, looks),
        *scatter(findings, looks),
        *improvement(findings, looks),
        *num_levels(findings, looks),
        *training_over_games(usual, curves, looks),
        *(one for what in CURVES for one in training_by_game(usual, curves, what, looks)),
    ]
    return {figure.name: figure for figure in figures}


def over_games(findings: Findings, looks: Looks) -> list[Drawing]:
    """Return means over games with intervals; a dot is a run's mean."""
    panels = [
        BarPanel(
            f"{capital(measure.over_games_label)} {'↑' if measure.higher else '↓'}",
            tuple(
                Bar(
                    name,
                    one.value,
                    one.intervals[0.95],
                    one.intervals[0.99],
                    tuple(map(float, one.by_run)) if len(one.by_run) > 1 else (),
                )
                for name, one in findings.over[measure.over_games].items()
            ),
            measure.percent,
            limits=limits_of(findings.over[measure.over_games].values()),
        )
        for measure in MEASURES
        if findings.over[measure.over_games]
    ]
    if not panels:
        return []
    return [
        drawn(
            "over-games",
            "Scores, GenGap, information and classifier accuracy of each strategy as means over "
            "games, with intervals; the table has the numbers.",
            lambda columns: chart.draw_bars(panels, looks, columns=columns),
            len(panels),
        )
    ]


def limits_of(several: Iterable[Aggregate]) -> tuple[float, float]:
    """Return a range with room for all intervals and dots."""
    values = [v for one in several for v in (*one.intervals[0.99], one.value, *one.by_run)]
    return middle_range(float(value) for value in values if math.isfinite(value))


def scatter(findings: Findings, looks: Looks) -> list[Drawing]:
    """Return measurements against each other: a point for each game and strategy."""
    there = [
        relation
        for relation in RELATIONS
        if len(points_of(findings.usual, *relation, seed_means=True).name) > 1
    ]
    if not there:
        return []
    alt = (
        f"A point for each game and strategy: {', '.join(RELATIONS[one] for one in there)}; the "
        "table has the correlations."
    )

    panels = [scatter_panel(findings.usual, relation) for relation in there]
    return [
        drawn("correlations", alt, lambda columns: draw_scatter(panels, looks, columns=columns), 2)
    ]


def scatter_panel(outcomes: Sequence[Outcome], relation: tuple[str, str]) -> ScatterPanel:
    """Return one pair of measurements: a point for each game, by strategy."""
    points = points_of(outcomes, *relation, seed_means=True)
    dots: list[Dots] = []
    for strategy in strategies_of(outcomes):
        mine = [name == strategy for _, name in points.name]
        if any(mine):
            dots.append(Dots(strategy, points.x[mine], points.y[mine]))
    return ScatterPanel(
        AXES[relation[0]], AXES[relation[1]], tuple(dots), in_words(correlation(points))
    )


def improvement(findings: Findings, looks: Looks) -> list[Drawing]:
    """Return how likely one strategy has more of something than another."""
    titles = {"test": "P(higher test score)", "gen_gap": "P(higher GenGap)"}
    found = {
        key: {(one.strategy, one.other): one for one in some}
        for key, some in findings.improvements.items()
    }
    pairs = [pair for pair in PAIRS if all(pair in some for some in found.values())]
    if not pairs:
        return []
    panels = [
        BarPanel(
            titles[key],
            tuple(
                Bar(pair[0], one.value, one.intervals[0.95], one.intervals[0.99])
                for pair in pairs
                for one in [some[pair]]
            ),
            reference=0.5,
            limits=ALL,
        )
        for key, some in found.items()
    ]

    def draw(columns: int) -> Figure:
        figure = chart.draw_bars(panels, looks, columns=columns, all_named=columns == 1)
        figure.set_figheight(1.5 * figure.get_figheight())  # two lines to each name
        for place, axis in enumerate(figure.axes):
            named = place % columns == 0
            words = [f"{one}\nagainst {other}" if named else "" for one, other in pairs]
            axis.set_yticks(range(len(pairs)), words)
        return figure

    alt = (
        "Probability that a run of one strategy has a higher test score, and a higher GenGap, than "
        "a run of another in the same game, with intervals; a dashed line at one half."
    )
    return [drawn("improvement", alt, draw, 2)]


def num_levels(findings: Findings, looks: Looks) -> list[Drawing]:
    """Return, for each game trained on several numbers of levels, how much depends on them."""
    games = dict.fromkeys(row.game for row in findings.sizes)
    return [
        drawn(
            f"num-levels-{game}",
            f"Scores and gaps in {game} over the number of training levels, with one standard "
            "error; the table has the numbers.",
            lambda columns, game=game: draw_sizes(
                [row for row in findings.sizes if row.game == game], looks, columns=columns
            ),
            2,
        )
        for game in games
    ]


def draw_sizes(rows: Sequence[AtSize], looks: Looks, *, columns: int) -> Figure:
    """Draw four panels: train score, test score, GenGap, and ShiftGap with what it explains."""
    panels = {
        "Train score": ("train",),
        "Test score": ("test",),
        "GenGap": ("gen_gap",),
        "ShiftGap, and uniform's lead in train score": ("shift_gap", "train_deficit"),
    }
    handles: dict[str, Any] = {}
    with rc_context(REPORT_STYLE):
        figure, axes = grid_of(len(panels), columns, (4.6, 2.75))
        for place, (title, measures) in enumerate(panels.items()):
            axis = axes[place]
            for measure in measures:
                handles |= size_lines(axis, rows, measure, looks)
            size_axis(axis, sorted({row.num_levels for row in rows}))
            axis.set_title(title, loc="left")
            if place >= len(panels) - columns:
                axis.set_xlabel("training levels")
        chart.legend(figure, handles, looks, columns)
    return figure


def size_lines(
    axis: Any,  # noqa: ANN401  (Matplotlib's)
    rows: Sequence[AtSize],
    measure: str,
    looks: Looks,
) -> dict[str, Any]:
    """Draw one measurement over the number of levels; return the lines by name."""
    handles: dict[str, Any] = {}
    about_shift = measure in ("shift_gap", "train_deficit")
    for strategy in dict.fromkeys(row.strategy for row in rows):
        mine = [row for row in rows if row.strategy == strategy and getattr(row, measure).runs]
        if not mine or (about_shift and strategy == UNIFORM):  # it has no shift by definition
            continue
        spreads = [getattr(row, measure) for row in mine]
        dashed = measure == "train_deficit"
        lines = axis.errorbar(
            [row.num_levels for row in mine],
            [spread.mean for spread in spreads],
            [0.0 if math.isnan(spread.error) else spread.error for spread in spreads],
            color=looks[strategy].colour,
            marker=looks[strategy].marker,
            markersize=5,
            linewidth=1.8,
            linestyle="--" if dashed else "-",
            capsize=3,
        )
        handles[f"{strategy}: uniform's lead" if dashed else strategy] = lines[0]
    return handles


def size_axis(axis: Any, sizes: Sequence[int]) -> None:  # noqa: ANN401  (Matplotlib's)
    """Make an axis logarithmic, with a tick at each number of levels that was tried."""
    axis.set_xscale("log")
    axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.tick_params(axis="x", which="minor", length=0)
