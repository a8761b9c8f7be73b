"""Policies that come with dred, to have a good agent at once.

policy = dred.pretrained.load("vae-dred")
memory = policy.initial_memory(1)
memory, actions = policy.act(memory, image[None], direction[None])  # as Minigrid's observations

`policies.json` says of each what it was trained on and what it solved when it was measured.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dred.errors import CheckpointError, lookup
from dred.exported_policy import Policy
from dred.exported_policy import load as load_file

FOLDER = Path(__file__).parent


@cache
def catalogue() -> Mapping[str, Mapping[str, Any]]:
    """Return what is known of each policy, by name."""
    return json.loads((FOLDER / "policies.json").read_text(encoding="utf-8"))


def load(name: str) -> Policy:
    """Return a policy by its name, checked against the digest in the catalogue."""
    noted = lookup(catalogue(), name, what="policy that comes with dred")
    try:
        policy = load_file(FOLDER / f"{name}.npz")
    except (OSError, ValueError, KeyError) as error:
        raise CheckpointError(
            f"The policy {name!r} that comes with dred cannot be read: {error}. Install dred anew."
        ) from error
    if policy.meta["digest"] != noted["digest"]:
        raise CheckpointError(
            f"The policy {name!r} is not the one that came with dred: its digest is "
            f"{policy.meta['digest'][:12]}, not {noted['digest'][:12]}. Install dred anew."
        )
    return policy
