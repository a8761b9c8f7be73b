"""What training needs of an environment. Levels, worlds, states and views are any pytrees.

An environment is a set of pure functions. Levels are first *prepared*, all at once, into a world
that is laid out for speed and never changes; an agent in it is a small state that says, among other
things, which level of the world it is in. To begin another level is to change a number, so nothing
large is ever copied. Functions are written for one agent; batches are the caller's `vmap`, over
states but not over the world.

Chance comes in as random bits that the caller has drawn, all of a rollout's at once: deriving a key
for each agent and step would cost several times the step itself (measured with a new level at each
episode's end: 1.4 against 9.0 million steps a second with 32 agents, 3.4 against 11.0 with 4096).
"""

from typing import Generic, Protocol, TypeVar, runtime_checkable

import equinox as eqx
from jaxtyping import Array, Bool, Float, Int, UInt32

LevelsT = TypeVar("LevelsT", contravariant=True)
WorldT = TypeVar("WorldT")
StateT = TypeVar("StateT")
ViewT = TypeVar("ViewT", covariant=True)


class Move(eqx.Module, Generic[StateT]):
    """What an action did."""

    state: StateT
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]  # the level is over: no future reward
    truncated: Bool[Array, ""]  # out of time: the future is still worth something


@runtime_checkable
class Environment(Protocol[LevelsT, WorldT, StateT, ViewT]):
    """The functions that an environment gives. `Gridworld` is the first."""

    @property
    def num_actions(self) -> int:
        """Actions are 0 … num_actions − 1."""
        ...

    def prepare(self, levels: LevelsT) -> WorldT:
        """A batch of levels, laid out for playing."""
        ...

    def begin(self, world: WorldT, level: Int[Array, ""], *, chance: UInt32[Array, ""]) -> StateT:
        """An agent at the start of one level of a world; `chance` decides what is left open."""
        ...

    def restart(self, world: WorldT, state: StateT) -> StateT:
        """The agent at the start of the level it is in, exactly as it began it."""
        ...

    def look(self, world: WorldT, state: StateT) -> ViewT:
        """What the agent sees."""
        ...

    def move(self, world: WorldT, state: StateT, action: Int[Array, ""]) -> Move[StateT]:
        """What happens when it acts."""
        ...
