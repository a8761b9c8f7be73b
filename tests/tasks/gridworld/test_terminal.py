import os
import pty
import re
import select
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from dred.commands.play import split_keys
from dred.errors import ConfigError
from dred.exported_policy import Policy
from dred.levels import from_levels, from_text
from dred.tasks.gridworld.pictures import draw_agent, draw_text, save_episode, seen_cells
from dred.tasks.gridworld.terminal import walk
from tests.patience import PATIENCE, wait_until

LEVELS = from_levels([from_text(">.G\n..~\n..,"), from_text(">~G\n..,\n...")])


def plain(frame):
    return re.sub(r"\x1b\[[0-9;]*m", "", frame)


def walked(keys, *, only_view=False, number=0):
    frames = []
    game = walk(
        LEVELS, number=number, only_view=only_view, seed=0, keys=iter(keys), show=frames.append
    )
    return game, [plain(frame) for frame in frames]


def test_arrow_keys_walk_and_turn():
    game, frames = walked(["up", "right"])
    agent = game.episode.agent
    assert (int(agent.row), int(agent.column), int(agent.heading)) == (0, 1, 1)
    assert frames[0].splitlines()[1] == "  ▶   G   "
    assert frames[2].splitlines()[1] == "    ▼ G   "
    assert "step 2" in frames[2]


def test_reaching_the_goal_is_said_and_ends_the_walk():
    game, frames = walked(["up", "up", "up"])
    assert game.over
    assert game.steps == 2
    assert "You reached the goal: reward 0.9" in frames[2]


def test_lava_is_said_and_r_begins_again_and_n_the_next_level():
    game, frames = walked(["up", "r", "n"], number=1)
    assert "You stepped into lava" in frames[1]
    assert "step 0" in frames[2]
    assert game.number == 0


def test_again_begins_with_the_heading_it_had():
    levels = from_levels([from_text("S..\n...\n..G")])
    frames = []
    walk(levels, number=0, only_view=False, seed=4, keys=iter("rrrr"), show=frames.append)
    assert len(set(frames)) == 1


def test_only_what_the_agent_sees_can_be_shown():
    _, (hidden, shown) = walked(["v"], only_view=True)
    assert "··" in hidden
    assert "··" not in shown


class Forward(Policy):
    """A policy that walks on, and remembers how often it was asked."""

    def initial_memory(self, count):
        return (np.zeros((count, 1)),)

    def act(self, memory, image, direction, rng):
        assert image.shape == (1, 5, 5, 3)
        assert direction.shape == (1,)
        return (memory[0] + 1,), np.array([2])


def watched(keys):
    frames = []
    game = walk(
        LEVELS,
        number=0,
        only_view=False,
        seed=0,
        keys=iter(keys),
        show=frames.append,
        policy=Forward({}, {}),
        wait=lambda seconds: None,
    )
    return game, [plain(frame) for frame in frames]


def test_the_space_bar_lets_the_agent_take_a_step_and_p_lets_it_play_to_the_end():
    game, frames = watched([" "])
    assert (game.steps, game.over) == (1, False)
    game, frames = watched(["p"])
    assert (game.steps, game.over) == (2, True)
    assert len(frames) == 3
    assert "You reached the goal" in frames[2]
    assert "one step of the agent" in frames[0]


def test_an_agent_sees_the_steps_that_are_taken_for_it_and_forgets_when_it_begins_again():
    assert watched(["right", "left", " "])[0].memory[0].item() == 3
    assert watched([" ", "r", " "])[0].memory[0].item() == 1


def test_without_an_agent_the_space_bar_does_nothing():
    assert walked([" ", "p"])[0].steps == 0


def test_keys_come_one_or_several_at_a_time():
    assert split_keys("\x1b[A\x1b[DWq") == (["up", "left", "up", "q"], "")
    assert split_keys("\x1bOA\x1b[1;5D\x1b[3~n") == (["up", "n"], "")  # others are ignored
    held = "\x1b[A" * 12
    for cut in range(len(held)):  # a read may end in the middle of a key
        first, rest = split_keys(held[:cut])
        second, rest = split_keys(rest + held[cut:])
        assert first + second == ["up"] * 12
        assert rest == ""


def test_without_a_terminal_it_says_what_to_do_instead(tmp_path):
    LEVELS.save(tmp_path / "x.npz")
    done = subprocess.run(
        [sys.executable, "-m", "dred.cli", "play", tmp_path / "x.npz"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 1
    assert "needs a terminal" in done.stderr


def test_in_a_real_terminal_it_draws_reads_keys_and_puts_everything_back(tmp_path):
    LEVELS.save(tmp_path / "x.npz")
    main, child = pty.openpty()
    command = [sys.executable, "-m", "dred.cli", "play", str(tmp_path / "x.npz")]
    game = subprocess.Popen(command, stdin=child, stdout=child, stderr=child)
    os.close(child)
    shown = ""

    def shows(text):
        nonlocal shown
        if text not in shown and select.select([main], [], [], 0.2)[0]:
            shown += os.read(main, 65536).decode(errors="ignore")
        return text in shown

    wait_until(lambda: shows("step 0"))
    os.write(main, b"\x1b[A")
    wait_until(lambda: shows("step 1"))
    os.write(main, b"q")
    wait_until(lambda: shows("\x1b[?1049l"))  # back on the screen it came from
    assert game.wait(timeout=PATIENCE) == 0
    os.close(main)


def test_seen_cells_are_five_ahead_and_two_to_each_side():
    level = from_text("\n".join(["S" + "." * 9] + ["." * 10] * 8 + ["." * 9 + "G"]))
    seen = seen_cells(level, 4, 4, 0)
    assert seen.sum() == 25
    rows, columns = np.nonzero(seen)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (3, 7, 5, 9)  # with border
    up = seen_cells(level, 4, 4, 3)
    rows, columns = np.nonzero(up)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (1, 5, 3, 7)


def test_pictures_show_the_agent_where_it_is_and_what_it_sees_lighter():
    level = LEVELS[0]
    plain_picture = draw_agent(level, 1, 1, 2, show_view=False)
    lit = draw_agent(level, 1, 1, 2)
    seen = np.repeat(np.repeat(seen_cells(level, 1, 1, 2), 16, axis=0), 16, axis=1)
    assert (lit[seen].astype(int) >= plain_picture[seen]).all()
    np.testing.assert_array_equal(lit[~seen], plain_picture[~seen])
    assert draw_text(level, 1, 1, 2) == "..G\n.<~\n..,"


def test_an_episode_is_a_gif_with_a_frame_a_pose(tmp_path):
    poses = [(0, 0, 0), (0, 1, 0), (0, 1, 1)]
    save_episode(tmp_path / "x.gif", LEVELS[0], poses, cell=8)
    with Image.open(tmp_path / "x.gif") as gif:
        assert gif.n_frames == 3
        assert gif.size == (40, 40)
    with pytest.raises(ConfigError, match="at least one pose"):
        save_episode(tmp_path / "y.gif", LEVELS[0], [])
