"""A step of an optimiser."""

from typing import Any, TypeVar, cast

import equinox as eqx
import jax
import optax

ParametersT = TypeVar("ParametersT")


def moved(
    optimiser: optax.GradientTransformation,
    state: optax.OptState,
    parameters: ParametersT,
    gradient: ParametersT,
) -> tuple[ParametersT, optax.OptState]:
    """Return parameters, any pytree, and the state of an optimiser after a step.

    Optax counts in whole numbers and reckons with them, so kinds of numbers may mix in there.
    """
    with jax.numpy_dtype_promotion("standard"):
        changes, state = optimiser.update(cast(Any, gradient), state)
    return cast(ParametersT, eqx.apply_updates(parameters, changes)), state
