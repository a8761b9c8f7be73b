"""Spreading the agents of a run over devices: the cores of a CPU, or several accelerators.

Agents play on the device they are given to, and a minibatch is learned from in equal parts, whose
gradients are averaged. All else (scores, buffer, weights) is the same on every device. Small
programs do not split well over the cores inside one XLA device, which is why a CPU shows itself as
several.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from dred.errors import ConfigError

if TYPE_CHECKING:
    from dred.config import PPOConfig

AnyTree = TypeVar("AnyTree")
AGENTS = "agents"
SHARED, BY_AGENT, BY_TIME_AND_AGENT = (
    PartitionSpec(),
    PartitionSpec(AGENTS),
    PartitionSpec(None, AGENTS),
)


def mesh_of(count: int) -> Mesh | None:
    """So many devices, or none if there is just one to use."""
    if count == 1:
        return None
    there = jax.devices()
    if len(there) < count:
        raise ConfigError(
            f"This run is spread over {count} devices, and JAX has {len(there)}. The number must "
            "be known before JAX is first used: start a new process, in which `dred.compute."
            f"use_devices({count})` comes first, as the command line does."
        )
    return Mesh(there[:count], (AGENTS,))


def spread(
    function: Callable[..., Any],
    mesh: Mesh | None,
    *,
    takes: tuple[PartitionSpec, ...],
    gives: PartitionSpec,
) -> Callable[..., Any]:
    """The function, computed by all devices at once, each for its own share of the agents."""
    if mesh is None:
        return function
    return jax.shard_map(function, mesh=mesh, in_specs=takes, out_specs=gives, check_vma=False)


def gathered(tree: Any, mesh: Mesh | None) -> Any:  # noqa: ANN401  (any pytree)
    """The whole of it on every device."""
    if mesh is None:
        return tree
    return jax.lax.with_sharding_constraint(tree, NamedSharding(mesh, SHARED))


def averaged_over_devices(tree: Any, mesh: Mesh | None) -> Any:  # noqa: ANN401  (any pytree)
    """The mean over devices, within a function that is spread over them."""
    return tree if mesh is None else jax.lax.pmean(tree, AGENTS)


def placed(tree: Any, mesh: Mesh | None) -> Any:  # noqa: ANN401  (any pytree)
    """Arrays put on every device.

    Also on a single one: a program is compiled anew for arrays that just happen to be there, as
    those of a run that begins would be, beside those that were read from a file.
    """
    where = jax.devices()[0] if mesh is None else NamedSharding(mesh, SHARED)
    return jax.device_put(tree, where)


def on_device(tree: AnyTree, place: int) -> AnyTree:
    """What is the same on every device, as it is on one of them, by its place.

    Else a program would compute the same on all of them.
    """

    def here(leaf: Any) -> Any:  # noqa: ANN401  (an array, or anything else)
        is_on_several = isinstance(leaf, jax.Array) and len(leaf.sharding.device_set) > 1
        return leaf.addressable_shards[place].data if is_on_several else leaf

    return jax.tree.map(here, tree)


def most_devices(ppo: "PPOConfig", available: int) -> int:
    """The largest number of devices that agents and minibatches can be shared out to equally."""
    return next(count for count in range(max(1, available), 0, -1) if ppo.can_spread(count))
