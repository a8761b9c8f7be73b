"""How a fit of the masked model went, in words."""

from collections.abc import Mapping, Sequence


def history_words(history: Sequence[Mapping[str, float]]) -> str:
    """Return the bound at its best, and when that was."""
    if not history:
        return ""
    best = max(history, key=lambda row: row["bound/held_back"])
    return (
        f"bound on the log-likelihood of a level, in nats: {best['bound/held_back']:.1f} on levels "
        f"held back, {best['bound/train']:.1f} on those fitted to; best after epoch "
        f"{best['epoch']:.0f} of {len(history)}, which is kept"
    )
