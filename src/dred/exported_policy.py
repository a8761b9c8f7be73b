"""A policy that `dred export` wrote, with NumPy alone; this file can be copied anywhere.

policy = load("policy.npz"); memory = policy.initial_memory(1)
memory, actions = policy.act(memory, image[None], direction[None])  # as Minigrid's observations
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Memory = tuple[NDArray[Any], ...]


def load(path: str | Path) -> "Policy":
    """Read a policy, and check it against its digest."""
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
            meta = json.loads(str(archive["meta"]))
            arrays = {name: archive[name] for name in archive.files if name != "meta"}
        digest = hashlib.sha256()
        for name, array in arrays.items():
            digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes())
        if (meta["digest"], meta["kind"]) != (digest.hexdigest(), "policy"):
            raise ValueError("its digest is another")
    except Exception as error:  # whatever a damaged file makes its readers raise
        raise ValueError(f"{path} is not a policy of `dred export`, or damaged: {error}.") from None
    return Policy(arrays, meta)


@dataclass(frozen=True)
class Policy:
    """Weights by name, and what they are: `meta` names encoder and memory."""

    weights: Mapping[str, Array]
    meta: Mapping[str, Any]

    def initial_memory(self, count: int) -> Memory:
        """Return what so many agents remember when an episode begins."""
        parts = {"lstm": 2, "gru": 1, "none": 0}[self.meta["memory"]]
        return tuple(np.zeros((count, self.meta["size"]), np.float32) for _ in range(parts))

    def act(
        self, memory: Memory, image: Array, direction: Array, rng: np.random.Generator | None = None
    ) -> tuple[Memory, Array]:
        """Return the memory after a step of some agents, and their actions: drawn, or the best."""
        memory, logits = self.step(memory, image, direction)
        return memory, (logits + (rng.gumbel(size=logits.shape) if rng else 0.0)).argmax(axis=-1)

    def step(self, memory: Memory, image: Array, direction: Array) -> tuple[Memory, Array]:
        """Return the memory after a step of some agents, and the log-odds of their actions."""
        encode = {"tiles": self._tiles, "convolution": self._convolution}[self.meta["encoder"]]
        remember = {"lstm": self._lstm, "gru": self._gru, "none": self._no_memory}
        memory, features = remember[self.meta["memory"]](memory, encode(image, direction))
        return memory, self._layer("actor", np.tanh(self._layer("actor_hidden", features)))

    def _layer(self, name: str, inputs: Array) -> Array:
        return inputs @ self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def _tiles(self, image: Array, direction: Array) -> Array:
        kinds = image[..., :1].reshape(len(image), -1, 1) == np.array(self.meta["objects"])
        both = np.concatenate([kinds.reshape(len(image), -1), np.eye(4)[direction]], axis=1)
        return np.maximum(self._layer("encoder.layer", both.astype(np.float32)), 0.0)

    def _convolution(self, image: Array, direction: Array) -> Array:
        scaled = image.astype(np.float32) / np.float32(10.0)
        windows = np.lib.stride_tricks.sliding_window_view(scaled, (3, 3), axis=(1, 2))
        patches = windows.transpose(0, 1, 2, 4, 5, 3).reshape(len(image), 9, 27)
        seen = np.maximum(self._layer("encoder.kernel", patches), 0.0).reshape(len(image), -1)
        compass = self._layer("encoder.heading", np.eye(4, dtype=np.float32)[direction])
        return np.concatenate([seen, compass], axis=1)

    def _gates(self, inputs: Array, hidden: Array) -> tuple[Array, Array]:
        seen = inputs @ self.weights["cell.input_weight"] + self.weights["cell.bias"]
        return seen, hidden @ self.weights["cell.recurrent_weight"]

    def _lstm(self, memory: Memory, inputs: Array) -> tuple[Memory, Array]:
        i, f, o, g = np.split(sum(self._gates(inputs, memory[0])), 4, axis=-1)
        cell = sigmoid(f) * memory[1] + sigmoid(i) * np.tanh(g)
        return ((hidden := sigmoid(o) * np.tanh(cell)), cell), hidden

    def _gru(self, memory: Memory, inputs: Array) -> tuple[Memory, Array]:
        seen, kept = (np.split(part, 3, axis=-1) for part in self._gates(inputs, memory[0]))
        reset, update = sigmoid(seen[0] + kept[0]), sigmoid(seen[1] + kept[1])
        hidden = (1.0 - update) * np.tanh(seen[2] + reset * kept[2]) + update * memory[0]
        return (hidden,), hidden

    def _no_memory(self, memory: Memory, inputs: Array) -> tuple[Memory, Array]:
        return memory, np.maximum(self._layer("cell", inputs), 0.0)


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + exp(−x)), which never overflows in this form."""
    return 0.5 * np.tanh(0.5 * x) + 0.5
