"""Many updates for many seeds, in one compiled program; or one by one, with a simulator."""

from functools import partial

import jax
from jaxtyping import Array, Key

from dred.task import RunContext
from dred.training.state import Metrics, Setup, TrainState, for_each_seed, key_of_update, stacked
from dred.training.update import update


@partial(jax.jit, static_argnames=("num_updates",), donate_argnums=(0,))
def train_chunk(
    states: TrainState,
    keys: Key[Array, " seed"],
    context: RunContext,
    setup: Setup,
    num_updates: int,
) -> tuple[TrainState, Metrics]:
    """So many updates for every seed at once."""

    def one_seed(state: TrainState, key: Array) -> tuple[TrainState, Metrics]:
        def one_update(state: TrainState, _: None) -> tuple[TrainState, Metrics]:
            key_now = key_of_update(key, state.num_updates)
            return update(state, context=context, setup=setup, key=key_now)

        return jax.lax.scan(one_update, state, None, length=num_updates)

    return for_each_seed(one_seed, states, keys)


def train_chunk_on_host(
    states: TrainState,
    keys: Key[Array, " seed"],
    context: RunContext,
    setup: Setup,
    num_updates: int,
) -> tuple[TrainState, Metrics]:
    """So many updates of the one seed that a simulator on the host trains."""
    state = jax.tree.map(lambda leaf: leaf[0], states)
    rows: list[Metrics] = []
    for _ in range(num_updates):
        key = key_of_update(keys[0], state.num_updates)
        state, metrics = update(state, context=context, setup=setup, key=key)
        rows.append(metrics)
    return stacked([state]), stacked([stacked(rows)])
