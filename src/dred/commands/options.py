"""Options that several verbs share."""

from typing import Annotated

import tyro

Changes = Annotated[
    tuple[tuple[str, ...], ...],
    tyro.conf.UseAppendAction,
    tyro.conf.arg(name="set", metavar="NAME=VALUE"),
]
"""Other settings to change: `--set a=1 b=2 --set c=3`."""
