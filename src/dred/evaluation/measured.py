"""Gaps measured after training: what was measured, on what, how sure it is, and the file of it.

`evaluation/gaps/UPDATE-seed-K.csv` has a line for each seed of a run and each measurement of the
agents after an update, by the names in `metrics.jsonl`; K decided headings, actions and draws. The
terminal prints this file and reports show it, so both say the same. What a run measured by itself
while it trained is in `metrics.jsonl`, and is called live wherever it is shown.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dred.errors import DatasetError
from dred.files import write_text
from dred.metrics import Metric
from dred.run_folder import RunFolder

HEADER = ("seed", "metric", "value", "error", "measured_on")
GEN_GAP, BOUND = "gen_gap", "gen_gap_bound"
INFORMATION, ACCURACY = "mutual_information", "probe_accuracy"
TOO_LOW = (
    "The paper's bound holds for the true I(L; b). Ours is estimated by a classifier, which finds "
    "less than there is, so the bound from it is too low, most of all with few levels or few steps "
    "in each"
)


class Measured(NamedTuple):
    """A number, and how far it can be trusted."""

    value: float
    error: float  # standard error over levels; NaN if levels have no part in it
    measured_on: str


class Sizes(NamedTuple):
    """What gaps are measured on."""

    train: int  # training levels
    test: int  # held-out levels
    window: int  # updates over which P_Λ is averaged
    length: int  # steps in each level, from which a classifier guesses


Gaps = Mapping[int, Mapping[str, Measured]]  # by seed of the run and metric


def measured_on(metric: str, sizes: Sizes) -> str:
    """Return what a metric of this name is measured on; empty for others."""
    train, drawn = f"{sizes.train:,} training levels", f"P_Λ over the last {sizes.window:,} updates"
    held_out = f"{sizes.test:,} held-out levels" if sizes.test else "held-out levels"
    steps = f"{train}, {sizes.length:,} steps in each"
    chance = f"chance {100 / max(sizes.train, 1):.1f}\u00a0%"
    return {
        GEN_GAP: f"{train} − {held_out}",
        BOUND: steps,
        "shift_gap": f"{sizes.train:,} levels drawn from {drawn} − {train}",
        "jsd_distance": f"{drawn} against the dataset",
        "jsd_divergence": f"{drawn} against the dataset",
        "effective_levels_averaged": drawn,
        INFORMATION: f"{steps}; at most {math.log(max(sizes.train, 1)):.2f}",
        ACCURACY: f"{steps}; {chance}",
    }.get(metric, "")


def gaps_in(run: RunFolder) -> Path:
    """Return where measurements after training are."""
    return run.path / "evaluation" / "gaps"


def write_gaps(run: RunFolder, update: int, gaps: Gaps, *, seed: int) -> Path:
    """Write measurements of the agents after an update, whole or not at all; return the file."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(HEADER)
    for run_seed, found in gaps.items():
        for metric, (value, error, words) in found.items():
            writer.writerow((run_seed, metric, value, "" if math.isnan(error) else error, words))
    path = gaps_in(run) / f"{update:08d}-seed-{seed}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, stream.getvalue())
    return path


def read_gaps(run: RunFolder, update: int) -> Gaps:
    """Return what was measured of the agents after an update; empty if nothing was.

    Of several files, the one with the lowest seed counts.
    """
    files = {
        int(path.stem.rpartition("-")[2]): path
        for path in gaps_in(run).glob(f"{update:08d}-seed-*.csv")
    }
    return read_file(files[min(files)]) if files else {}


def read_file(path: Path) -> Gaps:
    """Return the measurements in one file."""
    found: dict[int, dict[str, Measured]] = {}
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            for line in csv.DictReader(stream, strict=True):
                one = Measured(
                    float(line["value"]), float(line["error"] or "nan"), line["measured_on"]
                )
                found.setdefault(int(line["seed"]), {})[line["metric"]] = one
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise DatasetError(
            f"{path} is not a table with the columns {', '.join(HEADER)}, so it was not written by "
            "`dred evaluate --gaps`. Move it elsewhere, or measure again."
        ) from error
    return found


def as_lines(gaps: Gaps, metrics: Sequence[Metric]) -> list[str]:
    """Return measurements as they are printed, and what must be said beside them."""
    wide = max((len(metric.label) for metric in metrics), default=0)
    lines: list[str] = []
    for seed, found in gaps.items():
        lines.append(f"seed {seed}")
        for metric in metrics:
            if metric.name in found:
                shown = with_error(metric, found[metric.name])
                words = found[metric.name].measured_on
                lines.append(f"  {metric.label:<{wide}}  {shown:<19}  {words}".rstrip())
        lines += [f"  {sentence}" for sentence in remarks(found)]
    return lines


def with_error(metric: Metric, one: Measured) -> str:
    """Return a number with its standard error, if it has one, and its unit."""
    scale, digits = (100, 1) if metric.percent else (1, 3)
    value = round(scale * one.value, digits) + 0.0  # no −0.000
    known = () if math.isnan(one.error) else (f"{scale * one.error:.{digits}f}",)
    shown = " ± ".join((f"{value:.{digits}f}", *known))
    return f"{shown} {'%' if metric.percent else metric.unit}".rstrip()


def remarks(found: Mapping[str, Measured]) -> list[str]:
    """Return what must be said beside these numbers, so that none seems to contradict another."""
    gap, bound = found.get(GEN_GAP), found.get(BOUND)
    if gap is None or bound is None or gap.value <= bound.value:
        return []
    return [above_the_bound()]


def above_the_bound(whose: str = "") -> str:
    """Return why a GenGap may be above the bound that is printed beside it."""
    return f"GenGap{whose and f' of {whose}'} is above the bound from estimated I(L; b). {TOO_LOW}."
