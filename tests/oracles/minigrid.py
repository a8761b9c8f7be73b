"""Episodes as Minigrid itself plays them."""

from dred.envs import to_minigrid


def episode(level, heading, actions, *, max_steps):
    """Observations, rewards and ends of an episode; stops where it ends."""
    env = to_minigrid(level, heading=heading, max_steps=max_steps)
    observation, _ = env.reset(seed=0)
    seen = [(observation["image"], observation["direction"], 0.0, False, False)]
    for action in actions:
        observation, reward, terminated, truncated, _ = env.step(action)
        seen.append((observation["image"], observation["direction"], reward, terminated, truncated))
        if terminated or truncated:
            break
    return seen
