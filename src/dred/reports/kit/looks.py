"""Colours and markers that tell names apart, on light and on dark pages."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import cycle
from typing import NamedTuple

COLOURS = (
    *("#d6336c", "#a0714f", "#cf6a1c", "#3b82c4", "#808691", "#a38400", "#4f9a3d"),
    *("#1f9a8c", "#8f6cc9", "#2f6fc0", "#c2410c", "#5f8f1f", "#a15bd0"),
)
MARKERS = "osDv^PX*<>phd"


class Look(NamedTuple):
    """How a name is drawn; the marker is for those who do not see the colour."""

    colour: str
    marker: str


LOOKS = tuple(Look(*both) for both in zip(COLOURS, MARKERS, strict=True))
Looks = Mapping[str, Look]  # by name, in the order of legends


def looks_for(names: Iterable[str], known: Looks) -> dict[str, Look]:
    """Return a look for each name: its own if it is known, or else one that no other name has."""
    wanted = list(dict.fromkeys(names))
    taken = {known[name] for name in wanted if name in known}
    free = (look for look in cycle(all_looks()) if look not in taken)
    return {name: known[name] if name in known else next(free) for name in wanted}


def all_looks() -> Iterator[Look]:
    """Yield every pair of a colour and a marker, first those that differ in both."""
    for shift in range(len(MARKERS)):
        for place, colour in enumerate(COLOURS):
            yield Look(colour, MARKERS[(place + shift) % len(MARKERS)])
