"""What an agent is to the rest of the core."""

from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from jaxtyping import Array, Bool, Float

AgentT = TypeVar("AgentT", bound="Agent")


class PolicyOutput(NamedTuple):
    """What an agent makes of an observation and its memory."""

    logits: Float[Array, "*batch action"]  # of the policy; of actions that are numbers, the means
    value: Float[Array, "*batch"]  # what the critic expects from here on
    log_std: Float[Array, "*batch action"] | None = None  # if actions are numbers: ln σ of each


@runtime_checkable
class Agent(Protocol):
    """A network that plays and learns; a pytree whose leaves are its parameters."""

    def initial_memory(self, num_envs: int) -> Any:  # noqa: ANN401  (a pytree, leaves [env, …])
        """Return what a batch of agents remembers before the first step: zeros."""
        ...

    def perceive(self, memory: Any, observation: Any) -> tuple[Any, Array]:  # noqa: ANN401
        """Return the memory after one step of a batch of agents, and its representation."""
        ...

    def heads(self, features: Float[Array, "*batch feature"]) -> PolicyOutput:
        """Return policy and value from representations."""
        ...

    def step(self, memory: Any, observation: Any) -> tuple[Any, PolicyOutput]:  # noqa: ANN401
        """Return the memory after one step of a batch of agents, and policy and value."""
        ...

    def representation(
        self,
        observations: Any,  # noqa: ANN401  (leaves [time, env, …])
        begins: Bool[Array, "time env"],
        memory: Any = None,  # noqa: ANN401  (that before the first step; the initial one if none)
    ) -> Float[Array, "time env feature"]:
        """Return what policy and value are computed from, at all steps of a batch of agents.

        The memory is lost where an episode begins.
        """
        ...

    def unroll(
        self,
        observations: Any,  # noqa: ANN401
        begins: Bool[Array, "time env"],
        memory: Any = None,  # noqa: ANN401
    ) -> PolicyOutput:
        """Return policy and value at all steps of a batch of agents; see `representation`."""
        ...

    @property
    def num_features(self) -> int:
        """Return how many numbers a representation has."""
        ...

    @property
    def products(self) -> int:
        """Return the multiplications of a step, for benchmarks."""
        ...
