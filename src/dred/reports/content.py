"""Everything on a report's page, computed: tables, figures, pictures and notes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dred.metrics import METRICS, in_section, of_features
from dred.reports import relations, tables
from dred.reports.at_end import at_end
from dred.reports.curves import complaints, read
from dred.reports.drawings import draw_all
from dred.reports.episodes import Episode
from dred.reports.extremes import Extreme, extremes_of, extremes_sheet, extremes_table
from dred.reports.gaps import gaps_table
from dred.reports.grids import grid_table, in_detail, sweep_drawings
from dred.reports.hyperparameters import settings_table
from dred.reports.kit.drawing import Drawing
from dred.reports.kit.table import Table
from dred.reports.lineage import Shown, buffer_of, buffer_sheet, buffers_table
from dred.reports.material import Material
from dred.reports.over_training import OverTraining, over_training_of, over_training_table
from dred.reports.pictures import picture_of
from dred.reports.play import Advance, play_all
from dred.reports.results import Improvement, Results, improvements_of, results_of
from dred.reports.verdicts import claims_table


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


def compute(
    material: Material, *, seed: int = 0, episodes: int = 2, advance: Advance = lambda _: None
) -> Content:
    """Return all of a report; `advance` hears of each of `steps_of` steps."""
    varied, of_varied = grid_table(material), sweep_drawings(material)
    material = in_detail(material)
    results = results_of(material, seed=seed)
    pairs = improvements_of(material, seed=seed)
    advance(1)
    extremes = extremes_of(material)
    curves, gaps_in_curves = over_training_of(material)
    drawings = [*of_varied, *draw_all(material, results, pairs, curves)]
    advance(1)
    buffers = {m.name: buffer_of(m, material.dataset) for m in material.methods}
    advance(1)
    played = play_all(material, episodes, seed=seed, advance=advance)
    pictures = pictures_of(material, extremes)
    drawings += [buffer_sheet(name, shown) for name, shown in buffers.items() if shown is not None]
    drawings += [
        extremes_sheet(suite.name, extremes, pictures)
        for suite in material.suites
        if suite.levels is not None
    ]
    return Content(
        material=material,
        results=results,
        tables={
            t.name: t
            for t in (
                *([] if varied is None else [varied]),
                *all_tables(material, results, pairs, extremes, buffers, curves),
            )
        },
        drawings={drawing.name: drawing for drawing in drawings},
        buffers=buffers,
        episodes=played,
        extremes=extremes,
        pictures=pictures,
        notes=(*material.notes, *complaints(material, wanted_of(material)), *gaps_in_curves),
    )


def wanted_of(material: Material) -> list[str]:
    """Return the metrics that runs should have, and the features of levels that some have."""
    trainings = [training for method in material.methods for training in method.trainings]
    features = [
        feature
        for feature in of_features(material.task.features)
        if any(read(training, feature.name).values for training in trainings)
    ]
    return [metric.name for metric in (*METRICS, *features) if metric.shown == "curve"]


def steps_of(material: Material) -> int:
    """Return how often `compute` calls `advance`."""
    return 3 + len(in_detail(material).methods)


def pictures_of(material: Material, extremes: Sequence[Extreme]) -> dict[tuple[str, int], bytes]:
    """Return pictures of extreme levels, by suite and number."""
    return {
        (suite.name, one.level): picture_of(suite.levels[one.level], material.task)
        for suite in material.suites
        if suite.levels is not None
        for one in extremes
        if one.suite == suite.name
    }


def all_tables(
    material: Material,
    results: Results,
    pairs: Sequence[Improvement],
    extremes: Sequence[Extreme],
    buffers: Mapping[str, Shown | None],
    curves: Sequence[OverTraining],
) -> list[Table]:
    """Return every table of a report."""
    names = [suite.name for suite in material.suites]
    replayed = in_section("replayed", material.task.features)
    return [
        *(tables.summary(material, results, name) for name in names),
        tables.by_suite(material, results, "mean_return"),
        tables.by_suite(material, results, "solved_rate"),
        *(tables.improvement(material, pairs, name) for name in names if pairs),
        gaps_table(material, results),
        claims_table(material, results),
        *relations.tables_of(material, results),
        at_end(material, "replayed", "Replayed levels", replayed),
        *([over_training_table(material, curves)] if curves else []),
        buffers_table(buffers),
        *(extremes_table(extremes, name) for name in names),
        tables.runs_table(material),
        settings_table(material),
    ]
