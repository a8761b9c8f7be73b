"""An environment of one's own, as a task: a corridor with a goal at one of its ends.

At first the agent sees on which side of it the goal is, and must remember that; how far it is to
go it does not see. Levels are lengths and sides.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import dred

LONGEST = 12


class Corridor(dred.Environment):
    """Walk to the end of a corridor: actions are left and right."""

    num_actions: int = eqx.field(static=True, default=2)

    def reset(self, world, level, *, bits):
        """Return an agent in the middle; nothing is left to chance."""
        return {"level": level, "place": jnp.int32(0), "time": jnp.int32(0)}

    def observe(self, world, state):
        """Return where the agent is, in steps from the middle, and which side the goal is on."""
        return {
            "place": state["place"] / LONGEST,
            "side": jnp.where(state["time"] == 0, world["side"][state["level"]], 0),
        }

    def step(self, world, state, action):
        """Go left or right."""
        place = state["place"] + jnp.where(action == 1, 1, -1)
        time = state["time"] + 1
        length = world["length"][state["level"]]
        arrived = place == world["side"][state["level"]] * length
        after = {**state, "place": place, "time": time}
        reward = jnp.where(arrived, 1.0 - 0.5 * time.astype(float) / (2 * LONGEST), 0.0)
        wrong = jnp.abs(place) >= LONGEST
        return dred.Transition(after, reward, arrived | wrong, time >= 2 * LONGEST)


def make_levels(count, seed=0):
    """Return corridors of random lengths, whose goal is on a random side."""
    random = np.random.default_rng(seed)
    return dred.LevelTable(
        {
            "length": random.integers(2, LONGEST // 2, count).astype(np.int32),
            "side": random.choice([-1, 1], count).astype(np.int32),
        }
    )


def stretch(given, settings, key):
    """Propose the parents, one step longer or shorter."""
    more = jax.random.randint(key, given.parents["length"].shape, -1, 2)
    return {**given.parents, "length": jnp.clip(given.parents["length"] + more, 1, LONGEST - 1)}


environment = Corridor()
corridor = dred.Task(
    name="corridor",
    environment=environment,
    level_format=dred.TableFormat("length", "side"),
    new_agent=dred.SimpleAgent(environment, make_levels(1).levels),
    features={"length": dred.Feature("steps to the goal")},
    measure=lambda levels: {"length": np.asarray(levels["length"], np.float64)},
    histogram=lambda levels, weights: (
        np.bincount(levels["length"], weights=weights, minlength=LONGEST + 1)
        / (len(levels["length"]) if weights is None else np.sum(weights))
    ),
    generators={"stretch": dred.Generator(stretch, uses_parents=True)},
)
stretch_dred = dred.Method("stretch-dred", capacity=120, mutation_generator="stretch", admit="all")

if __name__ == "__main__":
    make_levels(64, seed=0).save("corridors.npz")
    make_levels(64, seed=1).save("others.npz")
    here = f"{__file__}:corridor"
    runs = [
        dred.train(
            method,
            levels="corridors.npz",
            held_out="others.npz",
            task=here,
            out=f"runs/{name}",
            preset="smoke",
            updates=600,
            set={"evaluate_every": 0, "probe_every": 0, "ppo.learning_rate": 3e-3},
        )
        for name, method in {"uniform": "uniform", "plr": "plr", "stretch": stretch_dred}.items()
    ]
    for run in runs:
        print(dred.evaluate(run, suites={"others": "others.npz"}))
    dred.report(runs, out="report")
