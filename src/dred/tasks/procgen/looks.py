"""The colours and markers of strategies, which are always the same."""

from collections.abc import Sequence

from dred.reports.kit.looks import LOOKS, Look, looks_for
from dred.reports.looks import METHOD_LOOKS
from dred.tasks.procgen.outcomes import STRATEGIES, UNIFORM, Outcome, strategies_of

STRATEGY_LOOKS = {
    UNIFORM: METHOD_LOOKS[UNIFORM],
    **dict(
        zip((one for one in STRATEGIES if one != UNIFORM), LOOKS[len(METHOD_LOOKS) :], strict=False)
    ),
}


def looks_of(outcomes: Sequence[Outcome]) -> dict[str, Look]:
    """Return the look of each strategy, all different."""
    return looks_for(strategies_of(outcomes), STRATEGY_LOOKS)
