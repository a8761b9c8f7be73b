"""Everything on a report's page, computed: tables, figures, pictures and notes."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import UInt8
from matplotlib.figure import Figure

from dred.errors import CheckpointError
from dred.reports import charts, relations, tables
from dred.reports.charts import Bar, BarPanel, LinePanel
from dred.reports.curves import complaints, curve
from dred.reports.episodes import Episode, play_levels, telling_levels
from dred.reports.extremes import Extreme, extremes_of, extremes_table
from dred.reports.gaps import gaps_table
from dred.reports.gather import Material, Suite
from dred.reports.hyperparameters import settings_table
from dred.reports.lineage import Kept, Shown, buffer_of, captioned
from dred.reports.over_training import OverTraining, over_training_of, over_training_table
from dred.reports.pictures import Picture, example_layouts, picture_of, sheet
from dred.reports.results import (
    AGGREGATES,
    Improvement,
    Result,
    Results,
    best_method,
    improvements_of,
    results_of,
    standard_error,
)
from dred.reports.scatter import ScatterPanel, draw_scatter
from dred.reports.table import Cell, Table
from dred.reports.tables import Row
from dred.task import LevelSet

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Drawing:
    """A figure, drawn for wide and for narrow pages."""

    name: str
    alt: str  # what it shows, in a sentence
    wide: str  # SVG
    narrow: str = ""  # SVG; empty if the page has the same content in another form


@dataclass(frozen=True)
class Content:
    """What a report says."""

    material: Material
    results: Results
    tables: Mapping[str, Table]
    drawings: Mapping[str, Drawing]
    buffers: Mapping[str, Shown | None]  # by method
    episodes: Mapping[str, Sequence[Episode] | str]  # by method; or why there are none
    extremes: Sequence[Extreme]
    pictures: Mapping[tuple[str, int], bytes]  # of extreme levels, by suite and level
    notes: Sequence[str]


ABLATION = ("vae-dred", "el-dred")  # what a generative model adds, by the paper

LEARNING = (
    Row("solved_rate/train", "Solved, training levels", percent=True),
    Row("solved_rate/test", "Solved, held-out levels", percent=True),
    Row("solved_rate/replay", "Solved, replayed levels", percent=True),
    Row("return/train", "Return, training levels"),
    Row("return/test", "Return, held-out levels"),
    Row("return/replay", "Return, replayed levels"),
)
GAP_PANELS = (
    Row("gen_gap", "GenGap"),
    Row("shift_gap", "ShiftGap"),
    Row("jsd_distance", "Jensen–Shannon distance"),
    Row("mutual_information", "Estimated I(L; b), nats"),
    Row("gen_gap_bound", "Bound on GenGap from estimated I(L; b), D = 2"),
    Row("probe_accuracy", "Accuracy of the level classifier", percent=True),
)
REPLAYED_PANELS = (
    Row("path", "Steps from start to goal"),
    Row("moss_density", "Moss, of navigable tiles", percent=True),
    Row("lava_density", "Lava, of other tiles", percent=True),
    Row("solvable_mass", "Probability of a solvable level", percent=True),
    Row("dataset_mass", "Probability of a dataset level", percent=True),
    Row("effective_levels", "Effective number of levels"),
)


def compute(
    material: Material, *, seed: int = 0, episodes: int = 2, advance: Advance = lambda _: None
) -> Content:
    """All of a report; `advance` hears of each of `steps_of` steps."""
    results = results_of(material, seed=seed)
    pairs = improvements_of(material, seed=seed)
    advance(1)
    extremes = extremes_of(material)
    curves, gaps_in_curves = over_training_of(material)
    drawings = draw_all(material, results, pairs, curves)
    advance(1)
    buffers = {m.name: buffer_of(m, material.dataset) for m in material.methods}
    advance(1)
    played = play_all(material, episodes, seed=seed, advance=advance)
    pictures = {
        (suite.name, one.level): picture_of(suite.levels[one.level], material.task)
        for suite in material.suites
        if suite.levels is not None
        for one in extremes
        if one.suite == suite.name
    }
    drawings += [buffer_sheet(name, shown) for name, shown in buffers.items() if shown is not None]
    drawings += [
        extremes_sheet(suite.name, extremes, pictures)
        for suite in material.suites
        if suite.levels is not None
    ]
    wanted = [row.metric for row in (*LEARNING, *GAP_PANELS, *REPLAYED_PANELS)]
    return Content(
        material=material,
        results=results,
        tables={t.name: t for t in all_tables(material, results, pairs, extremes, buffers, curves)},
        drawings={drawing.name: drawing for drawing in drawings},
        buffers=buffers,
        episodes=played,
        extremes=extremes,
        pictures=pictures,
        notes=(*material.notes, *complaints(material, wanted), *gaps_in_curves),
    )


def steps_of(material: Material) -> int:
    """How often `compute` calls `advance`."""
    return 3 + len(material.methods)


def all_tables(
    material: Material,
    results: Results,
    pairs: Sequence[Improvement],
    extremes: Sequence[Extreme],
    buffers: Mapping[str, Shown | None],
    curves: Sequence[OverTraining],
) -> list[Table]:
    """Every table of a report."""
    names = [suite.name for suite in material.suites]
    several = len(material.methods) > 1
    return [
        *(tables.summary(material, results, name) for name in names),
        tables.by_suite(material, results, "mean_return"),
        tables.by_suite(material, results, "solved_rate"),
        *(tables.improvement(material, pairs, name) for name in names if several),
        gaps_table(material, results),
        *relations.tables_of(material, results),
        tables.at_end(material, "replayed", "Replayed levels", tables.REPLAYED, {}),
        *([over_training_table(material, curves)] if curves else []),
        buffers_table(buffers),
        *(extremes_table(extremes, name) for name in names),
        tables.runs_table(material),
        settings_table(material),
    ]


def draw_all(
    material: Material,
    results: Results,
    pairs: Sequence[Improvement],
    curves: Sequence[OverTraining],
) -> list[Drawing]:
    """Every figure with axes; those without anything to show are left out."""
    names = ", ".join(method.name for method in material.methods)
    return [
        *(aggregate_drawing(results, suite) for suite in material.suites),
        solved_drawing(results, material.suites),
        *([improvement_drawing(results, pairs)] if pairs else []),
        *pair_drawing(pairs, *ABLATION),
        *lines_drawing(material, "learning", LEARNING, f"Learning curves of {names}"),
        *([over_training_drawing(curves)] if curves else []),
        *lines_drawing(material, "gaps", GAP_PANELS, f"Gaps and shift over training of {names}"),
        *relations_drawing(material, results),
        *lines_drawing(
            material, "replayed", REPLAYED_PANELS, f"What the replayed levels of {names} are like"
        ),
    ]


def drawn(name: str, alt: str, draw: Callable[[int], Figure], columns: int) -> Drawing:
    """A figure for wide pages, and the same with its panels one below the other."""
    wide, narrow = charts.to_svg(draw(columns)), charts.to_svg(draw(1))
    return Drawing(name, alt, wide, narrow)


def aggregate_drawing(results: Results, suite: Suite) -> Drawing:
    """All aggregates of one suite, with intervals, beside example layouts."""
    panels = [
        BarPanel(
            tables.heading(aggregate),
            tuple(bar_of(aggregate.key, *each) for each in mine.items()),
            aggregate.percent,
            limits=(-0.02, 1.02) if len(mine) == 1 else None,
        )
        for aggregate in AGGREGATES
        if aggregate.headline and (mine := results[suite.name].get(aggregate.key))
    ]
    panels[0] = panels[0]._replace(examples=layouts_of(suite))
    return drawn(
        f"aggregate-{suite.name}",
        f"Aggregates on {suite.name} for each method, with intervals, beside example layouts; the "
        "table of this suite has the numbers.",
        lambda columns: charts.draw_bars(panels, columns=columns),
        len(panels),
    )


def bar_of(aggregate: str, method: str, result: Result) -> Bar:
    """An aggregate of one method; solved rates have bars of one standard error, as the paper's."""
    value, _, intervals = result.estimate
    error = standard_error(result.by_run) if aggregate == "solved_rate" else math.nan
    return Bar(method, value, intervals[0.95], intervals[0.99], error=error)


def layouts_of(suite: Suite) -> tuple[UInt8[np.ndarray, "_ _ 3"], ...]:
    """Pictures of a few levels of a suite; none if its levels are not known."""
    if suite.levels is None or suite.task is None:
        return ()
    return example_layouts(suite.levels, suite.task)


def solved_drawing(results: Results, suites: Sequence[Suite]) -> Drawing:
    """Solved rates of all suites beside example layouts, with a dot for each seed."""
    panels = [
        BarPanel(
            f"{suite.name}, {suite.count} levels",
            tuple(
                bar_of("solved_rate", name, r)._replace(
                    dots=tuple(map(float, r.by_run)) if len(r.by_run) > 1 else ()
                )
                for name, r in results[suite.name]["solved_rate"].items()
            ),
            percent=True,
            limits=(-0.02, 1.02),
            examples=layouts_of(suite),
        )
        for suite in suites
    ]
    return drawn(
        "solved-rate",
        "Share of levels solved on each suite by each method, with intervals, standard errors and "
        "a dot a seed, beside example layouts.",
        lambda columns: charts.draw_bars(panels, columns=columns),
        in_rows(len(panels)),
    )


def in_rows(count: int) -> int:
    """How many panels stand side by side on a wide page."""
    return count if count <= 4 else 3


def pair_drawing(pairs: Sequence[Improvement], one: str, other: str) -> list[Drawing]:
    """How likely one method beats another on each suite; a list of one figure, or of none."""
    bars = tuple(
        Bar(one, p.estimate.value, *ends, label=p.suite)
        for p in pairs
        if (p.better, p.other) == (one, other)
        for ends in [(p.estimate.intervals[0.95], p.estimate.intervals[0.99])]
    )
    if not bars:
        return []
    panel = BarPanel(f"P({one} > {other})", bars, reference=0.5, limits=(-0.02, 1.02))
    return [
        drawn(
            f"{one}-against-{other}",
            f"Probability that a run of {one} gets a higher return than a run of {other} in a "
            "level of each suite, with intervals; a dashed line at one half.",
            lambda columns: charts.draw_bars([panel], columns=columns),
            1,
        )
    ]


def improvement_drawing(results: Results, pairs: Sequence[Improvement]) -> Drawing:
    """How likely the best method of each suite beats each other one."""
    panels: list[BarPanel] = []
    for suite, mine in results.items():
        best = best_method(mine)
        bars = tuple(
            Bar(p.other, p.estimate.value, p.estimate.intervals[0.95], p.estimate.intervals[0.99])
            for p in pairs
            if p.suite == suite and p.better == best
        )
        title = f"{suite}: {best} beats …"
        panels.append(BarPanel(title, bars, reference=0.5, limits=(-0.02, 1.02)))
    return drawn(
        "improvement",
        "Probability that the best method of each suite beats each other method, with intervals; "
        "a dashed line at one half.",
        lambda columns: charts.draw_bars(panels, columns=columns, all_named=True),
        in_rows(len(panels)),
    )


def lines_drawing(material: Material, name: str, rows: Sequence[Row], what: str) -> list[Drawing]:
    """Metrics over training; a list of one figure, or of none if nothing was measured."""
    reference = tables.dataset_values(material) if name == "replayed" else {}
    panels: list[LinePanel] = []
    for row in rows:
        found = {method.name: curve(method, row.metric) for method in material.methods}
        curves = {method: one for method, one in found.items() if one is not None}
        if curves:
            limits = (0.0, 1.0) if name == "learning" else None
            panels.append(
                LinePanel(row.label, curves, row.percent, reference.get(row.metric), limits)
            )
    if not panels:
        return []
    alt = f"{what}: {', '.join(panel.title for panel in panels)}."
    return [drawn(name, alt, lambda columns: charts.draw_lines(panels, columns=columns), 3)]


def relations_drawing(material: Material, results: Results) -> list[Drawing]:
    """Shift against what agents do; a list of one figure, or of none if nothing was measured."""
    panels: list[ScatterPanel] = relations.panels_of(material, results)
    if not panels:
        return []
    alt = (
        "Ranks of methods by distance from the dataset and on test, that distance against "
        "ShiftGap, and how far the ranks agree over training; the tables have the numbers."
    )
    return [drawn("correlations", alt, lambda columns: draw_scatter(panels, columns=columns), 3)]


def over_training_drawing(curves: Sequence[OverTraining]) -> Drawing:
    """Solved rates on each suite over training."""
    panels = [
        LinePanel(
            f"Solved, {one.suite} ({one.num_levels} levels)", one.solved, True, limits=(0.0, 1.0)
        )
        for one in curves
    ]
    return drawn(
        "over-training",
        f"Share of levels solved over training: {', '.join(one.suite for one in curves)}.",
        lambda columns: charts.draw_lines(panels, columns=columns),
        2 if len(panels) == 4 else 3,
    )


def buffer_sheet(name: str, shown: Shown) -> Drawing:
    """The gallery of a buffer and its lines of descent, as a file."""
    task = shown.training.run.task
    rows: list[tuple[str, list[Picture]]] = []
    for first in range(0, len(shown.kept), 6):
        heading = f"{name}: most probable levels after {shown.update} updates" if first == 0 else ""
        rows.append((heading, [captioned(one, task) for one in shown.kept[first : first + 6]]))
    rows += [
        (f"{name}: ancestry of level {number_of(line[-1])}", [captioned(one, task) for one in line])
        for line in shown.lines
    ]
    return Drawing(f"buffer-{name}", f"Levels in the buffer of {name}.", sheet(rows))


def number_of(one: Kept) -> str:
    """A level's own number."""
    number = one.facts.get("number")
    return "?" if number is None else str(int(number))


def buffers_table(buffers: Mapping[str, Shown | None]) -> Table:
    """The levels of all galleries, with all that is known of them."""
    facts = ("probability", "score", "number", "parent", "generation", "birth")
    data = [
        (
            name,
            shown.training.seed,
            shown.update,
            one.made_by,
            *(float("nan") if one.facts.get(f) is None else one.facts[f] or 0 for f in facts),
        )
        for name, shown in buffers.items()
        if shown is not None
        for one in shown.kept
    ]
    return Table(
        "buffers",
        "The likeliest levels of each method's first seed",
        ("Method", "Seed", "Update", "Made by", *(fact.capitalize() for fact in facts)),
        tuple(
            tuple(Cell(f"{v:.4g}" if isinstance(v, float) else str(v)) for v in row) for row in data
        ),
        ("method", "seed", "update", "made_by", *facts),
        tuple(data),
        "A parent of −1 means that a level was not made from another.",
    )


def extremes_sheet(
    suite: str, extremes: Sequence[Extreme], pictures: Mapping[tuple[str, int], bytes]
) -> Drawing:
    """The worst and best levels of each method, as a file."""
    rows: dict[str, list[Picture]] = {}
    for one in extremes:
        if one.suite == suite:
            row = rows.setdefault(f"{one.method}: {one.kind} levels of {suite}", [])
            row.append(level_caption(one, pictures[suite, one.level]))
    return Drawing(f"levels-{suite}", f"Worst and best levels of {suite}.", sheet([*rows.items()]))


def level_caption(one: Extreme, png: bytes) -> Picture:
    """A level of a suite with how agents did in it."""
    possible = "" if np.isnan(one.optimal) else f" of {one.optimal:.2f}"
    lines = (f"solved {100 * one.solved:.0f}\u00a0%", f"return {one.returned:.2f}{possible}")
    return Picture(png, f"Level {one.level}", lines)


def play_all(
    material: Material, count: int, *, seed: int, advance: Advance
) -> dict[str, list[Episode] | str]:
    """Episodes of each method's first agent, all in the same levels; or why there are none."""
    suite = stage_of(material)
    played: dict[str, list[Episode] | str] = {}
    numbers: list[int] = []
    if suite is not None:
        solved = [method.scores[suite.name].solved for method in material.methods]
        numbers = telling_levels(np.concatenate(solved).mean(axis=0), count)
    for method in material.methods:
        played[method.name] = "No level file of a suite is there to play in."
        if suite is not None and suite.levels is not None and numbers:
            run, first, _ = method.trainings[0]
            try:
                agent = run.policy(first)
                played[method.name] = play_levels(
                    agent, suite.levels, numbers, material.task, seed=seed
                )
            except CheckpointError as problem:
                played[method.name] = f"No episodes: {problem}"
        advance(1)
    return played if count else {name: "No episodes were asked for." for name in played}


def stage_of(material: Material) -> Suite | None:
    """The suite whose levels episodes are played in: held-out ones of the usual size if there."""
    there = [suite for suite in material.suites if suite.levels is not None]
    small = [suite for suite in there if suite.levels is not None and extent(suite.levels) <= 24]
    return next((suite for suite in small if suite.name == "test"), (small or there or [None])[0])


def extent(levels: LevelSet) -> int:
    """The longest side of a level's arrays."""
    leaves = jax.tree.leaves(levels.levels)
    return max(max(leaf.shape[1:], default=1) for leaf in leaves)
