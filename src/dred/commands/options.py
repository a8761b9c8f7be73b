"""Options that several verbs share."""

from pathlib import Path
from typing import Annotated

import tyro

Changes = Annotated[
    tuple[tuple[str, ...], ...],
    tyro.conf.UseAppendAction,
    tyro.conf.arg(name="set", metavar="NAME=VALUE"),
]
"""Other settings to change: `--set a=1 b=2 --set c=3`."""

Plugins = Annotated[tuple[Path, ...], tyro.conf.arg(name="plugin", metavar="FILE.py")]
"""Files that register scores, generators, methods or tasks: `--plugin mine.py`."""

Place = Annotated[Path | None, tyro.conf.arg(metavar="PATH")]
"""A file or a folder that need not be given."""
