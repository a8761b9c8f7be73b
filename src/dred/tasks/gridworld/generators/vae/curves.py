"""The figure of how a fit went."""

from collections.abc import Sequence
from pathlib import Path

from dred.reports.kit.figures import COLOURS, middle_range, panels, save_figure

PARTS = {
    "loss": "loss",
    "elbo": "evidence lower bound, nats",
    "layout": "layout, log p a cell",
    "goal": "goal, log p",
    "start": "start, log p",
    "divergence": "divergence from the prior, nats",
}


def fit_curves(history: Sequence[dict[str, float]], path: Path) -> None:
    """Draw each part of the bound, on the levels fitted to and on those held back."""
    figure, axes = panels(list(PARTS.values()))
    epochs = [row["epoch"] for row in history]
    for axis, name in zip(axes, PARTS, strict=True):
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
