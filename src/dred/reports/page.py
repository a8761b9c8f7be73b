"""The page of a report: what its templates are given.

`templates/` has a file for each section.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from dred.evaluation.evenly import spread_over
from dred.metrics import Section, in_section
from dred.reports import captions, relations
from dred.reports.content import Content
from dred.reports.drawings import ABLATION, layouts_of
from dred.reports.episodes import MOST_FRAMES
from dred.reports.extremes import level_caption
from dred.reports.kit.page import document, span
from dred.reports.kit.pictures import Picture
from dred.reports.kit.table import counted
from dred.reports.lineage import Shown, captioned, number_of
from dred.reports.material import Material, Suite
from dred.reports.pictures import legend_of, picture_of
from dred.reports.results import AGGREGATES, best_method
from dred.reports.tables import heading as heading_of
from dred.reports.variants import settings_of
from dred.runs import Run

MOST_OF_DATASET = 18  # levels of the dataset that are shown
TEMPLATES = Path(__file__).with_name("templates")
SECTIONS = {
    "story": "In short",
    "overview": "Overview",
    "dataset": "Dataset",
    "grids": "Settings that were varied",
    "claims": "Claims of the paper",
    "transfer": "Zero-shot transfer",
    "improvement": "Probability of improvement",
    "learning": "Learning",
    "gaps": "Gaps and shift",
    "correlations": "Correlations",
    "replayed": "Replayed levels",
    "buffer": "Buffers",
    "episodes": "Episodes",
    "levels": "Best and worst levels",
    "settings": "Settings",
    "files": "Files",
}
Heading = tuple[str, list[Picture]]  # over pictures


def page_of(
    content: Content,
    files: Sequence[str],
    *,
    title: str = "",
    date: str = "",
    story: Mapping[str, bytes | str] | None = None,
) -> str:
    """Return the whole page.

    `files` are the names of what lies beside it; `story` has pictures (PNG, or SVG as text) by a
    sentence each, which come first.
    """
    material = content.material
    left_out = {"story"} if not story else set[str]()
    left_out |= {"files"} if not files else set()
    left_out |= {"claims"} if not content.tables["claims"].rows else set()
    left_out |= {"grids"} if "grid" not in content.tables else set()
    return document(
        TEMPLATES,
        title=title or captions.title_of(material),
        lead=captions.subtitle_of(material),
        date=date,
        sections={key: name for key, name in SECTIONS.items() if key not in left_out},
        context={**context_of(content), "files": files, "story": story},
    )


def context_of(content: Content) -> dict[str, Any]:
    """Return what the templates of all sections are given."""
    material = content.material
    buffers = content.buffers.items()
    return {
        "content": content,
        "material": material,
        "counted": counted,
        "compared": captions.compared(material),
        "facts": facts(material),
        "findings": captions.findings(content.results),
        "several": captions.has_several_seeds(material),
        "over_seeds": captions.over_seeds(material),
        "resampled": captions.resampled(material),
        "aggregates": [(heading_of(one), one.plain) for one in AGGREGATES if one.headline],
        "meanings": {section: list(meanings(material, section)) for section in get_args(Section)},
        "dataset": dataset(material),
        "relations": related(content),
        "pictured": [suite.name for suite in material.suites if layouts_of(suite)],
        "ablation": ABLATION,
        "legend": legend_of(material.task),
        "buffers": {name: None if one is None else buffer(one) for name, one in buffers},
        "episodes": episodes(content),
        "ends": {suite.name: ends(content, suite) for suite in material.suites},
        "runs": [
            (f"{run.path.name} ({method.name})", list(facts_of_run(run)))
            for method in material.methods
            for run in method.runs
        ],
    }


def meanings(material: Material, section: Section) -> Iterable[tuple[str, str]]:
    """Yield what each metric of a section says."""
    for metric in in_section(section, material.task.features):
        yield metric.title, metric.plain


def dataset(material: Material) -> dict[str, Any] | None:
    """Return a gallery of the training levels, evenly over all; None if they are not known."""
    levels = material.dataset
    if levels is None:
        return None
    numbers = spread_over(len(levels), MOST_OF_DATASET)
    pictures = [
        Picture(picture_of(levels[i], material.task), f"Level {i}", words_of(levels.structure[i]))
        for i in numbers.tolist()
    ]
    return {"words": captions.about_dataset(material, len(pictures)), "pictures": pictures}


def related(content: Content) -> dict[str, str]:
    """Return what is said of relations: below their figure, or in its place."""
    both = content.material, content.results
    return {
        "caption": relations.caption_of(relations.panels_of(*both)),
        "without": relations.without_relations(*both),
    }


def words_of(structure: object) -> tuple[str, ...]:
    """Return what a level is called, if it is called anything."""
    return (str(structure),) if str(structure) else ()


def facts(material: Material) -> list[tuple[str, str, str]]:
    """Return a few numbers for boxes: what, how much, and small print."""
    methods, suites = material.methods, material.suites
    steps = {m.config.num_updates * m.config.ppo.transitions_per_update for m in methods}
    return [
        ("Methods", str(len(methods)), ", ".join(method.name for method in methods)),
        ("Seeds of each", span({len(method.trainings) for method in methods}), ""),
        ("Updates", span({m.config.num_updates for m in methods}), f"{span(steps)} steps"),
        (
            "Training levels",
            "–" if material.dataset is None else f"{len(material.dataset):,}",
            "file not found" if material.dataset is None else captions.size_of(material),
        ),
        (
            "Evaluation levels",
            f"{sum(suite.count for suite in suites):,}",
            ", ".join(f"{suite.name} {suite.count:,}" for suite in suites),
        ),
    ]


def buffer(shown: Shown) -> dict[str, Any]:
    """Return the gallery of a buffer, and the ancestry of the levels with the most ancestors."""
    task = shown.training.run.task
    return {
        "when": shown.update,
        "seed": shown.training.seed,
        "pictures": [captioned(one, task) for one in shown.kept],
        "ancestries": [
            (f"Ancestry of level {number_of(line[-1])}", [captioned(one, task) for one in line])
            for line in shown.lines
        ],
        "without_ancestry": captions.without_ancestry(shown),
    }


def episodes(content: Content) -> dict[str, Any]:
    """Return the agents at play, by level, and why some are not there."""
    played = {name: some for name, some in content.episodes.items() if not isinstance(some, str)}
    reasons = {name: why for name, why in content.episodes.items() if isinstance(why, str)}
    levels = dict.fromkeys(one.level for some in played.values() for one in some)
    return {
        "levels": {
            level: [
                (name, one) for name, some in played.items() for one in some if one.level == level
            ]
            for level in levels
        },
        "choice": captions.choice_of_levels(content.material, list(levels)),
        "most_frames": MOST_FRAMES,
        "reasons": [f"{name}: {why}" for name, why in reasons.items()]
        if played
        else [*dict.fromkeys(reasons.values())],
    }


def ends(content: Content, suite: Suite) -> list[list[Heading]] | None:
    """Return the worst and best levels of each method, the best method first.

    None if there is nothing to draw them from.
    """
    if suite.levels is None:
        return None
    best = best_method(content.results[suite.name])
    names = sorted((m.name for m in content.material.methods), key=lambda name: name != best)
    return [list(ends_of(content, suite, name)) for name in names]


def ends_of(content: Content, suite: Suite, method: str) -> Iterable[Heading]:
    """Yield the worst and the best levels of one method, under headings that are true of them."""
    both = {
        kind: [
            one
            for one in content.extremes
            if (one.suite, one.method, one.kind) == (suite.name, method, kind)
        ]
        for kind in ("worst", "best")
    }
    for heading, some in captions.headings_of_ends(both["worst"], both["best"], suite, method):
        yield (
            heading,
            [level_caption(one, content.pictures[suite.name, one.level]) for one in some],
        )


def facts_of_run(run: Run) -> Iterable[tuple[str, str]]:
    """Yield all that `run.json` says of a run."""
    known = run.record
    yield "Folder", str(run.path)
    yield "Seeds", ", ".join(map(str, run.seeds))
    yield "Status", known.status
    yield "Started", known.started
    yield "Ended", known.ended or ""
    yield "Command", " ".join(known.command)
    yield "Preset", known.preset
    for name, (old, new) in known.changes.items():
        yield f"Changed from the preset: {name}", f"{old} → {new}"
    for plugin in known.plugins:
        yield "Plug-in", f"{plugin.path}, digest {plugin.digest}"
    for name, version in known.versions.items():
        yield f"Version of {name}", str(version)
    for name, one in known.levels.items():
        yield f"Levels: {name}", f"{one.path}, digest {one.digest}"
    for name, value in ({} if known.generator is None else vars(known.generator)).items():
        yield f"Generator: {name}", value
    yield from settings_of(run).items()
