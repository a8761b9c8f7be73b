"""Every metric of a run, declared once: what it means, how it is shown, and where.

`metrics.csv` has a line for each. The tables in `docs/metrics.md`, panels and tables of reports and
the descriptions in trackers follow from these records, and the features of a task's levels join
them by themselves. `python -m dred.metrics` prints the tables of the document.
"""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from dred.task import Feature

Section = Literal["learning", "gaps", "replayed"]
MEAN = "mean under P_Λ of"
SHARE = "share"  # the unit of what reports show in per cent


@dataclass(frozen=True)
class Metric:
    """A number that runs log at the ends of chunks of updates."""

    name: str
    """What it is called in `metrics.jsonl`."""
    label: str
    """What reports call it."""
    unit: str
    """What it is counted in; may be empty."""
    better: Literal["higher", "lower", ""]
    """In which direction an agent improves; empty if neither."""
    section: Section | Literal[""]
    """Which section of a report has it; empty if none."""
    shown: Literal["curve", "table", ""]
    """Whether the section has a curve of it, or only a row in its table."""
    meaning: str
    """What it is, in a sentence."""
    plain: str = ""
    """What it says and what counts as large, for readers of reports; of all that they have."""

    def __post_init__(self) -> None:
        """Stop at what was declared wrongly."""
        assert self.better in ("higher", "lower", ""), self
        assert self.section in (*get_args(Section), ""), self
        assert self.shown in (("curve", "table") if self.section else ("",)), self

    @property
    def percent(self) -> bool:
        """Return whether it is a share, which reports show in per cent."""
        return self.unit == SHARE

    @property
    def title(self) -> str:
        """Return the label with a capital first, and the unit."""
        unit = f", {self.unit}" if self.unit and not self.percent else ""
        return f"{self.label[:1].upper()}{self.label[1:]}{unit}"

    @property
    def row(self) -> str:
        """Return the label with the unit, as the first cell of a row."""
        return ", ".join(filter(None, (self.label, "per cent" if self.percent else self.unit)))


def _declared() -> tuple[Metric, ...]:
    with Path(__file__).with_name("metrics.csv").open(encoding="utf-8", newline="") as file:
        lines = cast("Iterable[dict[str, Any]]", csv.DictReader(file))
        return tuple(Metric(**line) for line in lines)


METRICS = _declared()


def of_features(features: Mapping[str, Feature]) -> tuple[Metric, ...]:
    """Return the metrics that follow from the features of a task's levels."""
    return tuple(
        Metric(
            name=name,
            label=one.label,
            unit=SHARE if one.percent else "",
            better="",
            section="replayed",
            shown="curve",
            meaning=(meaning := one.meaning or f"{MEAN} {one.label}"),
            plain=in_plain_words(meaning),
        )
        for name, one in features.items()
    )


def in_plain_words(meaning: str) -> str:
    """Return what a feature's metric is as a sentence without symbols."""
    words = meaning.replace(MEAN, "the mean, over levels as they are drawn, of")
    return f"{words[:1].upper()}{words[1:]}."


def in_section(section: Section, features: Mapping[str, Feature]) -> tuple[Metric, ...]:
    """Return what a section of a report has: a task's features first, then the core's own."""
    return tuple(one for one in (*of_features(features), *METRICS) if one.section == section)


def as_table(metrics: Iterable[Metric]) -> str:
    """Return metrics as a table in Markdown."""
    lines = ["| name | meaning | unit | better |", "|---|---|---|---|"]
    for one in metrics:
        cells = (f"`{one.name}`", one.meaning, one.unit, one.better)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the tables of `docs/metrics.md`."""
    from dred.registry import BUILT_IN, find_task

    print(f"## In every run\n\n{as_table(METRICS)}")
    for name in BUILT_IN:
        features = of_features(find_task(name).features)
        print(f"\n## Features of levels: {name}\n\n{as_table(features)}")


if __name__ == "__main__":
    main()
