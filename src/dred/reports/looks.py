"""The colours and markers of methods: those of the paper's methods are always the same."""

from dred.reports.kit.looks import LOOKS, Look, looks_for
from dred.reports.material import ORDER, Material

METHOD_LOOKS: dict[str, Look] = dict(zip(ORDER, LOOKS, strict=False))


def looks_of(material: Material) -> dict[str, Look]:
    """Return the look of each method of a report, all different."""
    return looks_for((method.name for method in material.methods), METHOD_LOOKS)
