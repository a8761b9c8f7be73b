"""Replay of levels for a trainer that knows nothing of dred, on its Gymnasium environment.

The trainer is a linear policy that learns by REINFORCE, in NumPy; Stable-Baselines3 or CleanRL
would stand in its place. What replay needs are the two lines with `buffer`.

python examples/gymnasium_replay.py           # a minute or so
python examples/gymnasium_replay.py smoke     # just to see that it works
"""

import sys

import gymnasium
import numpy as np

import dred

episodes = 20 if "smoke" in sys.argv else 1000
levels = dred.levels.make("cave-escape-train", count=20, size=7)
env = gymnasium.make("dred/CaveEscape-v0", levels=levels, max_steps=60)
random = np.random.default_rng(0)
weights = np.zeros((5 * 5 * 11 + 4, 3))  # from what is seen to the actions left, right, forward
expected = np.zeros(len(levels))  # the return of each level, as the trainer's critic knows it


def features(observation):
    """Return which object is at each place of the view, and the compass, as zeros and ones."""
    kinds = np.eye(11)[observation["image"][..., 0]]
    return np.concatenate([kinds.ravel(), np.eye(4)[observation["direction"]]])


def play_and_learn(level):
    """Play a level, learn from it, and return how far the return was from what was expected."""
    observation, _ = env.reset(options={"level": level}, seed=int(random.integers(2**31)))
    gradient, returned, ended = np.zeros_like(weights), 0.0, False
    while not ended:
        seen = features(observation)
        odds = np.exp(seen @ weights)
        chance = odds / odds.sum()
        action = random.choice(3, p=chance)
        gradient += np.outer(seen, np.eye(3)[action] - chance)
        observation, reward, terminated, truncated, _ = env.step(action)
        returned, ended = returned + float(reward), terminated or truncated
    surprise = returned - expected[level]
    weights[:] += 0.01 * surprise * gradient
    expected[level] += 0.1 * surprise
    return abs(surprise), returned


buffer = dred.replay.LevelBuffer(len(levels), "plr")
returns = []
for _ in range(episodes):
    level = buffer.draw()
    score, returned = play_and_learn(level)
    buffer.report(level, score)
    returns.append(returned)
last = returns[-len(returns) // 4 :]
print(f"mean return {np.mean(returns):.3f}, in the last quarter {np.mean(last):.3f}")
print(f"most probable next: level {buffer.probabilities().argmax()}")
