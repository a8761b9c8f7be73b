"""What agents do as their policies say: one of several actions, or numbers from Gaussians."""

from typing import Any

from jaxtyping import Array, Float, Num, PRNGKeyArray

from dred.agents import categorical, gaussian
from dred.agents.protocol import PolicyOutput


def noise_for(
    output: Any,  # noqa: ANN401  (a PolicyOutput, of arrays or of shapes alone)
    *,
    lead: tuple[int, ...] = (),
    key: PRNGKeyArray,
) -> Float[Array, "*batch action"]:
    """Return the random numbers with which `chosen` draws, for several steps at once if asked."""
    draw = categorical.gumbel_noise if output.log_std is None else gaussian.gaussian_noise
    return draw((*lead, *output.logits.shape), key=key)


def chosen(output: PolicyOutput, noise: Float[Array, "*batch action"]) -> Num[Array, "..."]:
    """Return an action of each agent; without noise, the most probable one."""
    if output.log_std is None:
        return categorical.sample(output.logits, noise)
    return gaussian.sample(output.logits, output.log_std, noise)


def log_prob_of(output: PolicyOutput, action: Num[Array, "..."]) -> Float[Array, "*batch"]:
    """Return how probable actions are, as logarithms; of numbers, how dense."""
    if output.log_std is None:
        return categorical.log_prob(output.logits, action)
    return gaussian.log_prob(output.logits, output.log_std, action)


def entropy_of(output: PolicyOutput) -> Float[Array, "*batch"]:
    """Return the entropy of policies, in nats."""
    if output.log_std is None:
        return categorical.entropy(output.logits)
    return gaussian.entropy(output.log_std)
