"""A trained policy in loops of one's own: one Gymnasium environment, and many levels in JAX.

python examples/own_loop.py           # some minutes
python examples/own_loop.py smoke     # just to see that it works
"""

import sys

import gymnasium
import jax
import jax.numpy as jnp

import dred

preset = sys.argv[1] if len(sys.argv) > 1 else "laptop"
levels = dred.levels.make("cave-escape-train", count=16 if preset == "smoke" else 512)
held_out = dred.levels.make("cave-escape-test", count=16 if preset == "smoke" else 512)
run = dred.train("uniform", levels=levels, out="runs/loop", preset=preset)
policy = run.policy()

# One level after the other, in Gymnasium.
env = gymnasium.make("dred/CaveEscape-v0", levels=held_out)
for level in range(3):
    observation, _ = env.reset(seed=level, options={"level": level})
    memory, total, ended = policy.initial_memory(), 0.0, False
    key = jax.random.key(level)
    while not ended:
        key, now = jax.random.split(key)
        memory, action = policy.act(memory, observation, key=now)
        observation, reward, terminated, truncated, _ = env.step(int(action))
        total, ended = total + float(reward), terminated or truncated
    print(f"level {level}: return {total:.2f}")

# All levels at once, in one compiled function.
game, steps = dred.envs.Gridworld(), 250


@jax.jit
def returns(policy, levels, key):
    """Return what the policy gets in each level."""
    count = levels.goal.shape[0]
    begin = jax.vmap(lambda level, key: game.reset_to(level, key=key))
    state, view = begin(levels, jax.random.split(key, count))

    def one_step(now, key):
        state, view, memory, total, ended = now
        memory, action = policy.act(memory, view, key=key)
        step = jax.vmap(game.step)(state, action)
        total = total + jnp.where(ended, 0.0, step.reward)
        ended = ended | step.terminated | step.truncated
        return (step.state, step.view, memory, total, ended), None

    nothing, none = jnp.zeros(count), jnp.zeros(count, bool)
    first = (state, view, policy.initial_memory(count), nothing, none)
    (_, _, _, total, _), _ = jax.lax.scan(one_step, first, jax.random.split(key, steps))
    return total


found = returns(policy, jax.tree.map(jnp.asarray, held_out.levels), jax.random.key(0))
print(f"held out: mean return {found.mean():.3f}, {(found > 0).mean():.1%} solved")
