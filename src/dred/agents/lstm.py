"""The recurrent pass: the hot kernel of training.

An LSTM over whole episodes, for a batch of agents at once, whose memory is cleared wherever an
episode begins:

    i, f, o = σ(zᵢ), σ(z_f), σ(zₒ)    g = tanh(z_g)    z = x Wₓ + h⁻ W_h + b
    c = f c⁻ + i g                    h = o tanh(c)    (h⁻, c⁻) = 0 where an episode begins

It is written for a batch and not for one agent (the one exception to that rule in this project)
because four things make it fast, and all need the batch:

* the input's share of z is one large product over all steps, outside the scan;
* the scan keeps what the backward pass needs, and that pass stacks the gradients with respect to z,
  so that the weights' gradient is one large product too, instead of a sum of T small ones;
* σ(x) = ½ tanh(½x) + ½, with the halving done once to the weights, makes the gates one tanh;
* a step's product is one for all agents, while its element-wise work is cut into four pieces, which
  XLA runs side by side on several cores; each piece keeps its own stack for the backward pass, as
  joining them again would cost what was won.

Measured at 36 agents, 256 steps, hidden size 256, five passes in one program, against the kernel
without pieces (1.00; 182–204 ms per forward and backward pass on two cores at 190 GFLOP/s):

    2, 3, 4, 6, 12 pieces   0.93, 0.89, 0.89, 0.90, 0.93
    4 pieces, joined before they are kept   1.05
    agents cut into two independent scans   1.23
    gates written over z, forwards   0.97; also the gradient over the gates: 6, for hidden copies
    keeping the gates' derivatives, or computing them all before the backward scan   1.03, 1.06
    the bias as a column of the input weights   1.03
    scans unrolled twice, four times   1.00, 1.08
    keeping tanh(z) instead of the gates   1.05

Half of the time goes to the four large products, which reach 110–140 GFLOP/s in these shapes.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from dred.agents.initialise import orthogonal


class Memory(NamedTuple):
    """What a batch of agents remembers."""

    hidden: Float[Array, "env hidden"]
    cell: Float[Array, "env hidden"]


class LSTM(eqx.Module):
    """Weights of an LSTM. The four parts of each last axis belong to the gates i, f, o and g."""

    input_weight: Float[Array, "input gates"]
    recurrent_weight: Float[Array, "hidden gates"]
    bias: Float[Array, " gates"]

    @property
    def size(self) -> int:
        """Return the numbers in the hidden state."""
        return self.recurrent_weight.shape[0]

    @property
    def products(self) -> int:
        """Return one multiplication for each weight."""
        return self.input_weight.size + self.recurrent_weight.size

    def initial(self, num_envs: int) -> Memory:
        """Return a memory of zeros."""
        nothing = jnp.zeros((num_envs, self.size))
        return Memory(nothing, nothing)

    def step(
        self, memory: Memory, inputs: Float[Array, "env input"]
    ) -> tuple[Memory, Float[Array, "env hidden"]]:
        """Return the memory after one step of a batch of agents, and its hidden state."""
        scale = half_of_sigmoids(self.size)
        z = inputs @ (self.input_weight * scale) + self.bias[None] * scale
        z = z + memory.hidden @ (self.recurrent_weight * scale)
        after, _ = remember(open_gates(z), memory.cell)
        return after, after.hidden

    def unroll(
        self,
        inputs: Float[Array, "time env input"],
        begins: Bool[Array, "time env"],
        memory: Memory | None = None,
    ) -> Float[Array, "time env hidden"]:
        """The hidden states over time.

        The memory before the first step, empty if none is given, is lost where an episode begins.
        """
        num_steps, num_envs, size = inputs.shape
        scale = half_of_sigmoids(self.size)
        flat = inputs.reshape(num_steps * num_envs, size) @ (self.input_weight * scale)
        z = (flat + self.bias[None] * scale).reshape(num_steps, num_envs, -1)
        keeps = jnp.where(begins, 0.0, 1.0)
        first = self.initial(num_envs) if memory is None else memory
        return recur(z, self.recurrent_weight * scale, keeps, first)


def new_lstm(input_size: int, hidden_size: int, *, key: PRNGKeyArray) -> LSTM:
    """Orthogonal weights, over the four gates together, and no bias."""
    key_input, key_recurrent = jax.random.split(key)
    return LSTM(
        input_weight=orthogonal(4 * hidden_size, input_size, key=key_input).T,
        recurrent_weight=orthogonal(4 * hidden_size, hidden_size, key=key_recurrent).T,
        bias=jnp.zeros(4 * hidden_size),
    )


def half_of_sigmoids(hidden_size: int) -> Float[Array, "1 gates"]:
    """½ for the gates i, f and o, whose σ is computed as a tanh; 1 for g."""
    return jnp.concatenate([jnp.full(3 * hidden_size, 0.5), jnp.ones(hidden_size)])[None]


class Gates(NamedTuple):
    """How far each gate is open."""

    i: Float[Array, "*batch hidden"]
    f: Float[Array, "*batch hidden"]
    o: Float[Array, "*batch hidden"]
    g: Float[Array, "*batch hidden"]


def open_gates(z: Float[Array, "env gates"]) -> Gates:
    """The gates from z, in which those with a σ are already halved."""
    i, f, o, g = jnp.split(jnp.tanh(z), 4, axis=-1)
    return Gates(0.5 * i + 0.5, 0.5 * f + 0.5, 0.5 * o + 0.5, g)


def remember(
    gates: Gates, cell: Float[Array, "env hidden"]
) -> tuple[Memory, Float[Array, "env hidden"]]:
    """The memory after a step, and tanh(c)."""
    new_cell = gates.f * cell + gates.i * gates.g
    shown = jnp.tanh(new_cell)
    return Memory(gates.o * shown, new_cell), shown


@jax.custom_vjp
def recur(
    z: Float[Array, "time env gates"],
    weight: Float[Array, "hidden gates"],
    keeps: Float[Array, "time env"],
    memory: Memory,
) -> Float[Array, "time env hidden"]:
    """The recurrent part of the pass: the input's share of z in, hidden states out."""
    return _recur_forwards(z, weight, keeps, memory)[0]


class Piece(NamedTuple):
    """What some of the agents' steps leave behind for the backward pass."""

    cell: Float[Array, "*time env hidden"]
    gates: Float[Array, "*time env gates"]


Kept = tuple[
    Float[Array, "time env hidden"],
    tuple[Piece, ...],
    Float[Array, "hidden gates"],
    Float[Array, "time env"],
    Memory,
]


def _recur_forwards(
    z: Float[Array, "time env gates"],
    weight: Float[Array, "hidden gates"],
    keeps: Float[Array, "time env"],
    memory: Memory,
) -> tuple[Float[Array, "time env hidden"], Kept]:
    count = pieces_of(z.shape[1])

    def step(
        before: tuple[Array, list[Array]], now: tuple[Array, Array]
    ) -> tuple[tuple[Array, list[Array]], tuple[Array, tuple[Piece, ...]]]:
        (hidden, cells), (z_t, keep_t) = before, now
        keep = keep_t[:, None]
        product = (hidden * keep) @ weight
        memories: list[Memory] = []
        pieces: list[Piece] = []
        for cell, z_some, product_some, keep_some in zip(
            cells, *(jnp.split(whole, count) for whole in (z_t, product, keep)), strict=True
        ):
            gates = open_gates(z_some + product_some)
            after, _ = remember(gates, cell * keep_some)
            memories.append(after)
            pieces.append(Piece(after.cell, jnp.concatenate(gates, axis=-1)))
        hidden = jnp.concatenate([after.hidden for after in memories])
        return (hidden, [after.cell for after in memories]), (hidden, tuple(pieces))

    begun = (memory.hidden, jnp.split(memory.cell, count))
    _, (hidden, pieces) = jax.lax.scan(step, begun, (z, keeps))
    return hidden, (hidden, pieces, weight, keeps, memory)


def _recur_backwards(
    kept: Kept, hidden_grad: Float[Array, "time env hidden"]
) -> tuple[Array, Array, Array, Memory]:
    """Gradients with respect to z, the weight, (none) the mask, and the first memory."""
    hidden, pieces, weight, keeps, memory = kept
    count = len(pieces)
    cells_before = tuple(
        _one_earlier(piece.cell, first, some)
        for piece, first, some in zip(
            pieces, jnp.split(memory.cell, count), jnp.split(keeps, count, axis=1), strict=True
        )
    )
    transposed = weight.T

    def step(
        later: tuple[Array, list[Array]], now: tuple[Array, tuple[Piece, ...], Any, Array]
    ) -> tuple[tuple[Array, list[Array]], Array]:
        d_hidden, d_cells = later
        grad_t, pieces_t, befores_t, keep_t = now
        keep = keep_t[:, None]
        d_hidden = d_hidden + grad_t
        d_zs: list[Array] = []
        d_befores: list[Array] = []
        for piece, before, d_after, d_shown, keep_some in zip(
            pieces_t,
            befores_t,
            d_cells,
            *(jnp.split(whole, count) for whole in (d_hidden, keep)),
            strict=True,
        ):
            i, f, o, g = jnp.split(piece.gates, 4, axis=-1)
            shown = jnp.tanh(piece.cell)
            d_cell = d_after + d_shown * o * (1.0 - shown * shown)
            # z is halved where there is a σ, so σ' = s (1 − s) comes twice as large.
            d_i = d_cell * g * (2.0 * i * (1.0 - i))
            d_f = d_cell * before * (2.0 * f * (1.0 - f))
            d_o = d_shown * shown * (2.0 * o * (1.0 - o))
            d_g = d_cell * i * (1.0 - g * g)
            d_zs.append(jnp.concatenate([d_i, d_f, d_o, d_g], axis=-1))
            d_befores.append(d_cell * f * keep_some)
        d_z = jnp.concatenate(d_zs)
        return ((d_z @ transposed) * keep, d_befores), d_z

    nothing = jnp.zeros_like(hidden[0])
    ended = (nothing, jnp.split(nothing, count))
    inputs = (hidden_grad, pieces, cells_before, keeps)
    (d_first, d_cells), d_z = jax.lax.scan(step, ended, inputs, reverse=True)
    size = weight.shape[0]
    hidden_before = _one_earlier(hidden, memory.hidden, keeps).reshape(-1, size)
    d_weight = hidden_before.T @ d_z.reshape(-1, 4 * size)
    return d_z, d_weight, jnp.zeros_like(keeps), Memory(d_first, jnp.concatenate(d_cells))


def pieces_of(num_envs: int) -> int:
    """Into how many equal pieces the element-wise work of a step is cut."""
    return next(count for count in (4, 3, 2, 1) if num_envs % count == 0)


def _one_earlier(
    over_time: Float[Array, "time env hidden"],
    first: Float[Array, "env hidden"],
    keeps: Float[Array, "time env"],
) -> Float[Array, "time env hidden"]:
    """What each step received from the one before: nothing where an episode began."""
    shifted = jnp.concatenate([first[None], over_time[:-1]])
    return shifted * keeps[:, :, None]


recur.defvjp(_recur_forwards, _recur_backwards)
