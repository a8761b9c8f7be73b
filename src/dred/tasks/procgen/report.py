"""The report of a Procgen study: tables, figures, and one page that needs nothing else."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dred.reports.correlations import correlation
from dred.reports.hyperparameters import Setup, table_of
from dred.reports.kit.drawing import Drawing
from dred.reports.kit.folder import check_place, tables_and_figures, write_folder
from dred.reports.kit.page import document, span
from dred.reports.kit.table import Table, number
from dred.tasks.procgen.analysis import REPEATS, Findings, analyse, points_of
from dred.tasks.procgen.curves import CURVES, Curves
from dred.tasks.procgen.figures import all_figures
from dred.tasks.procgen.outcomes import MEASURES, Measure, Outcome, by_game, measured, strategies_of
from dred.tasks.procgen.shown import capital
from dred.tasks.procgen.tables import all_tables

TEMPLATES = Path(__file__).with_name("templates")
SECTIONS = {
    "overview": "Overview",
    "scores": "Scores by game",
    "information": "What agents know of the level",
    "correlations": "Correlations",
    "improvement": "Probability of improvement",
    "num-levels": "More training levels",
    "learning": "Learning",
    "settings": "Settings",
    "files": "Files",
}


def write_report(
    outcomes: Sequence[Outcome],
    out: Path,
    *,
    curves: Curves | None = None,
    setups: Sequence[Setup] = (),
    size: int | None = None,
    repeats: int = REPEATS,
    seed: int = 0,
) -> None:
    """Write tables, figures and `report.html` into a folder, whole or not at all.

    `curves` has the metrics of each run, by `Outcome.run`, and `setups` what each strategy was run
    with. `size` is the number of training levels
    of the runs that games and strategies are compared by: that of most runs, if it is not given.
    """
    check_place(out)
    findings = analyse(outcomes, size=size, repeats=repeats, seed=seed)
    tables, figures = all_tables(findings), all_figures(findings, curves or {})
    if setups:
        tables["settings"] = table_of(setups, "procgen")
    files = tables_and_figures(tables, figures)
    write_folder(files, page_of(findings, tables, figures, sorted(files)), out)


def page_of(
    findings: Findings,
    tables: Mapping[str, Table],
    figures: Mapping[str, Drawing],
    files: Sequence[str],
) -> str:
    """Return the whole page."""
    return document(
        TEMPLATES,
        title="Level sampling in Procgen",
        lead=subtitle_of(findings),
        sections={
            key: name for key, name in SECTIONS.items() if key != "settings" or key in tables
        },
        context={
            "tables": tables,
            "figures": figures,
            "files": files,
            "facts": facts(findings),
            "sentences": list(sentences(findings)),
            "notes": list(complaints(findings)),
            "several": len({one.seed for one in findings.usual}) > 1,
            "games_of_sizes": list(dict.fromkeys(row.game for row in findings.sizes)),
            "curves": {one.name: capital(one.label) for one in CURVES if one.name in figures},
        },
    )


def subtitle_of(findings: Findings) -> str:
    """Return one sentence under the title."""
    count = len(findings.outcomes)
    agents = "One agent" if count == 1 else f"{count} agents"
    games = sorted({one.game for one in findings.outcomes})
    where = games[0] if len(games) == 1 else f"{len(games)} games"
    return f"{agents}, trained on a few levels of {where} and tried on levels never seen."


def facts(findings: Findings) -> list[tuple[str, str, str]]:
    """Return a few numbers for boxes: what, how much, and small print."""
    usual = findings.usual
    games = sorted({one.game for one in usual})
    seeds = [len({o.seed for o in usual if o.game == game}) for game in games]
    return [
        ("Games", str(len(games)), ", ".join(games) if len(games) < 5 else ""),
        ("Strategies", str(len(strategies_of(usual))), ", ".join(strategies_of(usual))),
        ("Seeds of each", span(set(seeds)), ""),
        ("Runs", f"{len(findings.outcomes):,}", ""),
        ("Training levels", span({one.num_levels for one in findings.outcomes}), ""),
    ]


def sentences(findings: Findings) -> Iterable[str]:
    """Yield what was found, in words."""
    for measure in MEASURES:
        if measure.key in ("test", "gen_gap", "information"):
            yield from best_sentence(findings, measure)
    found = correlation(points_of(findings.usual, "information", "gen_gap"))
    if not math.isnan(found.pearson):
        within = "" if math.isnan(found.within) else f", and {found.within:.2f} within games"
        yield (
            f"Over {found.points} runs, the correlation of I(L; b) and GenGap is "
            f"{found.pearson:.2f} (Kendall's τ {found.kendall:.2f}){within}."
        )


def best_sentence(findings: Findings, measure: Measure) -> Iterable[str]:
    """Yield which strategy is best in one measurement; nothing if there is none to compare with."""
    over = findings.over[measure.over_games]
    if len(over) < 2:
        return
    best = (max if measure.higher else min)(over, key=lambda name: over[name].value)
    low, high = over[best].intervals[0.95]
    interval = "" if math.isnan(low) else f" (95 % interval {low:.3f} to {high:.3f})"
    games, label = over[best].games, measure.over_games_label.removesuffix(", nats")
    yield (
        f"{best} has the {'highest' if measure.higher else 'lowest'} {label}, "
        f"{number(over[best].value)}{interval}, over {games} game{'s' if games > 1 else ''}."
    )


def complaints(findings: Findings) -> Iterable[str]:
    """Yield what is missing, so that readers know what numbers stand on."""
    usual = findings.usual
    strategies, games = strategies_of(usual), sorted({one.game for one in usual})
    count = {(game, name): 0 for game in games for name in strategies}
    for one in usual:
        count[one.game, one.strategy] += 1
    absent = [f"{name} in {game}" for (game, name), runs in count.items() if not runs]
    if absent:
        yield f"Not run with {findings.size} levels: {', '.join(absent)}."
    if len(set(count.values()) - {0}) > 1:
        yield (
            "Games have different numbers of seeds. Means over games take as many of each as the "
            "game with the fewest has."
        )
    lacking = [game for game in games if game not in by_game(usual, "normalised_test")]
    if lacking:
        yield (
            "Scores are not normalised in games where uniform was not run or got nothing: "
            f"{', '.join(lacking)}."
        )
    for measure in MEASURES:
        missing = len(usual) - len(measured(usual, measure.key))
        if missing:
            yield f"{measure.label} was not measured in {missing} of {len(usual)} runs."
