"""A study in one table: a line for each run that is finished."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from dred.files import write_text
from dred.studies.jobs import RunJob

Line = dict[str, object]


def write_summary(
    folder: Path, jobs: Sequence[RunJob], known: dict[str, Line] | None = None
) -> Path:
    """Write `summary.csv` into the folder of a study; its path.

    `known` are the lines of runs, by name, that were finished before. It takes in those that are
    new: so a study of many runs reads each of them once, and not once for each that is finished.
    """
    found = {} if known is None else known
    for job in jobs:
        if job.name not in found and job.state() == "finished":
            found[job.name] = job.summary()
    lines = [found[job.name] for job in jobs if job.name in found]
    columns = list(dict.fromkeys(name for line in lines for name in line))
    text = io.StringIO()
    table = csv.DictWriter(text, columns, lineterminator="\n")
    table.writeheader()
    table.writerows(lines)
    path = folder / "summary.csv"
    write_text(path, text.getvalue())
    return path
