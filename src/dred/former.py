"""What settings were called before, so that old runs open and old names in files are explained."""

from collections.abc import Mapping
from typing import cast

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
}
_VALUES = {("method.initial_buffer", "nothing"): "empty"}
FORMER_METRICS = {"clipped": "clip_fraction", "divergence": "approx_kl"}


def new_name(name: str) -> str | None:
    """Return what a setting is called now that had this name, if it was renamed.

    The name may leave out the outer part, as in a table of its own.
    """
    for old, new in RENAMED.items():
        if name == old or (name == old.rpartition(".")[2] and "." not in name):
            return new
    return None


def modern(table: Mapping[str, object]) -> dict[str, object]:
    """Return a table of settings, as an old file has it, with the names of today."""
    found: dict[str, object] = {}
    for path, value in _flat(table).items():
        name = RENAMED.get(path, path)
        _put(found, name.split("."), _VALUES.get((name, str(value)), value))
    return found


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
