"""Learning, step by step in plain NumPy: the LSTM, advantages and PPO's loss."""

import numpy as np


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def lstm(inputs, begins, input_weight, recurrent_weight, bias, *, memory=None):
    """Hidden states [time, env, hidden], one step and one agent at a time.

    `memory` is the first hidden and cell state of each agent; empty if there is none.
    """
    num_steps, num_envs, _ = inputs.shape
    size = recurrent_weight.shape[0]
    result = np.zeros((num_steps, num_envs, size))
    for env in range(num_envs):
        hidden, cell = np.zeros(size), np.zeros(size)
        if memory is not None:
            hidden, cell = memory[0][env], memory[1][env]
        for t in range(num_steps):
            if begins[t, env]:
                hidden, cell = np.zeros(size), np.zeros(size)
            z = inputs[t, env] @ input_weight + hidden @ recurrent_weight + bias
            i, f, o, g = (z[k * size : (k + 1) * size] for k in range(4))
            cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
            hidden = sigmoid(o) * np.tanh(cell)
            result[t, env] = hidden
    return result


def advantages(reward, discount, value, gae_lambda):
    """Sums of discounted surprises, written out."""
    num_steps, num_envs = reward.shape
    result = np.zeros_like(reward)
    for env in range(num_envs):
        for t in range(num_steps):
            weight = 1.0
            for k in range(t, num_steps):
                surprise = reward[k, env] + discount[k, env] * value[k + 1, env] - value[k, env]
                result[t, env] += weight * surprise
                weight *= discount[k, env] * gae_lambda
    return result


def ppo_loss(log_ratio, advantage, value, old_value, target, logits, *, clip, c_value, c_entropy):
    """The loss of each step, then the mean."""
    total = 0.0
    for n in range(len(log_ratio)):
        ratio = np.exp(log_ratio[n])
        gain = min(ratio * advantage[n], np.clip(ratio, 1 - clip, 1 + clip) * advantage[n])
        near = old_value[n] + np.clip(value[n] - old_value[n], -clip, clip)
        miss = 0.5 * max((value[n] - target[n]) ** 2, (near - target[n]) ** 2)
        p = np.exp(logits[n]) / np.exp(logits[n]).sum()
        total += -gain + c_value * miss - c_entropy * -(p * np.log(p)).sum()
    return total / len(log_ratio)
