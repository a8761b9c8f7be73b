"""The page of a report: one HTML file that needs nothing else."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from html import escape

from dred.reports.content import ABLATION, Content, level_caption, number_of, stage_of
from dred.reports.episodes import MOST_FRAMES, Episode
from dred.reports.frame import boxes, chart, document, file_list, notes, paragraph, span
from dred.reports.gather import Material, Method
from dred.reports.hyperparameters import flattened
from dred.reports.lineage import Shown, captioned
from dred.reports.pictures import Picture, as_uri, legend_of
from dred.reports.results import Result, best_method
from dred.reports.table import number, to_html
from dred.runs import Run
from dred.task import Task

SECTIONS = {
    "story": "The levels",
    "overview": "Overview",
    "transfer": "Zero-shot transfer",
    "improvement": "Who beats whom",
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


def page_of(content: Content, files: Sequence[str], *, opening: str = "") -> str:
    """The whole page; `files` are the names of what lies beside it, `opening` comes first."""
    parts = {
        **({"story": opening} if opening else {}),
        "overview": overview(content),
        "transfer": transfer(content),
        "improvement": improvement(content),
        "learning": learning(content),
        "gaps": gaps(content),
        "correlations": correlations(content),
        "replayed": replayed(content),
        "buffer": buffers(content),
        "episodes": episodes(content),
        "levels": levels(content),
        "settings": settings(content),
        **({"files": file_list(files)} if files else {}),
    }
    material = content.material
    return document(title_of(material), subtitle_of(material), SECTIONS, parts)


def title_of(material: Material) -> str:
    """What the page is about."""
    names = [method.name for method in material.methods]
    if len(names) > 3:
        return f"{len(names)} methods compared"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def subtitle_of(material: Material) -> str:
    """One sentence under the title."""
    count = sum(len(method.trainings) for method in material.methods)
    agents = "One agent" if count == 1 else f"{count} agents"
    suites = ", ".join(suite.name for suite in material.suites)
    return f"{agents}, trained on one set of levels and evaluated zero-shot on {suites}."


def overview(content: Content) -> str:
    """Facts, findings, headline tables and notes."""
    material = content.material
    headline = "".join(
        f"<div>{to_html(content.tables[f'summary-{suite.name}'], with_note=False)}</div>"
        for suite in material.suites
    )
    small_print = content.tables[f"summary-{material.suites[0].name}"].note
    return (
        facts(material)
        + f'<ul class="findings">{"".join(f"<li>{line}</li>" for line in findings(content))}</ul>'
        + notes(content.notes)
        + f'<div class="summary">{headline}</div><p class="note">{escape(small_print)}</p>'
        + paragraph(
            "Return is 1 for reaching the goal at once and falls to 0.1 at the time limit; 0 "
            "without reaching it. IQM is the mean of the middle half of all runs and levels. The "
            "optimality gap is what is missing, on average, to the best return that each level "
            "allows. CVaR is the mean return in the tenth of the levels that went worst."
        )
    )


def facts(material: Material) -> str:
    """A few numbers in boxes."""
    seeds = {len(method.trainings) for method in material.methods}
    updates = {method.config.num_updates for method in material.methods}
    steps = {m.config.num_updates * m.config.ppo.transitions_per_update for m in material.methods}
    entries = [
        ("Methods", str(len(material.methods)), ", ".join(m.name for m in material.methods)),
        ("Seeds of each", span(seeds), ""),
        ("Updates", span(updates), f"{span(steps)} steps"),
        (
            "Training levels",
            "–" if material.dataset is None else f"{len(material.dataset):,}",
            "file not found" if material.dataset is None else size_of(material),
        ),
        (
            "Evaluation levels",
            f"{sum(suite.count for suite in material.suites):,}",
            ", ".join(f"{suite.name} {suite.count:,}" for suite in material.suites),
        ),
    ]
    return boxes(entries)


def size_of(material: Material) -> str:
    """The size of the training levels, if the task has words for it."""
    describe = material.task.describe_size
    return "" if material.dataset is None or describe is None else describe(material.dataset)


def findings(content: Content) -> list[str]:
    """Who does best on each suite, in words."""
    lines: list[str] = []
    for suite, results in content.results.items():
        best = best_method(results)
        mean, solved = results["mean_return"], results["solved_rate"]
        low, high = mean[best].estimate.intervals[0.95]
        interval = "" if math.isnan(low) else f" (95 % interval {low:.3f} to {high:.3f})"
        line = (
            f"<strong>{escape(suite)}</strong>: {escape(best)} has "
            f"{'the highest' if len(mean) > 1 else 'a'} mean return"
            f"{' of' if len(mean) == 1 else ','} {number(mean[best].estimate.value)}{interval}, "
            f"and solves {number(solved[best].estimate.value, percent=True)} of the levels."
        )
        lines.append(line + rivals(mean, best))
    return lines


def rivals(mean: Mapping[str, Result], best: str) -> str:
    """Which methods do not differ from the best, if that can be told."""
    if len(mean) == 1 or any(len(result.by_run) < 2 for result in mean.values()):
        return ""
    alike = [name for name, result in mean.items() if result.is_best and name != best]
    if not any(result.is_best for result in mean.values()):
        return " No method differs from it significantly."
    if not alike:
        return " All others are significantly lower."
    return f" Not significantly different: {escape(', '.join(alike))}."


def transfer(content: Content) -> str:
    """Aggregates and solved rates."""
    several = any(len(method.trainings) > 1 for method in content.material.methods)
    how = (
        "Thick bars are 95 % intervals and thin ones 99 %, from resampling whole runs; the line "
        "across is the value. In solved rates, the lines with ends are one standard error over "
        "seeds."
        if several
        else "One seed each, so there are no intervals."
    )
    parts = [paragraph(how)]
    for suite in content.material.suites:
        parts.append(f"<h3>{escape(suite.name)}, {suite.count:,} levels</h3>")
        parts.append(
            chart(
                content.drawings[f"aggregate-{suite.name}"],
                f"Aggregate performance on {suite.name}, a few of whose levels are on the left. "
                "↑ higher is better, ↓ lower is better.",
                "bars",
            )
        )
    parts.append("<h3>Solved rates</h3>")
    parts.append(
        chart(
            content.drawings["solved-rate"],
            "Share of levels solved, beside a few levels of each suite; a dot is a seed.",
            "bars",
        )
    )
    parts += [to_html(content.tables[name]) for name in ("mean-return", "solved-rate")]
    return "".join(parts)


def improvement(content: Content) -> str:
    """Probabilities of improvement."""
    if "improvement" not in content.drawings:
        return paragraph("There is only one method, so nothing to compare it with.")
    shown = chart(
        content.drawings["improvement"],
        "How likely a run of the method with the highest mean return beats a run of another in a "
        "level. The dashed line is a draw.",
        "bars",
    )
    matrices = "".join(
        to_html(content.tables[f"improvement-{suite.name}"]) for suite in content.material.suites
    )
    return f"{shown}{pair(content)}<details><summary>All pairs</summary>{matrices}</details>"


def pair(content: Content) -> str:
    """The method with a generative model against its ablation, if both are there."""
    one, other = ABLATION
    if f"{one}-against-{other}" not in content.drawings:
        return ""
    return f"<h3>{one} against {other}</h3>" + chart(
        content.drawings[f"{one}-against-{other}"],
        f"How likely a run of {one} gets more than a run of {other}, which edits levels instead of "
        "making them with a model, in a level of each suite. The dashed line is a draw.",
        "bars",
    )


def learning(content: Content) -> str:
    """Learning curves."""
    if "learning" not in content.drawings:
        shown = paragraph("The runs have no learning curves in their metrics.")
    else:
        shown = chart(
            content.drawings["learning"],
            "Means over seeds" + bands(content.material) + ". Training and held-out levels are "
            "tried once each at some updates; replayed levels are those the agent learns from.",
        )
    return shown + over_training(content)


def over_training(content: Content) -> str:
    """How suites went over training, if policies that the runs kept were evaluated."""
    if "over-training" not in content.drawings:
        return ""
    return (
        "<h3>Suites over training</h3>"
        + chart(
            content.drawings["over-training"],
            f"Share of levels solved by the policies that runs kept: means over seeds"
            f"{bands(content.material)}.",
        )
        + "<details><summary>All numbers</summary>"
        + f"{to_html(content.tables['over-training'])}</details>"
    )


def bands(material: Material) -> str:
    """What the bands round curves are, if there are any."""
    several = any(len(method.trainings) > 1 for method in material.methods)
    return "; bands are one standard error" if several else "; one seed each, so without bands"


def gaps(content: Content) -> str:
    """Gaps, shift and information."""
    text = paragraph(
        "GenGap is the mean return on training levels minus that on held-out ones. ShiftGap is the "
        "mean return on levels as they are drawn in training minus that on training levels. The "
        "Jensen–Shannon distance says how far the drawn levels are from the dataset. I(L; b) is "
        "what the agent's memory tells about the training level it is in; the less it tells, the "
        "smaller GenGap must be."
    )
    caption = (
        f"Means over seeds{bands(content.material)}. Measured live, during training; the table "
        "says where it differs."
    )
    curves = (
        chart(content.drawings["gaps"], caption)
        if "gaps" in content.drawings
        else paragraph("None of this was measured during training.")
    )
    table = content.tables["gaps"]
    return text + curves + (to_html(table) if table.rows else "")


def correlations(content: Content) -> str:
    """How shift goes with what agents do."""
    text = paragraph(
        "The paper's appendix C.1 says that methods rank by their Jensen–Shannon distance from the "
        "dataset, the lowest first, nearly as they rank by their returns on held-out levels, and "
        "that methods farther from it have a larger ShiftGap, but for DR and PLR."
    )
    if "correlations" not in content.drawings:
        return text + paragraph("The shift of these runs was not measured, or is 0 by definition.")
    caption = (
        "Left to right, as far as there is something to show: ranks of methods, with a dashed line "
        "where both are the same; a point for each run; and how far the ranks agree over training, "
        "by live measurements. Hollow: the means that the paper prints, of its own levels."
    )
    tables = "".join(to_html(content.tables[name]) for name in ("ranks", "correlations"))
    return text + chart(content.drawings["correlations"], caption) + tables


def replayed(content: Content) -> str:
    """What the levels are like that agents learned from."""
    if "replayed" not in content.drawings:
        return paragraph("The runs' metrics do not say what the replayed levels were like.")
    known = content.material.dataset is not None
    caption = (
        f"Means under the distribution from which levels are drawn, over seeds"
        f"{bands(content.material)}.{' Dashed: the dataset itself.' if known else ''}"
    )
    return chart(content.drawings["replayed"], caption) + to_html(content.tables["replayed"])


def gallery(pictures: Iterable[Picture], kind: str = "") -> str:
    """Pictures with captions, as many in a row as there is room for."""
    items = "".join(
        f'<li><img src="{as_uri(one.png, "image/png")}" '
        f'alt="{escape(", ".join((one.title, *one.lines)))}">'
        + "".join(f"<span>{escape(line)}</span>" for line in (one.title, *one.lines))
        + "</li>"
        for one in pictures
    )
    return f'<ul class="gallery {kind}">{items}</ul>'


def legend(task: Task) -> str:
    """What pictures are made of."""
    items = "".join(
        f'<li><img src="{as_uri(png, "image/png")}" alt="">{escape(name)}</li>'
        for name, png in legend_of(task)
    )
    return f'<ul class="legend">{items}</ul>'


def buffers(content: Content) -> str:
    """The likeliest levels of each method, and where they come from."""
    parts = [
        paragraph(
            "The levels that the first seed of each method would replay next, the likeliest first, "
            "from the last levels that its run saved."
        ),
        legend(content.material.task),
    ]
    for place, (name, shown) in enumerate(content.buffers.items()):
        if shown is None:
            parts.append(f"<h3>{escape(name)}</h3>" + paragraph("Its run saved no levels."))
        else:
            opened = " open" if place < 2 else ""
            head = f"{escape(name)}, after {shown.update:,} updates, seed {shown.training.seed}"
            parts.append(f"<details{opened}><summary>{head}</summary>{one_buffer(shown)}</details>")
    return "".join(parts)


def one_buffer(shown: Shown) -> str:
    """A gallery, and the lines of descent of the levels with the most ancestors."""
    task = shown.training.run.task
    parts = [gallery(captioned(one, task) for one in shown.kept)]
    for line in shown.lines:
        parts.append(f"<h4>Ancestry of level {number_of(line[-1])}</h4>")
        parts.append(gallery((captioned(one, task) for one in line), "line"))
    if not shown.lines:
        parts.append(paragraph("None of these levels was made from another."))
    return "".join(parts)


def episodes(content: Content) -> str:
    """Agents at play, all of them in one level after the other."""
    reasons = {name: why for name, why in content.episodes.items() if isinstance(why, str)}
    played = {name: some for name, some in content.episodes.items() if not isinstance(some, str)}
    if not played:
        return "".join(paragraph(why) for why in dict.fromkeys(reasons.values()))
    suite = stage_of(content.material)
    where = "" if suite is None else f" of {suite.name}"
    parts = [
        paragraph(
            f"The first seed of each method in the same levels{where}, chosen because agents "
            "differ in them. Lighter tiles are what the agent sees."
        )
    ]
    for level in dict.fromkeys(one.level for some in played.values() for one in some):
        cards = "".join(
            episode_card(name, one)
            for name, some in played.items()
            for one in some
            if one.level == level
        )
        parts.append(f'<h3>Level {level}</h3><ul class="gallery large">{cards}</ul>')
    parts += [paragraph(f"{name}: {why}") for name, why in reasons.items()]
    return "".join(parts)


def episode_card(name: str, one: Episode) -> str:
    """A moving picture, or its last moment for readers who want no motion."""
    how = f"solved in {one.steps} steps" if one.solved else f"not solved in {one.steps} steps"
    cut = f"<span>the first {MOST_FRAMES} are shown</span>" if one.cut else ""
    return (
        '<li><picture><source media="(prefers-reduced-motion: reduce)" '
        f'srcset="{as_uri(one.still, "image/png")}"><img src="{as_uri(one.gif, "image/gif")}" '
        f'alt="{escape(name)} in level {one.level}, {how}"></picture>'
        f"<span>{escape(name)}</span><span>{how}</span>{cut}</li>"
    )


def levels(content: Content) -> str:
    """Where agents do best and worst."""
    parts = [
        paragraph(
            "Levels by what was missing to their optimal return: of levels that were never solved, "
            "the easiest come first. Chosen and judged by the same episodes, so chance has a part."
        )
    ]
    for suite in content.material.suites:
        parts.append(f"<h3>{escape(suite.name)}</h3>")
        if suite.levels is None:
            parts.append(
                paragraph(
                    "The level file of this suite is not known, so there are no pictures; "
                    f"tables/levels-{suite.name}.csv lists the levels by number."
                )
            )
            continue
        best = best_method(content.results[suite.name])
        shown = {m.name: ends(content, suite.name, m) for m in content.material.methods}
        parts.append(shown.pop(best))
        if shown:
            others = "".join(shown.values())
            parts.append(f"<details><summary>Other methods</summary>{others}</details>")
    return "".join(parts)


def ends(content: Content, suite: str, method: Method) -> str:
    """The worst and best levels of one method."""
    parts: list[str] = []
    for kind in ("worst", "best"):
        mine = [
            one
            for one in content.extremes
            if (one.suite, one.method, one.kind) == (suite, method.name, kind)
        ]
        parts.append(f"<h4>{kind.capitalize()} levels for {escape(method.name)}</h4>")
        parts.append(
            gallery(level_caption(one, content.pictures[suite, one.level]) for one in mine)
        )
    return "".join(parts)


def settings(content: Content) -> str:
    """Settings, versions and digests of every run."""
    tables = "".join(
        f'<div class="text">{to_html(content.tables[name])}</div>' for name in ("runs", "settings")
    )
    every = "".join(one_run(m, run) for m in content.material.methods for run in m.runs)
    return f"{tables}<h3>All settings of each run</h3>{every}"


def one_run(method: Method, run: Run) -> str:
    """All that `run.json` says of a run."""
    known = run.record
    entries = [
        ("Folder", str(run.path)),
        ("Seeds", ", ".join(map(str, run.seeds))),
        ("Status", known.status),
        ("Started", known.started),
        ("Ended", known.ended or ""),
        ("Command", " ".join(known.command)),
        *((f"Version of {name}", str(v)) for name, v in known.versions.items()),
        *(
            (f"Levels: {name}", f"{one.path}, digest {one.digest}")
            for name, one in known.levels.items()
        ),
        *(
            (f"Generator: {name}", value)
            for name, value in ({} if known.generator is None else vars(known.generator)).items()
        ),
        *flattened(asdict(run.config)),
    ]
    items = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in entries)
    head = f"{escape(run.path.name)} ({escape(method.name)})"
    return f'<details><summary>{head}</summary><dl class="list">{items}</dl></details>'
