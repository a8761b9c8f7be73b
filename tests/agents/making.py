"""Agents for tests."""

from dred.agents.network import keys_for_agent, new_agent
from dred.config import AgentConfig
from dred.tasks.gridworld.encoders import ENCODERS


def new_agent_of(num_actions, *, hidden_size=256, encoder="convolution", memory="lstm", key):
    """An agent that sees views of the gridworld, with any number of actions."""
    for_encoder, rest = keys_for_agent(key)
    config = AgentConfig(memory=memory, hidden_size=hidden_size)
    return new_agent(config, ENCODERS[encoder](for_encoder), num_actions, keys=rest)
