"""The report of a Procgen study: tables, figures, and one page that needs nothing else."""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from dred.reports.content import Drawing
from dred.reports.correlations import correlation
from dred.reports.frame import boxes, chart, document, file_list, notes, paragraph, span
from dred.reports.hyperparameters import Setup, table_of
from dred.reports.table import Table, number, to_html
from dred.reports.write import check_place, tables_and_figures, write_folder
from dred.tasks.procgen.analysis import REPEATS, Findings, analyse, points_of
from dred.tasks.procgen.curves import CURVES, Curves
from dred.tasks.procgen.figures import all_figures
from dred.tasks.procgen.outcomes import MEASURES, Measure, Outcome, by_game, measured, strategies_of
from dred.tasks.procgen.shown import capital
from dred.tasks.procgen.tables import all_tables

SECTIONS = {
    "overview": "Overview",
    "scores": "Scores by game",
    "information": "What agents know of the level",
    "correlations": "What goes with what",
    "improvement": "Who beats whom",
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
    """The whole page."""
    parts = {
        "overview": overview(findings, tables, figures),
        "scores": "".join(to_html(tables[name]) for name in ("test", "train", "gen-gap")),
        "information": information(tables),
        "correlations": correlations(tables, figures),
        "improvement": improvement(tables, figures),
        "num-levels": num_levels(findings, tables, figures),
        "learning": learning(figures),
        **({"settings": settings(tables)} if "settings" in tables else {}),
        "files": file_list(files),
    }
    return document("Level sampling in Procgen", subtitle_of(findings), SECTIONS, parts)


def subtitle_of(findings: Findings) -> str:
    """One sentence under the title."""
    count = len(findings.outcomes)
    agents = "One agent" if count == 1 else f"{count} agents"
    games = sorted({one.game for one in findings.outcomes})
    where = games[0] if len(games) == 1 else f"{len(games)} games"
    return f"{agents}, trained on a few levels of {where} and tried on levels never seen."


def overview(
    findings: Findings, tables: Mapping[str, Table], figures: Mapping[str, Drawing]
) -> str:
    """Facts, findings, means over games and notes."""
    said = "".join(f"<li>{escape(line)}</li>" for line in sentences(findings))
    return (
        facts(findings)
        + f'<ul class="findings">{said}</ul>'
        + notes(list(complaints(findings)))
        + figure(
            figures,
            "over-games",
            f"{bars(findings)}↑ higher is better, ↓ lower is better.",
        )
        + to_html(tables["over-games"])
        + paragraph(
            "Strategies choose the training level of the next episode: uniform takes any, value-l1 "
            "those with a high value loss, mi those that are hard to tell apart; the others mix "
            "value-l1 with a second one. GenGap is the mean return on training levels minus that "
            "on others. I(L; b) is what the agent's last shared layer tells about the level it is "
            "in; the less it tells, the smaller GenGap must be."
        )
    )


def bars(findings: Findings) -> str:
    """What the bars of a figure are, if there are any."""
    if len({one.seed for one in findings.usual}) == 1:
        return ""
    return (
        "Thick bars are 95 % intervals and thin ones 99 %; the line across is the value and a dot "
        "the mean of one run of each game. "
    )


def facts(findings: Findings) -> str:
    """A few numbers in boxes."""
    usual = findings.usual
    games = sorted({one.game for one in usual})
    seeds = [len({o.seed for o in usual if o.game == game}) for game in games]
    entries = [
        ("Games", str(len(games)), ", ".join(games) if len(games) < 5 else ""),
        ("Strategies", str(len(strategies_of(usual))), ", ".join(strategies_of(usual))),
        ("Seeds of each", span(set(seeds)), ""),
        ("Runs", f"{len(findings.outcomes):,}", ""),
        ("Training levels", span({one.num_levels for one in findings.outcomes}), ""),
    ]
    return boxes(entries)


def sentences(findings: Findings) -> Iterable[str]:
    """What was found, in words."""
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
    """Which strategy is best in one measurement; nothing if there is none to compare with."""
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
    """What is missing, so that readers know what numbers stand on."""
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


def figure(figures: Mapping[str, Drawing], name: str, caption: str) -> str:
    """A figure with its caption; nothing if there was nothing to draw."""
    return chart(figures[name], caption) if name in figures else ""


def information(tables: Mapping[str, Table]) -> str:
    """How well the level can be told from what the agent has in mind."""
    text = paragraph(
        "A linear classifier learns to name the training level from the agent's last shared layer. "
        "I(L; b) is the logarithm of the number of levels minus the classifier's loss, in nats."
    )
    return text + to_html(tables["information"]) + to_html(tables["accuracy"])


def correlations(tables: Mapping[str, Table], figures: Mapping[str, Drawing]) -> str:
    """Scatter plots, and what they come to."""
    shown = figure(
        figures,
        "correlations",
        "A point is the mean over seeds of a strategy in a game; correlations above are of these.",
    )
    nothing = paragraph("There are too few measurements to compare.")
    return (shown or nothing) + to_html(tables["correlations"])


def improvement(tables: Mapping[str, Table], figures: Mapping[str, Drawing]) -> str:
    """Probabilities of improvement."""
    if not tables["improvement"].rows:
        return paragraph("None of the paper's pairs of strategies was run in the same game.")
    shown = figure(
        figures,
        "improvement",
        "A higher test score is better, a higher GenGap is worse. The dashed line is a draw.",
    )
    return shown + to_html(tables["improvement"])


def num_levels(
    findings: Findings, tables: Mapping[str, Table], figures: Mapping[str, Drawing]
) -> str:
    """How much depends on the number of training levels."""
    games = dict.fromkeys(row.game for row in findings.sizes)
    if not games:
        return paragraph("No game was trained on several numbers of levels.")
    text = paragraph(
        "With more training levels, GenGap should shrink. That helps only if it is because test "
        "scores rise. ShiftGap is the mean return on levels as they were drawn in the last updates "
        "of training minus that on the training levels taken equally; beside it stands how many "
        "equally likely levels would be as hard to guess as those drawn. Where ShiftGap is as "
        "large as the lead of uniform in train score, the shift of the levels explains that lead."
    )
    shown = "".join(
        f"<h3>{escape(game)}</h3>"
        + figure(figures, f"num-levels-{game}", "Means over seeds; bars are one standard error.")
        for game in games
    )
    return text + shown + to_html(tables["num-levels"])


def settings(tables: Mapping[str, Table]) -> str:
    """What each strategy was run with."""
    return f'<div class="text">{to_html(tables["settings"])}</div>'


def learning(figures: Mapping[str, Drawing]) -> str:
    """Curves over training: over all games, then game by game."""
    shown = figure(
        figures,
        "curves",
        "Means over games in which all strategies have such a curve; bands are one standard error. "
        "Scores are divided by the mean test score of uniform at the end.",
    )
    if not any(one.name in figures for one in CURVES):
        return paragraph("There are no learning curves in what was given.")
    each = "".join(
        f"<details><summary>{escape(capital(one.label))} by game</summary>"
        + figure(figures, one.name, "Means over seeds; bands are one standard error.")
        + "</details>"
        for one in CURVES
        if one.name in figures
    )
    return shown + each
