"""The settings of a report: every row of the paper's table of hyperparameters, ours beside it.

`paper_settings.csv` is the paper's table:hyperparams as it is printed: a parameter, in the group
under which it stands, for Procgen and for Minigrid. Its caption says that parameters are "only
reported if they change from the method above", and its text whose parameters a method takes over
[fidelity 36].
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Literal, NamedTuple

from dred.config import MethodConfig, PPOConfig
from dred.reports.kit.table import NOTHING, Cell, Table
from dred.reports.material import Material, Method
from dred.reports.variants import differences, settings_of

Domain = Literal["procgen", "minigrid"]
BUFFER, MIXING, SCORE = "Buffer size, K", "Mixing coefficient, η", "Scoring function"
EDITS = "edits"  # the parameters of ACCEL that are about edits

# Which groups of the table hold for a method; what a later one has counts.
_DRED = ("PPO", "PLR", "VAE-DRED")
_EDITED = ("PPO", "PLR", EDITS, "VAE-DRED")
GROUPS: Mapping[Domain, Mapping[str, tuple[str, ...]]] = {
    "minigrid": {
        "uniform": ("PPO",),
        "dr": ("PPO",),
        "plr": ("PPO", "PLR"),
        "rplr": ("PPO", "PLR", "RPLR"),
        "accel": ("PPO", "PLR", "RPLR", "ACCEL"),
        "accel-d": _EDITED,
        "el-dred": _EDITED,
        "vae-dred": _DRED,
    },
    "procgen": {
        "uniform": ("PPO",),
        "value-l1": ("PPO", "PLR"),
        "mi": ("PPO", "PLR"),
        "value-l1+uniform": ("PPO", "PLR"),
        "value-l1+mi": ("PPO", "PLR"),
    },
}
# What the paper says in its text instead.
_ROOM = "512 as PLR, or 4000 as ACCEL"  # the text speaks for the first, the caption for the second
IN_TEXT: Mapping[tuple[str, str], str] = {
    ("accel-d", MIXING): "1 throughout training",
    ("accel-d", BUFFER): _ROOM,
    ("el-dred", BUFFER): _ROOM,
    ("vae-dred", BUFFER): _ROOM,
    ("mi", SCORE): "mutual information",
}


@dataclass(frozen=True)
class Setup:
    """What a method was run with."""

    name: str  # of its column
    method: MethodConfig
    ppo: PPOConfig
    num_levels: int | None  # in the training set; None if that is not known
    normalises: bool = False  # whether returns are scaled before learning


class Parameter(NamedTuple):
    """A row of the table: what the paper calls it, what it is called here, and how it is read."""

    name: str
    setting: str
    read: Callable[[Setup], object]


def plain(name: str, setting: str) -> Parameter:
    """Return a parameter that is one setting."""
    return Parameter(name, setting, attrgetter(setting))


def second(name: str, field: str) -> Parameter:
    """Return a parameter of the secondary term, which not every method has."""
    return Parameter(
        name,
        f"method.secondary.{field}",
        lambda setup: setup.method.secondary and getattr(setup.method.secondary, field),
    )


def fixed(name: str, setting: str, value: str) -> Parameter:
    """Return what edits do, for methods that edit, without a setting for it."""
    return Parameter(
        name, setting, lambda setup: value if setup.method.mutation_generator == "edits" else None
    )


def capacity(setup: Setup) -> object:
    """Levels that the buffer holds, which may be as many as there are in the dataset."""
    return setup.method.capacity or setup.num_levels or "as many as the dataset"


def mixing(setup: Setup) -> str | None:
    """η over training, in words."""
    if setup.method.secondary is None:
        return None
    eta = setup.method.eta
    when = (
        "" if (eta.begins, eta.ends) == (0, 1) else f", {eta.begins:g} to {eta.ends:g} of training"
    )
    return f"{eta.shape} from {eta.start:g} to {eta.end:g}{when}"


PARAMETERS = (
    plain("γ", "ppo.discount"),
    plain("λ_GAE", "ppo.gae_lambda"),
    plain("PPO rollout length", "ppo.num_steps"),
    plain("PPO epochs", "ppo.epochs"),
    plain("PPO minibatches per epoch", "ppo.num_minibatches"),
    plain("PPO clip range", "ppo.clip"),
    plain("PPO number of workers", "ppo.num_envs"),
    plain("Adam learning rate", "ppo.learning_rate"),
    plain("Adam ε", "ppo.adam_epsilon"),
    plain("PPO max gradient norm", "ppo.max_gradient_norm"),
    Parameter("PPO value clipping", "value clipping", lambda _: "yes"),
    Parameter(
        "return normalisation",
        "return normalisation",
        lambda setup: "yes" if setup.normalises else "no",
    ),
    plain("value loss coefficient", "ppo.value_coefficient"),
    plain(SCORE, "method.primary.score"),
    plain("Replay rate, p", "method.replay_prob"),
    Parameter(BUFFER, "method.capacity", capacity),
    plain("Prioritisation", "method.primary.transform"),
    plain("Temperature", "method.primary.temperature"),
    plain("Staleness coefficient, ρ", "method.staleness"),
    fixed("Edit rate, q", "edit rate", "1.0"),
    fixed("Edit method", "edit method", "random"),
    fixed("Levels edited", "levels edited", "easy"),
    plain("Scoring function support", "method.primary.over"),
    plain("Staleness support", "method.staleness_over"),
    second("Secondary Scoring function", "score"),
    second("Secondary Scoring function support", "over"),
    second("Secondary Temperature", "temperature"),
    Parameter(MIXING, "method.eta", mixing),
)


@cache
def printed_settings() -> dict[tuple[str, str], dict[str, str]]:
    """Return the paper's table, by group and parameter: what it prints for each domain."""
    path = Path(__file__).with_name("paper_settings.csv")
    with path.open(encoding="utf-8", newline="") as file:
        return {(row.pop("group"), row.pop("parameter")): row for row in csv.DictReader(file)}


def paper_value(parameter: str, method: str, domain: Domain) -> str:
    """Return what the paper ran a method with; nothing if it does not say."""
    groups = GROUPS[domain].get(method, ())
    if groups and (method, parameter) in IN_TEXT:
        return IN_TEXT[method, parameter]
    table = printed_settings()
    about_edits = ("PLR", parameter) not in table
    for group in reversed(groups):
        key = ("ACCEL" if group == EDITS else group, parameter)
        if key in table and (group != EDITS or about_edits):
            return table[key][domain]
    return ""


def settings_table(material: Material) -> Table:
    """Return the paper's parameters of each method, then all else in which methods differ."""
    others = differing(material.methods)
    return table_of([setup_of(material, method) for method in material.methods], "minigrid", others)


def setup_of(material: Material, method: Method) -> Setup:
    """Return what a method was run with."""
    count = None if material.dataset is None else len(material.dataset)
    return Setup(method.name, method.config.method, method.config.ppo, count)


def table_of(
    setups: Sequence[Setup], domain: Domain, others: Sequence[tuple[str, ...]] = ()
) -> Table:
    """A column for each method with the paper's value in small print; `others` are more rows."""
    names = [setup.name for setup in setups]
    rows: list[tuple[Cell, ...]] = []
    data: list[tuple[str, ...]] = []
    for name, setting, read in PARAMETERS:
        ours = [as_text(read(setup)) for setup in setups]
        theirs = [paper_value(name, setup.method.name, domain) for setup in setups]
        cells = (Cell(one, paper=other) for one, other in zip(ours, theirs, strict=True))
        rows.append((Cell(setting, name), *cells))
        data.append((setting, *ours, name, *theirs))
    listed = {parameter.setting for parameter in PARAMETERS}
    more = [row for row in others if row[0] not in listed]
    return Table(
        "settings",
        "Settings",
        ("Setting", *names),
        (*rows, *(tuple(map(Cell, row)) for row in more)),
        ("setting", *names, "parameter", *(f"paper {name}" for name in names)),
        (*data, *((*row, "", *("" for _ in names)) for row in more)),
        "First all that the paper lists, under its name for it, and after “paper” its value where "
        "it tells one; then everything else in which the methods differ. What has no dot in its "
        "name cannot be changed.",
    )


def as_text(value: object) -> str:
    """Return a setting as tables show it."""
    return NOTHING if value is None else str(value)


def differing(methods: Sequence[Method]) -> list[tuple[str, ...]]:
    """Return the settings in which methods differ, each with the value of each method."""
    found = differences([settings_of(method.runs[0]) for method in methods])
    return [(key, *values) for key, values in found.items()]
