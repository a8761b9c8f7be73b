"""A study in one table: a line for each run that is finished."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from dred.files import write_text
from dred.studies.jobs import RunJob


def write_summary(folder: Path, jobs: Sequence[RunJob]) -> Path:
    """Write `summary.csv` into the folder of a study; its path."""
    lines = [job.summary() for job in jobs if job.state() == "finished"]
    columns = list(dict.fromkeys(name for line in lines for name in line))
    text = io.StringIO()
    table = csv.DictWriter(text, columns, lineterminator="\n")
    table.writeheader()
    table.writerows(lines)
    path = folder / "summary.csv"
    write_text(path, text.getvalue())
    return path
