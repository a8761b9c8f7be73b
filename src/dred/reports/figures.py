"""Figures, drawn with Matplotlib without a display."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from dred.files import replacing

COLOURS = ("#3366cc", "#dc6900", "#109618", "#990099", "#0099a8", "#b82e2e", "#66707a", "#8b6d00")
STYLE: Any = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "svg.hashsalt": "dred",  # the same figure gives the same file
}


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure, whole or not at all; the ending says how."""
    kind = path.suffix.lstrip(".") or "png"
    quiet: dict[str, Any] = {"metadata": {"Date": None}} if kind == "svg" else {}
    with replacing(path) as temporary, rc_context(STYLE):
        figure.savefig(temporary, format=kind, dpi=120, bbox_inches="tight", **quiet)


def panels(titles: Sequence[str], *, columns: int = 3) -> tuple[Figure, list[Any]]:
    """A figure with so many small panels, each with a title."""
    columns = min(columns, len(titles))
    rows = -(-len(titles) // columns)
    with rc_context(STYLE):
        figure = Figure(figsize=(3.4 * columns, 2.5 * rows), layout="constrained")
        axes = [figure.add_subplot(rows, columns, 1 + i) for i in range(len(titles))]
        for axis, title in zip(axes, titles, strict=True):
            axis.set_title(title, fontsize=10, loc="left")
    return figure, axes


def fit_curves(history: Sequence[dict[str, float]], path: Path) -> None:
    """How a fit went: each part of the bound, on the levels fitted to and on those held back."""
    parts = {
        "loss": "loss",
        "elbo": "evidence lower bound, nats",
        "layout": "layout, log p a cell",
        "goal": "goal, log p",
        "start": "start, log p",
        "divergence": "divergence from the prior, nats",
    }
    figure, axes = panels(list(parts.values()))
    epochs = [row["epoch"] for row in history]
    for axis, name in zip(axes, parts, strict=True):
        for where, colour in (("train", COLOURS[0]), ("held_back", COLOURS[1])):
            values = [row[f"{name}/{where}"] for row in history]
            label = "fitted to" if where == "train" else "held back"
            axis.plot(epochs, values, color=colour, label=label, linewidth=1.4)
        low, high = middle_range(
            value
            for row in history[len(history) // 20 :]
            for value in (row[f"{name}/train"], row[f"{name}/held_back"])
        )
        axis.set_ylim(low, high)
        axis.set_xlabel("epoch")
    axes[0].legend()
    save_figure(figure, path)


def middle_range(values: Iterable[float]) -> tuple[float, float]:
    """A range with a little room round these values."""
    some = list(values)
    low, high = min(some), max(some)
    room = 0.05 * (high - low) or 0.1
    return low - room, high + room
