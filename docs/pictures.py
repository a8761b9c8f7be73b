"""Draw the pictures of README.md and docs/measures.md into docs/images.

    python docs/pictures.py

The ink is dark on light pages and light on dark ones, as in reports.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from dred.evaluation.gaps import gen_gap, shift_gap
from dred.evaluation.shift import jensen_shannon
from dred.evaluation.statistics import Interval, deviation, mean, stratified_bootstrap
from dred.files import write_text
from dred.reports.kit.drawing import to_svg
from dred.reports.kit.figures import INK, REPORT_STYLE, room
from dred.reports.looks import METHOD_LOOKS
from dred.reports.paper import printed
from dred.tasks.gridworld.ways import counted_information

DOCS = Path(__file__).parent
RUNS = DOCS / "tables" / "laptop.csv"
SUITES = {
    "train": "training levels\n(512)",
    "test": "held out\n(2048)",
    "edge": "edge cases\n(448)",
    "hardcore": "Hardcore, 45×45\n(216)",
}
METHODS = {
    "uniform": "512 levels (uniform)",
    "vae-dred": "512 levels, and new ones like them (vae-dred)",
}
FIRST, SECOND = "#3b82c4", "#cf6a1c"


class Bar(NamedTuple):
    """What the seeds of a method solve of a suite, beside what the paper prints."""

    solved: list[float]  # by seed
    value: float
    deviation: float
    interval: Interval  # 95 %, over seeds
    paper: float
    paper_deviation: float


def bar_of(method: str, suite: str) -> Bar:
    """Return what is drawn for a method and a suite."""
    with RUNS.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == method]
    solved = [float(row[f"solved/{suite}"]) for row in rows]
    runs = np.array(solved)
    interval = stratified_bootstrap(mean, runs[:, None], confidences=[0.95])[0.95]
    paper = printed("solved_rate", suite, method)
    assert paper is not None
    assert paper.spread is not None
    return Bar(solved, float(runs.mean()), deviation(runs), interval, paper.mean, paper.spread)


def draw_result() -> Figure:
    """Draw what two methods solve, with a dot for each seed, and what the paper prints."""
    with rc_context({**REPORT_STYLE, "font.size": 11}):
        figure = Figure(figsize=(7.6, 4.4), layout=room())
        axis = figure.add_subplot()
        for place, suite in enumerate(SUITES):
            for side, method in zip((-0.2, 0.2), METHODS, strict=True):
                draw_bar(axis, place + side, bar_of(method, suite), method)
        axis.set_xticks(range(len(SUITES)), list(SUITES.values()))
        axis.set_yticks(np.linspace(0, 1, 6), [f"{share:.0%}" for share in np.linspace(0, 1, 6)])
        axis.set_ylim(0, 1.09)
        axis.grid(axis="x", visible=False)
        axis.tick_params(axis="x", length=0)
        title = "Levels solved, zero-shot, by an agent that was trained on …"
        axis.set_title(title, loc="left", pad=50)
        two_legends(axis)
    return figure


def draw_bar(axis: Any, place: float, bar: Bar, method: str) -> None:  # noqa: ANN401
    """Draw one bar with its seeds, its interval and the paper's value side by side."""
    axis.bar(place, bar.value, width=0.38, color=METHOD_LOOKS[method].colour, alpha=0.55)
    axis.plot([place - 0.1] * len(bar.solved), bar.solved, "o", color=INK, markersize=3)
    axis.vlines(place, *bar.interval, color=INK, linewidth=3.5)
    ends = bar.paper - bar.paper_deviation, bar.paper + bar.paper_deviation
    axis.vlines(place + 0.1, *ends, color=INK, linewidth=1)
    axis.plot(place + 0.1, bar.paper, "D", color=INK, mfc="none", markersize=5)
    axis.text(place, 0.03, f"{bar.value:.0%}", ha="center", color=INK, fontweight="bold")


def two_legends(axis: Any) -> None:  # noqa: ANN401
    """Say above the bars what colours and what marks mean."""
    colours = [axis.bar(0, 0, color=METHOD_LOOKS[method].colour, alpha=0.55) for method in METHODS]
    marks = [
        *axis.plot([], [], "o", color=INK, markersize=3),
        *axis.plot([], [], color=INK, linewidth=3.5),
        *axis.plot([], [], "D", color=INK, mfc="none", markersize=5),
    ]
    names = ["each of five seeds", "95 % interval", "the paper's own, ± s.d."]
    first = axis.legend(
        colours, METHODS.values(), loc="lower left", bbox_to_anchor=(-0.01, 1.05), ncols=2
    )
    axis.legend(marks, names, loc="lower left", bbox_to_anchor=(-0.01, 0.985), ncols=3)
    axis.add_artist(first)


def draw_gaps() -> Figure:
    """Draw the example of docs/measures.md: three means, and the two gaps between them."""
    train, test = np.array([0.9, 0.8, 0.9, 1.0]), np.array([0.9, 0.1, 0.8])
    drawn, weights = np.array([0.9, 0.5, 0.4, 0.4]), np.array([0.4, 0.2, 0.2, 0.2])
    means = (drawn @ weights, train.mean(), test.mean())
    with rc_context(REPORT_STYLE):
        figure = Figure(figsize=(7.2, 3.2), layout=room())
        axis = figure.add_subplot()
        for place, returns in enumerate((drawn, train, test)):
            spread = np.linspace(-0.22, 0.22, len(returns))
            size = 900 * weights if place == 0 else 225.0
            axis.scatter(place + spread, returns, s=size, color=FIRST, alpha=0.45, linewidths=0)
            axis.hlines(means[place], place - 0.32, place + 0.32, color=INK, linewidth=2.2)
        gaps = {
            "ShiftGap": (0.5, means[0], float(shift_gap(drawn, weights, train))),
            "GenGap": (1.5, means[2], float(gen_gap(train, test))),
        }
        for name, (place, end, gap) in gaps.items():
            arrow = {"arrowstyle": "<->", "color": SECOND, "lw": 1.8}
            axis.annotate("", (place, means[1]), (place, end), arrowprops=arrow)
            told = f"{name}\n{gap:+.2f}".replace("-", "−")
            axis.text(
                place - 0.05, (means[1] + end) / 2, told, ha="right", va="center", color=SECOND
            )
        names = (
            "drawn in training\n(large: drawn often)",
            "training levels\n(the dataset)",
            "levels held out\n(never trained on)",
        )
        axis.set_xticks(range(3), names)
        axis.set_xlim(-0.5, 2.5)
        axis.set_ylim(0, 1.1)
        axis.set_ylabel("return in a level")
        axis.grid(axis="x", visible=False)
        axis.tick_params(axis="x", length=0)
    return figure


def draw_shift() -> Figure:
    """Draw pairs of distributions, and how far apart they are."""
    dataset = np.array([0.1, 0.4, 0.4, 0.1, 0.0, 0.0, 0.0, 0.0])
    with rc_context(REPORT_STYLE):
        figure = Figure(figsize=(7.2, 2.3), layout=room())
        for place, steps in enumerate((0, 1, 4)):
            other = np.roll(dataset, steps)
            divergence = jensen_shannon(dataset, other)
            axis = figure.add_subplot(1, 3, place + 1)
            where = np.arange(len(dataset))
            axis.bar(where - 0.2, dataset, width=0.4, color=FIRST, label="the dataset")
            axis.bar(where + 0.2, other, width=0.4, color=SECOND, label="levels drawn")
            axis.set_title(f"distance {np.sqrt(divergence):.2f}", loc="left")
            axis.set_xlabel("some feature of a level")
            axis.set_xticks([])
            axis.set_yticks([0, 0.2, 0.4], ["0", "0.2", "0.4"] if place == 0 else [])
            axis.set_ylim(0, 0.5)
        figure.legend(*axis.get_legend_handles_labels(), loc="outside upper left", ncols=2)
    return figure


def draw_information() -> Figure:
    """Draw what agents do in three levels, counted, and what that tells about the level."""
    agents = {
        "the same in all": [[6, 3, 3]] * 3,
        "follows the moss": [[12, 0, 0], [12, 0, 0], [0, 0, 12]],
        "knows each by heart": [[0, 12, 0], [12, 0, 0], [0, 0, 12]],
    }
    with rc_context(REPORT_STYLE):
        figure = Figure(figsize=(7.2, 2.6), layout=room())
        for place, (name, rows) in enumerate(agents.items()):
            counts = np.array(rows)
            axis = figure.add_subplot(1, 3, place + 1)
            for (row, column), count in np.ndenumerate(counts):
                alpha = 0.1 + 0.5 * count / 12
                axis.bar(column, 0.92, 0.92, row - 0.46, color=FIRST, alpha=alpha)
                axis.text(column, row, count, ha="center", va="center", color=INK)
            axis.set_title(f"{name}:\n{counted_information(counts):.2f} nats", loc="left")
            axis.set_xticks(range(3), ["left", "straight", "right"])
            axis.set_yticks(range(3), ["level (a)", "level (b)", "level (c)"] if place == 0 else [])
            axis.set_ylim(2.5, -0.5)
            axis.grid(visible=False)
            axis.tick_params(length=0)
            axis.spines[:].set_visible(False)
    return figure


def pictures() -> Iterator[tuple[Path, str]]:
    """Yield each picture with the file it belongs into."""
    drawn = {
        "result": draw_result,
        "measures-gaps": draw_gaps,
        "measures-shift": draw_shift,
        "measures-information": draw_information,
    }
    for name, draw in drawn.items():
        yield DOCS / "images" / f"{name}.svg", to_svg(draw())


if __name__ == "__main__":
    for path, svg in pictures():
        write_text(path, svg)
        print(path.name, f"{len(svg) // 1000} kB")
