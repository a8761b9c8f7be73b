"""Agents in drawn levels."""

import shutil
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from dred import pretrained
from dred.config import ProbeConfig
from dred.export import policy_of
from dred.levels import from_text, to_text
from dred.runs import open_run
from dred.studio import guess
from dred.tasks.gridworld.tries import critic_of, try_level, visits
from dred.tasks.gridworld.view import View
from tests.studio.conftest import Page

GOLDEN = Path(__file__).parent.parent / "golden" / "run-format-1"
ROOM = "\n".join([">" + "." * 4, *["....."] * 3, "....G"])


def test_tries_follow_the_given_actions_and_keep_what_the_agent_saw_and_expected():
    level, policy = from_text(ROOM), pretrained.load("vae-dred")
    tried = try_level(level, policy, actions=(2, 2, 1, 2), plays_on=False)
    assert tried.column[:, 0].tolist() == [0, 1, 2, 2, 2]
    assert tried.row[:, 0].tolist() == [0, 0, 0, 0, 1]
    assert tried.heading[:, 0].tolist() == [0, 0, 0, 1, 1]
    assert np.allclose(tried.chance.sum(axis=-1), 1.0) and not tried.over[0]
    assert tried.steps[0] == 4 and len(tried.value) == 5
    on = try_level(level, policy, actions=(2, 2, 1, 2))
    assert on.over[0] and on.action[:4, 0].tolist() == [2, 2, 1, 2]


def test_tries_side_by_side_are_counted_by_cells_visited_before_their_end():
    level = from_text("\n".join([">~", "G."]))
    tried = try_level(level, pretrained.load("uniform"), count=8, actions=(2,))
    assert tried.steps.tolist() == [1] * 8 and tried.returned.max() == 0  # straight into lava
    assert visits(level, tried).tolist() == [[1.0, 1.0], [0.0, 0.0]]


def test_an_exported_critic_agrees_with_the_run_s(tmp_path):
    path = shutil.copytree(GOLDEN, tmp_path / "old")
    run = open_run(path)
    policy, agent = policy_of(run), run.policy().agent
    image = np.random.default_rng(0).integers(1, 4, (3, 5, 5, 3)).astype(np.uint8)
    heading = np.array([0, 1, 3])
    _, output = agent.step(agent.initial_memory(3), View(jnp.asarray(image), jnp.asarray(heading)))
    _, value = critic_of(policy).step(policy.initial_memory(3), image, heading)
    np.testing.assert_allclose(value[:, 0], output.value, atol=1e-5)


def test_the_page_is_told_an_episode_moment_by_moment(page):
    told = page.post("probe", text=ROOM, agent="vae-dred", seed=1).json()
    first, last = told["frames"][0], told["frames"][-1]
    assert first["pose"] == [0, 0, 0] and first["seen"] and len(first["view"]) == 5
    assert abs(sum(first["chance"]) - 1) < 1e-3 and last["action"] is None
    assert told["solved"] and told["steps"] == len(told["frames"]) - 1
    assert page.post("probe", text=ROOM, agent="vae-dred", seed=1).json() == told
    walked = page.post("probe", text=ROOM, agent="vae-dred", actions=[2], stops=True).json()
    assert [frame["pose"][1] for frame in walked["frames"]] == [0, 1] and not walked["over"]


def test_a_walk_goes_on_from_where_it_was_as_if_it_were_walked_anew(page):
    def walked(*actions, seed=0):
        asked = {"agent": "vae-dred", "actions": actions, "stops": True, "seed": seed}
        return page.post("probe", text=ROOM, **asked).json()

    def anew(*actions, seed=0):
        return (
            Page(page.folder)
            .post("probe", text=ROOM, agent="vae-dred", actions=actions, stops=True, seed=seed)
            .json()
        )

    for actions in ([], [2], [2, 2], [2, 2, 1], [2, 2, 1, 2], [2, 1], [1], [2, 2, 1, 2, 2, 2]):
        assert walked(*actions) == anew(*actions)
    assert walked(2, seed=3) == anew(2, seed=3)
    asked = {"text": ROOM, "agent": "vae-dred", "actions": [2, 2, 1], "stops": True}
    later = page.post("probe", **asked, since=2).json()
    assert later["frames"] == walked(2, 2, 1)["frames"][2:] and later["since"] == 2
    to_the_goal = [2, 2, 2, 2, 1, 2, 2, 2, 2]
    assert walked(*to_the_goal)["solved"] and len(walked(*to_the_goal, 0, 0)["frames"]) == 10


def test_the_page_is_told_how_often_an_agent_gets_through_and_where_it_goes(page):
    told = page.post("tries", text=ROOM, agent="vae-dred").json()
    assert told["tries"] == 64 and told["solved"] > 0.9 and told["steps"] >= 8
    assert told["visits"][0][0] == 1.0 and told["visits"][4][4] == told["solved"]


@pytest.mark.long
def test_the_page_is_told_which_training_level_a_memory_takes_the_level_for(folder, monkeypatch):
    monkeypatch.setattr(guess, "PROBE", ProbeConfig(length=4, epochs=1, batch_size=8))
    shutil.copytree(GOLDEN, folder / "old")
    page, run = Page(folder), open_run(folder / "old")
    known = run.levels("train")
    asked = {"text": to_text(known[2]), "agent": "run:here/old", "actions": [0, 2], "stops": True}
    frames = page.post("probe", **asked).json()["frames"]
    told = page.post("guess", **asked).json()
    assert len(told["frames"]) == len(frames) == 3
    assert (told["known"], told["among"]) == (2, len(known)) and 0 <= told["accuracy"] <= 1
    for frame in told["frames"]:
        assert 0 <= frame["right"] <= frame["share"] <= 1
        assert frame["number"] != 2 or frame["right"] == frame["share"]
        assert told["texts"][str(frame["number"])] == to_text(known[frame["number"]])
    elsewhere = page.post("guess", **{**asked, "text": ROOM}).json()
    assert elsewhere["known"] is None and elsewhere["frames"][0]["right"] is None
    refused = page.post("guess", text=ROOM, agent="vae-dred")
    assert refused.status_code == 400 and "nothing to guess" in refused.json()["error"]


def test_a_guess_uses_what_the_memory_of_the_agent_itself_gives():
    run = open_run(GOLDEN)
    level, policy, agent = from_text(ROOM), policy_of(run), run.policy().agent
    tried = try_level(level, policy, actions=(2, 1, 2), plays_on=False)
    view = View(jnp.asarray(tried.image), jnp.asarray(tried.heading))
    begins = jnp.zeros(tried.heading.shape, bool).at[0].set(True)
    given = agent.representation(view, begins)[:, 0]
    np.testing.assert_allclose(guess.remembered(policy, tried), given, atol=1e-5)


def test_agents_of_runs_can_be_asked_too_and_others_are_refused(folder):
    shutil.copytree(GOLDEN, folder / "old")
    page = Page(folder)
    names = [one["name"] for one in page.get("agents").json()["agents"]]
    assert names == [*pretrained.catalogue(), "run:here/old"]
    assert page.post("probe", text=ROOM, agent="run:here/old").json()["frames"]
    for asked in (
        {"agent": "nobody"},
        {"agent": "run:here/../x"},
        {"agent": "vae-dred", "actions": [9]},
        {"agent": "vae-dred", "actions": ["x"]},
        {"agent": "vae-dred", "seed": -1},
    ):
        told = page.post("probe", text=ROOM, **asked)
        assert told.status_code == 400 and told.json()["error"], asked
