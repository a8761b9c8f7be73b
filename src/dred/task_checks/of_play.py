"""Checks of how levels are played."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dred.task_checks.case import Case, ChecksItself, NotThereError, Problems

SLACK = 1e-4  # of returns, for rounding


def steps_fit(case: Case) -> Problems:
    """Reset, observe and step have the shapes and types that a compiled loop needs."""
    if case.on_host:
        raise NotThereError("for environments in JAX")
    environment: Any = case.task.environment
    state = jax.eval_shape(
        lambda: environment.reset(case.world, jnp.int32(0), bits=jnp.uint32(case.seed))
    )
    action = case.actions(1, 1, 0)[0, 0]
    after = jax.eval_shape(
        lambda state: environment.step(case.world, state, jnp.asarray(action)), state
    )
    yield from changed(state, after.state)
    for name, kind in (("reward", "f"), ("terminated", "b"), ("truncated", "b")):
        found = getattr(after, name)
        if not hasattr(found, "shape"):
            yield f"step gives {found!r} for {name}: it must be an array, as jnp.bool_(False) is."
        elif found.shape != () or found.dtype.kind != kind:
            wanted = "one float" if kind == "f" else "one truth value"
            yield f"step gives {found.dtype}{list(found.shape)} for {name}: it must be {wanted}."


def changed(before: Any, after: Any) -> Problems:  # noqa: ANN401  (states, as shapes)
    """Return how a state after a step is of another form than before, in words."""
    if jax.tree.structure(before) != jax.tree.structure(after):
        yield (
            f"step changes the form of the state from {jax.tree.structure(before)} to "
            f"{jax.tree.structure(after)}: both must be the same."
        )
        return
    named = jax.tree_util.tree_leaves_with_path(before)
    for (path, one), two in zip(named, jax.tree.leaves(after), strict=True):
        if (one.shape, one.dtype) != (two.shape, two.dtype):
            name = jax.tree_util.keystr(path) or "the state"
            yield (
                f"step changes {name} from {one.dtype}{list(one.shape)} to "
                f"{two.dtype}{list(two.shape)}: both must be the same."
            )


def observations(case: Case) -> Problems:
    """What is seen is finite."""
    trace = case.trace
    for path, leaf in jax.tree_util.tree_leaves_with_path(trace.seen):
        name = jax.tree_util.keystr(path) or "the observation"
        alive = np.concatenate([np.ones((1, leaf.shape[1]), np.bool_), trace.alive])
        shown = leaf[alive]
        if leaf.dtype.kind == "f" and not np.isfinite(shown).all():
            yield f"{name} is not always finite: it has NaN or infinite numbers."
        elif leaf.dtype.kind not in "fiub":
            yield f"{name} is of {leaf.dtype}, not numbers."


def rewards(case: Case) -> Problems:
    """Rewards are finite."""
    paid = case.trace.reward[case.trace.alive]
    if not np.isfinite(paid).all():
        yield "Rewards are not always finite: there are NaN or infinite ones."


def deterministic(case: Case) -> Problems:
    """The same level, chance and actions give the same episode again."""
    again = case.play(np.arange(len(case.levels)))
    same = case.trace.same_as(again)
    if not same.all():
        yield (
            f"Level {int(np.argmin(same))} went another way when it was played again with the same "
            "actions and the same chance. All that is random must come from the bits or the seed "
            "that reset is given, and nothing may be left over from the episode before."
        )


def told_apart(case: Case) -> Problems:
    """Levels are told apart by playing: reset does not ignore its level."""
    if len(case.levels) < 2:
        raise NotThereError("there is one level only")
    count = len(case.levels)
    actions = case.actions(1, len(case.trace.reward), case.seed)
    trace = case.play_with(np.arange(count), np.repeat(actions, count, axis=1))

    def one(place: int) -> Any:  # noqa: ANN401
        return jax.tree.map(lambda leaf: leaf[:, [place]], trace)

    if all(bool(one(0).same_as(one(place)).all()) for place in range(1, count)):
        yield (
            f"All {count} levels go the same way with the same actions and chance: they cannot be "
            "told apart. Does reset (or set_level) use the level that it is given?"
        )


def actions_matter(case: Case) -> Problems:
    """Other actions lead elsewhere."""
    other = case.play(np.arange(len(case.levels)), seed=case.seed + 1)
    if case.trace.same_as(other).all():
        yield "All levels go the same way whatever is done: does step use the action it is given?"


def episodes_end(case: Case) -> Problems:
    """Every episode ends."""
    over = case.trace.ended.any(axis=0)
    if not over.all():
        yield (
            f"The episode in level {int(np.argmin(over))} has not ended after {case.steps} steps "
            "with random actions: let it run out of time (truncated), or allow more with --steps."
        )


def returns(case: Case) -> Problems:
    """Returns stay within what the task says is possible."""
    task, returned = case.task, case.trace.returned
    over = case.trace.ended.any(axis=0)
    returned = np.where(over, returned, 0.0)
    most = float(returned.max())
    if most > task.max_return + SLACK * max(1.0, abs(task.max_return)):
        yield f"An episode returned {most:g}, more than max_return (={task.max_return:g})."
    if task.optimal_returns is None:
        return
    optimal = np.asarray(task.optimal_of(case.levels.levels, case.world))
    if optimal.shape != (len(case.levels),):
        yield f"optimal_returns gives {list(optimal.shape)} numbers for {len(case.levels)} levels."
    elif (returned > optimal + SLACK).any():
        place = int(np.argmax(returned - optimal))
        yield (
            f"An episode in level {place} returned {returned[place]:g}, more than the optimal "
            f"{optimal[place]:g} that optimal_returns gives."
        )
    elif (optimal > task.max_return + SLACK).any():
        yield f"optimal_returns gives {optimal.max():g}, more than max_return."


def solved(case: Case) -> Problems:
    """What counts as solved is said for every return."""
    values = jnp.asarray([0.0, case.task.max_return], jnp.float32)
    found = np.asarray(case.task.is_solved(values))
    if found.shape != (2,) or found.dtype != np.bool_:
        yield f"is_solved gives {found.dtype}{list(found.shape)} for two returns: not truth values."
    elif not found[1]:
        yield f"An episode with max_return (={case.task.max_return:g}) does not count as solved."


def agent(case: Case) -> Problems:
    """An agent takes what is seen, and says as many actions as there are."""
    made, number = case.agent, case.task.environment.num_actions
    seen = jax.tree.map(lambda leaf: jnp.asarray(leaf[:2]), case.trace.seen)
    count = len(case.levels)
    memory = made.initial_memory(count)
    first = jax.tree.map(lambda leaf: leaf[0], seen)
    after, output = made.step(memory, first)
    if output.logits.shape != (count, number):
        yield (
            f"An agent gives {list(output.logits.shape)} log-odds for {count} levels and "
            f"{number} actions."
        )
    if output.value.shape != (count,) or not np.isfinite(output.value).all():
        yield "An agent's values are not one finite number for each level."
    yield from (
        line.replace("step changes", "A step of the agent changes")
        for line in changed(memory, jax.tree.map(jnp.asarray, after))
    )
    begins = jnp.zeros((2, count), jnp.bool_).at[0].set(True)
    whole = made.unroll(seen, begins)
    if not np.allclose(whole.logits[0], output.logits, atol=1e-3):
        yield "An agent's unroll gives other log-odds than its step for the same observations."


def own_rules(case: Case) -> Problems:
    """The environment keeps its own rules: spaces, kinds, and how it is reset."""
    environment = case.task.environment
    if not isinstance(environment, ChecksItself):
        raise NotThereError("no rules of its own")
    yield from environment.problems(case.levels.levels, case.steps, case.seed)
