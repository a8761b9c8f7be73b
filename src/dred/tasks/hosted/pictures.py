"""Pictures of levels, as environments draw themselves."""

from typing import Any

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from dred.errors import ConfigError
from dred.tasks.hosted.environment import HostedEnvironment
from dred.tasks.hosted.players import Episode
from dred.tasks.hosted.recipe import Level


class HostedPictures:
    """How levels are drawn: by `render()`, in an environment made with render_mode="rgb_array"."""

    def __init__(self, environment: HostedEnvironment) -> None:
        self.environment = environment

    def draw_level(self, level: Level, *, size: int) -> UInt8[np.ndarray, "h w 3"]:
        """Return a picture of a level's first state."""
        return self.draw_state(level, Episode(level, 0, []), size=size)

    def draw_state(self, level: Level, state: Any, *, size: int) -> UInt8[np.ndarray, "h w 3"]:  # noqa: ANN401
        """Return a picture of an episode, which is played again up to there."""
        env = self.environment.recipe.new_env(drawn=True)
        self.environment.recipe.begin(env, level, state.seed)
        for action in state.actions:
            env.step(self.environment.spaces.done(np.asarray(action)))
        pixels = env.render()
        env.close()
        if not isinstance(pixels, np.ndarray) or pixels.ndim != 3 or pixels.shape[-1] != 3:
            raise ConfigError(
                "The environment did not draw itself as an array [height, width, 3]: make it with "
                'render_mode="rgb_array", or let make_env take no render_mode.'
            )
        height = max(1, round(size * pixels.shape[0] / pixels.shape[1]))
        return np.asarray(Image.fromarray(pixels.astype(np.uint8)).resize((size, height)))

    def legend(self) -> dict[str, UInt8[np.ndarray, "h w 3"]]:
        """Return nothing: what is drawn is the environment's own."""
        return {}
