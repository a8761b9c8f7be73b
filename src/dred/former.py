"""What settings and arrays were called before, so that old runs open and old names are explained.

A run whose `run.json` has no format number is of format 1, and its settings and arrays have these
names.
"""

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar, cast

Value = TypeVar("Value")

RENAMED = {
    "ppo.trace": "ppo.gae_lambda",
    "ppo.final_learning_rate": "ppo.final_lr_fraction",
    "ppo.cpu_piece": "ppo.cpu_microbatch_size",
    "ppo.hidden_size": "agent.hidden_size",
    "ppo.encoder": "agent.encoder",
    "method.begins_with": "method.initial_buffer",
    "method.new": "method.new_level_generator",
    "method.after": "method.mutation_generator",
    "method.after_eta": "method.mutation_min_eta",
    "method.replay": "method.replay_prob",
    "method.least_full": "method.min_fill_fraction",
    "method.score_trace": "method.score_gae_lambda",
    "method.max_clutter": "method.generator_settings.random.max_clutter",
    "method.num_edits": "method.generator_settings.edits.num_edits",
    "method.num_pairs": "method.generator_settings.vae.num_pairs",
    "method.with_ends": "method.generator_settings.vae.with_ends",
    "held_back": "validation_fraction",
    "turns": "augment_symmetries",
    "games": "tasks",
    "strategies": "methods",
}
FORMER_METRICS = {"clipped": "clip_fraction", "divergence": "approx_kl"}
_STRATEGY = "strategy."  # what a method was called in Procgen, with the same settings
_VALUES = {
    ("initial_buffer", "nothing"): "empty",
    ("score", "doubt"): "level_nll",
    ("encoder", "tiles"): "",  # which goes without saying, as it is the gridworld's first
}
# Settings that old files spell out, and that are left out today where they are as usual.
_USUAL = {"max_clutter": 60, "num_edits": 3, "num_pairs": 6, "with_ends": True}
_FORMER_ENCODER = "convolution"  # where an old file does not say
# The path of an array begins with its number; that of a policy alone has no learner.
_ARRAYS = (
    (re.compile(r"^(\d+(?:\[0\])?(?:\.learner)?)\.network\."), r"\1.agent."),
    (re.compile(r"\.lstm\."), ".cell."),
)


def new_name(name: str) -> str | None:
    """Return what a setting is called now that had this name, if it was renamed.

    The name may leave out the outer part, as in a table of its own.
    """
    if name.startswith(_STRATEGY):
        today = f"method.{name.removeprefix(_STRATEGY)}"
        return RENAMED.get(today, today)
    for old, new in RENAMED.items():
        if name == old or (name == old.rpartition(".")[2] and "." not in name):
            return new
    return None


def modern(table: Mapping[str, object]) -> dict[str, object]:
    """Return a table of settings, as an old file has it, as it would be written today."""
    found: dict[str, object] = {}
    flat = _flat(table)
    if "ppo" in table:
        flat.setdefault("ppo.encoder", _FORMER_ENCODER)
    for path, value in flat.items():
        name = RENAMED.get(path, path)
        last = name.rpartition(".")[2]
        if ".generator_settings." not in name or value != _USUAL.get(last):
            _put(found, name.split("."), _VALUES.get((last, str(value)), value))
    return found


def with_modern_names(arrays: Mapping[str, Value], expected: Iterable[str]) -> dict[str, Value]:
    """Return arrays of a checkpoint by their names of today, if it lacks some that are expected."""
    if all(name in arrays for name in expected):
        return dict(arrays)
    return {_modern_array(name): array for name, array in arrays.items()}


def _modern_array(name: str) -> str:
    for pattern, now in _ARRAYS:
        name = pattern.sub(now, name)
    return name


def _flat(table: Mapping[str, object], before: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in table.items():
        if isinstance(value, Mapping) and value:
            flat |= _flat(cast("Mapping[str, object]", value), f"{before}{name}.")
        else:
            flat[f"{before}{name}"] = value
    return flat


def _put(table: dict[str, object], path: list[str], value: object) -> None:
    for name in path[:-1]:
        table = cast("dict[str, object]", table.setdefault(name, {}))
    table[path[-1]] = value
