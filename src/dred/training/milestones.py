"""When the policies of a run are kept for good, so that any suite can be played over training."""

TENTHS = 10


def milestones(num_updates: int, chunk: int) -> frozenset[int]:
    """Return the updates after which policies are kept, in a run of so many updates.

    Kept are the ends of chunks nearest to 1, 2, 4, 8, … updates and to every tenth of training, the
    last among them; of two that are equally near, the earlier. They are at most
    ⌊log₂ num_updates⌋ + 11, and depend on nothing else, so a run that was interrupted keeps the
    same ones.
    """
    ends = [*range(chunk, num_updates, chunk), num_updates]
    powers = [2**exponent for exponent in range(num_updates.bit_length())]
    tenths = [num_updates * place / TENTHS for place in range(1, TENTHS + 1)]
    return frozenset(
        min(ends, key=lambda end, wanted=wanted: abs(end - wanted)) for wanted in (*powers, *tenths)
    )
