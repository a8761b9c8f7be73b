"""What tables say about significance: what bold means, or why nothing is tested."""

from collections.abc import Sequence

BOLD = (
    "Bold: best, or not significantly different from the best (Welch's test, p < 0.05); "
    "none if that would be all."
)
UNTESTED = (
    "Significance is not tested: it takes three seeds of each method, whose results are not all "
    "the same."
)
PARTLY = "Where a method's seeds do not differ, nothing is tested."


def bold_note(tested: Sequence[bool], *, word: str = "best") -> str:
    """Return what bold means in a table of comparisons, or why nothing is bold in it."""
    if not tested:
        return ""
    if not any(tested):
        return f"{UNTESTED} "
    return f"{BOLD.replace('best', word)} {'' if all(tested) else f'{PARTLY} '}"
