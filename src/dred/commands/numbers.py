"""Numbers on the command line, and what is said of words that are none."""

from collections.abc import Callable
from typing import Any

from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

NUMBERS = ConstructorRegistry()
KINDS: dict[type[int | float], tuple[str, str]] = {
    int: ("INT", "a whole number"),
    float: ("FLOAT", "a number"),
}


@NUMBERS.primitive_rule
def number(info: PrimitiveTypeInfo) -> "PrimitiveConstructorSpec[Any] | None":
    """Return how tyro reads a number, also one that need not be given."""
    for kind, (metavar, words) in KINDS.items():
        if info.type in (kind, kind | None):
            return PrimitiveConstructorSpec(
                nargs=1,
                metavar=metavar,
                instance_from_str=reader_of(kind, words, may_be_none=info.type is not kind),
                is_instance=lambda value, kind=kind: value is None or isinstance(value, kind | int),
                str_from_instance=lambda value: [str(value)],
            )
    return None


def reader_of(
    kind: type[int | float], words: str, *, may_be_none: bool
) -> Callable[[list[str]], int | float | None]:
    """Return a function that reads a number, and says what it expected if there is none."""

    def read(given: list[str]) -> int | float | None:
        if may_be_none and given == ["None"]:
            return None
        try:
            return kind(given[0])
        except ValueError:
            raise ValueError(f"expected {words}, found {given[0]!r}") from None

    return read
