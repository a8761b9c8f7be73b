"""The model: a graph encoder, a Gaussian latent, and a decoder with three heads.

GIN layers over the level's graph ─ all layers' outputs, node by node ─ MLP ─ μ, σ
z = μ + σ ε ─ MLP ─ layout (4 classes a cell), goal (a cell), start (a cell)
"""

import itertools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from dred.agents.encoders import widened
from dred.tasks.gridworld.config import VAEConfig
from dred.tasks.gridworld.generators.vae.graph import CLASSES, FEATURES, Graph, sum_of_neighbours

MOMENTUM, EPSILON = 0.1, 1e-5
Seen = list[tuple[Array, Array]]  # means and variances of batches, in the order of the layers


class Linear(eqx.Module):
    """x W + b, with first weights uniform within ±1/√inputs."""

    weight: Float[Array, "input output"]
    bias: Float[Array, " output"] | None

    def __init__(self, inputs: int, outputs: int, *, bias: bool = True, key: PRNGKeyArray) -> None:
        key_weight, key_bias = jax.random.split(key)
        bound = inputs**-0.5
        self.weight = jax.random.uniform(key_weight, (inputs, outputs), minval=-bound, maxval=bound)
        self.bias = (
            jax.random.uniform(key_bias, (outputs,), minval=-bound, maxval=bound) if bias else None
        )

    def __call__(self, inputs: Float[Array, "*batch input"]) -> Float[Array, "*batch output"]:
        """Apply to the last axis."""
        product = inputs @ self.weight
        return product if self.bias is None else product + widened(self.bias, product)


class Norm(eqx.Module):
    """Batch normalisation over all axes but the last."""

    scale: Float[Array, " size"]
    shift: Float[Array, " size"]
    mean: Float[Array, " size"]  # running, for use after training
    variance: Float[Array, " size"]

    def __init__(self, size: int) -> None:
        self.scale, self.shift = jnp.ones(size), jnp.zeros(size)
        self.mean, self.variance = jnp.zeros(size), jnp.ones(size)

    def __call__(
        self, inputs: Float[Array, "*batch size"], seen: Seen | None
    ) -> Float[Array, "*batch size"]:
        """Normalise: by this batch, which is then noted in `seen`, or by the running values."""
        if seen is None:
            mean, variance = jax.lax.stop_gradient((self.mean, self.variance))
        else:
            axes = tuple(range(inputs.ndim - 1))
            mean, variance = inputs.mean(axes), inputs.var(axes)
            seen.append((mean, variance))
        parts = (mean, jax.lax.rsqrt(variance + EPSILON), self.scale, self.shift)
        mean, factor, scale, shift = (widened(part, inputs) for part in parts)
        return (inputs - mean) * factor * scale + shift


class GraphLayer(eqx.Module):
    """One graph isomorphism layer: h ← MLP((1 + ε) h + Σ over neighbours)."""

    epsilon: Float[Array, ""]
    first: Linear
    second: Linear
    norms: tuple[Norm, Norm, Norm]

    def __init__(self, inputs: int, size: int, *, key: PRNGKeyArray) -> None:
        key_first, key_second = jax.random.split(key)
        self.epsilon = jnp.zeros(())
        self.first = Linear(inputs, size, bias=False, key=key_first)
        self.second = Linear(size, size, bias=False, key=key_second)
        self.norms = (Norm(size), Norm(size), Norm(size))

    def __call__(
        self, graphs: Graph, hidden: Float[Array, "batch node input"], seen: Seen | None
    ) -> Float[Array, "batch node size"]:
        """The next hidden values of all nodes."""
        mixed = (1.0 + self.epsilon) * hidden + jax.vmap(sum_of_neighbours)(graphs, hidden)
        for linear, norm in zip((self.first, self.second), self.norms, strict=False):
            mixed = jax.nn.relu(norm(linear(mixed), seen))
        return jax.nn.relu(self.norms[2](mixed, seen))


class Block(eqx.Module):
    """Linear, ReLU, normalisation."""

    linear: Linear
    norm: Norm

    def __init__(self, inputs: int, size: int, *, key: PRNGKeyArray) -> None:
        self.linear, self.norm = Linear(inputs, size, key=key), Norm(size)

    def __call__(
        self, inputs: Float[Array, "batch input"], seen: Seen | None
    ) -> Float[Array, "batch size"]:
        """Apply to a batch."""
        return self.norm(jax.nn.relu(self.linear(inputs)), seen)


class Latent(NamedTuple):
    """A Gaussian for each level, with independent parts."""

    mean: Float[Array, "*batch latent"]
    deviation: Float[Array, "*batch latent"]


class Drawing(NamedTuple):
    """What the decoder draws: log-odds."""

    layout: Float[Array, "*batch cell 4"]
    goal: Float[Array, "*batch cell"]
    start: Float[Array, "*batch cell"]


class LevelVAE(eqx.Module):
    """Encoder and decoder of levels of one size."""

    graph_layers: list[GraphLayer]
    encoder: list[Block]
    to_mean: Linear
    to_deviation: Linear
    decoder: list[Block]
    to_layout: Linear
    to_goal: Linear
    to_start: Linear

    def __init__(self, config: VAEConfig, num_cells: int, *, key: PRNGKeyArray) -> None:
        keys = iter(jax.random.split(key, 64))
        sizes = [FEATURES] + [config.graph_size] * config.graph_layers
        self.graph_layers = [GraphLayer(i, o, key=next(keys)) for i, o in itertools.pairwise(sizes)]
        widths = [num_cells * sum(sizes), *config.encoder_sizes]
        self.encoder = [Block(i, o, key=next(keys)) for i, o in itertools.pairwise(widths)]
        self.to_mean = Linear(widths[-1], config.latent_size, key=next(keys))
        self.to_deviation = Linear(widths[-1], config.latent_size, key=next(keys))
        widths = [config.latent_size, *config.decoder_sizes]
        self.decoder = [Block(i, o, key=next(keys)) for i, o in itertools.pairwise(widths)]
        self.to_layout = Linear(widths[-1], num_cells * len(CLASSES), key=next(keys))
        self.to_goal = Linear(widths[-1], num_cells, key=next(keys))
        self.to_start = Linear(widths[-1], num_cells, key=next(keys))

    def encode(self, graphs: Graph, seen: Seen | None = None) -> Latent:
        """Where in latent space each level of a batch lies."""
        hidden = [graphs.nodes]
        for layer in self.graph_layers:
            hidden.append(layer(graphs, hidden[-1], seen))
        flat = jnp.concatenate(hidden, axis=-1).reshape(graphs.nodes.shape[0], -1)
        for block in self.encoder:
            flat = block(flat, seen)
        return Latent(self.to_mean(flat), jax.nn.softplus(self.to_deviation(flat)))

    def decode(self, latent: Float[Array, "batch latent"], seen: Seen | None = None) -> Drawing:
        """What is drawn at each point of a batch of latents."""
        hidden = latent
        for block in self.decoder:
            hidden = block(hidden, seen)
        layout = self.to_layout(hidden)
        cells = layout.shape[-1] // len(CLASSES)
        return Drawing(
            layout.reshape(-1, cells, len(CLASSES)), self.to_goal(hidden), self.to_start(hidden)
        )


def with_running_values(model: LevelVAE, seen: Seen) -> LevelVAE:
    """The model with its running means and variances moved towards those of a batch."""
    waiting = iter(seen)

    def move(part: object) -> object:
        if not isinstance(part, Norm):
            return part
        mean, variance = next(waiting)
        return eqx.tree_at(
            lambda norm: (norm.mean, norm.variance),
            part,
            (
                part.mean + MOMENTUM * (mean - part.mean),
                part.variance + MOMENTUM * (variance - part.variance),
            ),
        )

    return jax.tree.map(move, model, is_leaf=lambda part: isinstance(part, Norm))
