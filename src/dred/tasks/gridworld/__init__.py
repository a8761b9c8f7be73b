"""The gridworld of the paper: walls, moss, lava, a goal, and an agent that sees a little."""
