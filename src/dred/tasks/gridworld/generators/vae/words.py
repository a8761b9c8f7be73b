"""How a fit went, in words."""

from collections.abc import Mapping, Sequence
from typing import Any

LEGEND = (
    "(layout, goal, start: the log-probability that the model gives to those of a level; "
    "divergence: how much its codes of levels tell; bound: on the log-probability of a level. "
    "Nearer to 0 is better; far better on levels fitted to than on those held back is overfitting.)"
)
STILL_FALLING = 0.95  # of all epochs: if the least loss comes after, more would have helped


def history_words(history: Sequence[Mapping[str, float]], *, has_advice: bool = True) -> str:
    """Return how a fit went: its loss, what the numbers are, and whether it was long enough."""
    lines = [
        f"{title}, in nats: {in_nats(history[-1], where)}"
        for where, title in (("train", "levels fitted to"), ("held_back", "levels held back"))
    ]
    epochs = len(history)
    best = round(min(history, key=lambda row: row["loss/held_back"])["epoch"])
    lines += [LEGEND, f"least loss on levels held back: epoch {best} of {epochs}, which is kept"]
    if has_advice and best > STILL_FALLING * epochs:
        lines.append(f"That loss was still falling. Longer may be better: --epochs {2 * epochs}")
    return "\n".join(lines)


def in_nats(row: Mapping[str, Any], where: str) -> str:
    """The parts of the bound after an epoch."""
    return (
        f"layout {row[f'layout/{where}']:.3f} a cell, goal {row[f'goal/{where}']:.2f}, start "
        f"{row[f'start/{where}']:.2f}, divergence {row[f'divergence/{where}']:.1f}, bound "
        f"{row[f'elbo/{where}']:.0f}"
    )
