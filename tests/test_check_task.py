"""`dred check-task` finds what was planted in small tasks, and nothing in good ones."""

import re
from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import dred
from dred.cli import main
from dred.errors import ConfigError
from dred.task_checks.checklist import CHECKS
from dred.tasks.gridworld.levels import make
from dred.tasks.gridworld.task import GRIDWORLD
from tests.tasks.hosted import worlds

LEVELS = dred.LevelTable(
    {
        "length": np.array([2, 3, 4, 5], np.int32),
        "pay": np.array([0.1, 0.2, 0.1, 0.2], np.float32),
    }
)


class Loose(NamedTuple):
    """A transition of which nobody checks the types."""

    state: object
    reward: object
    terminated: object
    truncated: object


class Line(dred.Environment):
    """Go as many steps to the right as the level is long; `wrong` is what is planted."""

    num_actions: int = eqx.field(static=True, default=2)
    wrong: str = eqx.field(static=True, default="")

    def prepare(self, levels):
        world = {name: jnp.asarray(column) for name, column in levels.items()}
        return {name: one[:-1] for name, one in world.items()} if self.wrong == "lost" else world

    def reset(self, world, level, *, bits):
        level = level * 0 if self.wrong == "level" else level
        return {"level": level, "place": jnp.int32(0), "time": jnp.int32(0)}

    def observe(self, world, state):
        bad = jnp.where(state["time"] == 2, jnp.nan, 0.0) if self.wrong == "nan" else 0.0
        return jnp.stack([state["place"] / 8, state["time"] / 8 + bad])

    def step(self, world, state, action):
        right = 1 if self.wrong == "action" else action
        place = state["place"] + right
        time = state["time"] + 1
        time = time.astype(float) if self.wrong == "type" else time
        arrived = place >= world["length"][state["level"]]
        reward = jnp.where(arrived, 5.0 if self.wrong == "return" else 1.0, 0.0)
        over = jnp.bool_(False) if self.wrong == "endless" else time >= 8
        after = {**state, "place": place, "time": time}
        if self.wrong == "shape":
            return Loose(after, jnp.stack([reward, reward]), arrived, over)
        return dred.Transition(after, reward, arrived & (self.wrong != "endless"), over)


class Careless(dred.TableFormat):
    """What is read is not what was written."""

    def load(self, path):
        found = super().load(path)
        columns = {name: column.astype(np.float16) for name, column in found.columns.items()}
        return dred.LevelTable(columns, found.structure)


class NoPictures:
    """Levels that cannot be drawn."""

    def draw_level(self, level, *, size):
        return np.zeros((size, size), np.float32)

    def draw_state(self, level, state, *, size):
        raise NotImplementedError

    def legend(self):
        return {}


def line(wrong="", **changes):
    environment = Line(wrong=wrong)
    task = dred.Task(
        name="line",
        environment=environment,
        level_format=dred.TableFormat("length", "pay"),
        new_agent=dred.SimpleAgent(Line(), LEVELS.levels),
        features={"length": dred.Feature("length")},
        measure=lambda levels: {"length": np.asarray(levels["length"], np.float64)},
        histogram=lambda levels, weights: (
            np.bincount(levels["length"], weights=weights, minlength=9)
            / (len(levels["length"]) if weights is None else np.sum(weights))
        ),
        generators={"same": dred.Generator(lambda given, settings, key: given.parents)},
    )
    return replace(task, **changes)


def rounded(given, settings, key):
    return {**given.parents, "length": given.parents["length"].astype(jnp.float32)}


def hosted(make_env):
    levels = dred.LevelTable(
        {name: LEVELS.levels[name].astype(np.float32) for name in LEVELS.levels}
    )
    return dred.tasks.gymnasium(make_env, levels=levels, box=worlds.BOX)


PLANTED = {
    "a level is lost in the layout": (line("lost"), "levels can be laid out", "3"),
    "a format that changes types": (
        line(level_format=Careless("length", "pay")),
        "the format reads what it writes",
        "float16",
    ),
    "a format without a column": (
        line(level_format=dred.TableFormat("length")),
        "the format reads what it writes",
        "treedef",
    ),
    "a reward of two numbers": (line("shape"), "step fits reset", r"\[2\] for reward"),
    "a state that changes its type": (line("type"), "step fits reset", r"'time'.*int32.*float32"),
    "observations that are no numbers": (line("nan"), "observations are finite", "NaN"),
    "episodes that never end": (line("endless"), "episodes end", "30 steps"),
    "a reset that ignores its level": (line("level"), "levels are told apart", "same way"),
    "actions that are ignored": (line("action"), "actions matter", "whatever is done"),
    "returns above the largest": (line("return"), "returns are within bounds", "max_return"),
    "optimal returns that are beaten": (
        line(optimal_returns=lambda levels, world: jnp.full(4, 0.5)),
        "returns are within bounds",
        "optimal",
    ),
    "nothing counts as solved": (
        line(is_solved=lambda returned: returned > 2),
        "solved is said",
        "does not count",
    ),
    "an agent with other actions": (
        line(new_agent=dred.SimpleAgent(Line(num_actions=3), LEVELS.levels)),
        "an agent fits",
        r"\[4, 3\] log-odds",
    ),
    "features of another length": (
        line(measure=lambda levels: {"length": np.zeros(7)}),
        "features fit levels",
        r"\[7\] numbers",
    ),
    "features of another name": (
        line(measure=lambda levels: {"size": np.zeros(4)}),
        "features fit levels",
        "size",
    ),
    "a histogram that is none": (
        line(histogram=lambda levels, weights: np.ones(3)),
        "the histogram is a distribution",
        "sums to 3",
    ),
    "a histogram without weights": (
        line(
            histogram=lambda levels, weights: (
                np.bincount(levels["length"], minlength=9) / len(levels["length"])
            )
        ),
        "the histogram is a distribution",
        "does not follow",
    ),
    "a generator of other levels": (
        line(generators={"rounded": dred.Generator(rounded)}),
        "generators make such levels",
        "'rounded'.*float32",
    ),
    "pictures that are none": (line(pictures=NoPictures()), "levels can be drawn", "float32"),
    "chance besides the seed": (hosted(worlds.Forgetful), "episodes repeat exactly", "another way"),
    "something left over": (hosted(worlds.Leftover), "episodes repeat exactly", "left over"),
    "a hosted level that is ignored": (hosted(worlds.Deaf), "levels are told apart", "same way"),
    "observations outside the space": (
        hosted(worlds.Outside),
        "the environment keeps its own rules",
        "outside of observation_space",
    ),
    "ends that are numbers": (
        hosted(worlds.Unsure),
        "the environment keeps its own rules",
        "int for terminated",
    ),
    "a hosted episode without an end": (hosted(worlds.Endless), "episodes end", "not ended"),
    "an environment without a picture": (
        hosted(worlds.Blind),
        "levels can be drawn",
        "did not draw itself",
    ),
    "an environment that fails": (hosted(worlds.Failing), "rewards are finite", "gears are stuck"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_what_was_planted_is_found(name):
    task, check, words = PLANTED[name]
    levels = task.default_levels()["train"] if task.default_levels else LEVELS
    (found,) = dred.check_task(task, levels, steps=30, only=[check]).checks
    assert found.state == "wrong"
    assert re.search(words, " ".join(found.words)), found


def test_levels_that_are_the_same_are_found():
    twice = LEVELS[np.array([0, 1, 1])]
    (found,) = dred.check_task(line(), twice, steps=30, only=["levels differ"]).checks
    assert found.words == ("Levels 1 and 2 are the same: leave one of them out.",)


@pytest.mark.parametrize("task", [line(), hosted(worlds.make_walk)], ids=["jax", "hosted"])
def test_nothing_is_found_in_a_good_task(task):
    found = dred.check_task(task, None if task.default_levels else LEVELS, steps=30)
    assert not found.wrong, found
    assert {one.name for one in found.checks} == set(CHECKS)


def test_nothing_is_found_in_the_gridworld():
    levels = make("cave-escape-train", count=4)
    assert not dred.check_task(GRIDWORLD, levels, steps=300).wrong


def test_the_command_prints_the_list_and_fails_if_something_is_wrong(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text(
        "import dred\nfrom tests.tasks.hosted import worlds\n"
        "good = dred.tasks.gymnasium(worlds.make_walk, box=worlds.BOX)\n"
        "deaf = dred.tasks.gymnasium(worlds.Deaf, box=worlds.BOX)\n"
    )
    (tmp_path / "x.csv").write_text("length,pay\n1,0.1\n3,0.9\n")
    words = ["--levels", str(tmp_path / "x.csv"), "--steps", "20"]
    main(["check-task", f"{file}:good", *words])
    assert "nothing is wrong" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["check-task", f"{file}:deaf", *words])
    assert ended.value.code == 1
    said = capsys.readouterr().out
    assert "WRONG     levels are told apart" in said
    with pytest.raises(ConfigError, match="--levels FILE"):
        dred.check_task(line())
