import json

import numpy as np
import pytest

from dred.errors import ConfigError, DatasetError, UnknownNameError
from dred.files import OutputError
from dred.levels import build, growing, load, make, problems
from dred.tasks.gridworld.config import CaveEscapeConfig, DatasetConfig, TileConfig
from dred.tasks.gridworld.levels.build import Seen, made_pieces, make_file
from dred.tasks.gridworld.levels.dataset import repeated_levels
from dred.tasks.gridworld.levels.growing import folder_of
from dred.tasks.gridworld.levels.paths import solvable
from dred.tasks.gridworld.levels.plan import Plan, make_plan
from dred.tasks.gridworld.levels.wfc.structures import find_structure

SMALL = {"count": 30, "structures": ("maze_wall", "obstacles_blackdots"), "size": 9}


def small_plan(**changes):
    return make_plan("cave-escape-train", **{**SMALL, **changes})


@pytest.fixture
def tiny_pieces(monkeypatch):
    monkeypatch.setattr(build, "CELLS_PER_PIECE", 200)  # four levels of 7×7 a piece


def test_levels_do_not_depend_on_the_number_of_workers_nor_on_the_pieces(monkeypatch):
    digests = {make("cave-escape-train", **SMALL, workers=workers).digest for workers in (1, 2, 5)}
    monkeypatch.setattr(build, "CELLS_PER_PIECE", 1)
    digests.add(make("cave-escape-train", **SMALL).digest)
    assert len(digests) == 1


def test_another_seed_or_another_name_gives_other_levels():
    base = make("cave-escape-train", **SMALL)
    assert make("cave-escape-train", **SMALL, seed=1).digest != base.digest
    assert make("cave-escape-test", **SMALL).digest != base.digest


def test_a_larger_set_begins_like_a_smaller_one():
    few = make("cave-escape-train", count=10, structures=("maze_wall",))
    more = make("cave-escape-train", count=20, structures=("maze_wall",))
    assert few.digest == more[:10].digest


def test_structures_share_the_levels_equally_and_the_first_take_the_rest():
    dataset = make("cave-escape-train", count=11, structures=("maze_wall", "maze_paths"))
    assert (dataset.structure == "maze_wall").sum() == 6
    assert dataset.structures == ["maze_wall", "maze_paths"]


def test_a_set_has_no_level_twice_even_where_few_are_possible():
    # 2×2 cells of scattered dots: a handful of layouts, so most draws repeat an earlier level.
    config = DatasetConfig("tiny", ("obstacles_blackdots",), count=20, size=4)
    plan = Plan(config, (find_structure("obstacles_blackdots"),), 0)
    made = np.concatenate([piece.fingerprint for piece in made_pieces(plan)])
    assert len(set(made.tolist())) == 20


def test_a_set_that_cannot_have_so_many_different_levels_is_an_error():
    config = DatasetConfig("tiny", ("obstacles_blackdots",), count=2000, size=4)
    plan = Plan(config, (find_structure("obstacles_blackdots"),), 0)
    with pytest.raises(DatasetError, match="'obstacles_blackdots' has too few different levels"):
        list(made_pieces(plan))


def test_sets_of_different_parts_never_share_a_level():
    # Tiny levels, so that sets drawn from one pool would overlap.
    found = []
    for part in range(3):
        config = DatasetConfig("x", ("obstacles_blackdots",), count=4, size=4, part=part, parts=3)
        plan = Plan(config, (find_structure("obstacles_blackdots"),), 0)
        found += [n for piece in made_pieces(plan) for n in piece.fingerprint.tolist()]
    assert len(set(found)) == 12


def test_seen_knows_each_number_once():
    seen = Seen(100)
    numbers = np.arange(2, 102, 2, dtype=np.uint64)
    assert seen.add(numbers).all()
    assert not seen.add(numbers).any()
    assert seen.add(np.array([500, 500], np.uint64)).tolist() == [True, False]


def test_the_file_holds_what_make_gives_and_says_how_it_was_made(tmp_path):
    path = tmp_path / "deep" / "x.npz"
    digest = make_file(small_plan(seed=5), path)
    dataset = load(path)
    assert dataset.digest == digest == make("cave-escape-train", **SMALL, seed=5).digest
    assert dataset.meta["made"]["seed"] == 5
    assert dataset.meta["made"]["config"]["size"] == 9
    assert dataset.meta["solvable"] == dataset.meta["levels"] == 30
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("stop_after", [1, 3])
def test_an_interrupted_set_continues_and_ends_the_same(
    tmp_path, monkeypatch, tiny_pieces, stop_after
):
    whole, path = tmp_path / "whole.npz", tmp_path / "cut.npz"
    make_file(small_plan(), whole)
    append, calls = growing.Growing.append, []

    def append_or_stop(self, made):
        if len(calls) == stop_after:
            raise KeyboardInterrupt
        calls.append(len(made.tiles))
        append(self, made)

    monkeypatch.setattr(growing.Growing, "append", append_or_stop)
    with pytest.raises(KeyboardInterrupt):
        make_file(small_plan(), path)
    assert not path.exists()
    assert json.loads((folder_of(path) / "done.json").read_text()) == sum(calls)
    with (folder_of(path) / "tiles").open("ab") as stream:
        stream.write(b"half a level")  # as if the machine had stopped in the middle of a write
    again = []

    def append_and_count(self, made):
        again.append(len(made.tiles))
        append(self, made)

    monkeypatch.setattr(growing.Growing, "append", append_and_count)
    make_file(small_plan(), path)
    assert sum(calls) + sum(again) == 30
    assert path.read_bytes() == whole.read_bytes()
    assert not folder_of(path).exists()


def test_an_unfinished_set_with_other_settings_is_not_mixed_in(tmp_path):
    path = tmp_path / "x.npz"
    interrupt(small_plan(seed=1), path)
    with pytest.raises(DatasetError, match="other settings or another seed"):
        make_file(small_plan(seed=2), path)
    assert not path.exists()
    assert folder_of(path).exists()  # what was begun is still there to be finished


def interrupt(plan, path):
    """Leave a set half made, as Ctrl-C would."""
    with pytest.raises(KeyboardInterrupt), growing.Growing.open(plan, path) as grown:
        grown.append(next(made_pieces(plan)))
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "tiles").write_bytes(b""),
        lambda folder: (folder / "fingerprint").unlink(),
        lambda folder: (folder / "done.json").write_text(""),
        lambda folder: (folder / "done.json").write_text("999999999"),
        lambda folder: (folder / "goal").write_bytes((folder / "goal").read_bytes()[:-3]),
    ],
)
def test_what_a_power_cut_left_is_taken_up_only_as_far_as_it_is_whole(
    tmp_path, damage, tiny_pieces
):
    path = tmp_path / "x.npz"
    make_file(small_plan(), tmp_path / "whole.npz")
    interrupt(small_plan(), path)
    damage(folder_of(path))
    make_file(small_plan(), path)
    assert path.read_bytes() == (tmp_path / "whole.npz").read_bytes()


def test_two_commands_cannot_make_one_file_at_the_same_time(tmp_path):
    path = tmp_path / "x.npz"
    with growing.Growing.open(small_plan(), path) as grown:
        with pytest.raises(DatasetError, match="Another command is making"):
            make_file(small_plan(), path)
        grown.append(next(made_pieces(small_plan())))
    assert folder_of(path).exists()


def test_structures_of_one_name_are_refused(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "castle.txt").write_text("....\n.##.\n....\n....\n")
    names = [str(tmp_path / folder / "castle.txt") for folder in ("a", "b")]
    with pytest.raises(ConfigError, match="Several structures are called 'castle'"):
        make("cave-escape-train", structures=names)


def test_a_set_that_cannot_be_placed_says_so(tmp_path):
    # Two cells in vast rock, and lava on all walls beside them: lava is near, never far.
    pattern = tmp_path / "den.txt"
    pattern.write_text("######\n######\n##..##\n######\n######\n")
    full = TileConfig(fraction=(1.0, 1.0), near_goal=False)
    config = DatasetConfig("x", ("den",), count=1, tiles=CaveEscapeConfig(lava=full, lava_depth=1))
    plan = Plan(config, (find_structure(str(pattern)),), 0)
    with pytest.raises(DatasetError, match="gave no level with moss and lava on the asked side"):
        list(made_pieces(plan))


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_seeds_are_whole_numbers_that_are_not_negative(seed):
    with pytest.raises(ConfigError, match="must be a whole number from 0"):
        make("cave-escape-train", seed=seed)


def test_numpy_numbers_and_paths_are_taken_too(tmp_path):
    (tmp_path / "a.toml").write_text('structures = ["maze_wall"]\ncount = 4\nsize = 9\n')
    first = make(tmp_path / "a.toml", seed=np.int64(3))
    assert first.digest == make(str(tmp_path / "a.toml"), seed=3, structures="maze_wall").digest


def test_an_output_that_cannot_be_written_stops_before_any_work(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        make_file(small_plan(), tmp_path / "file" / "x.npz")
    with pytest.raises(OutputError, match="is a folder"):
        make_file(small_plan(), tmp_path)


def test_a_full_set_of_contradictions_names_the_structure(tmp_path):
    pattern = tmp_path / "chess.txt"
    pattern.write_text("pattern_width = 2\nmax_attempts = 3\n---\n#.\n.#\n")
    plan = make_plan("cave-escape-train", structures=(str(pattern),))
    with pytest.raises(DatasetError, match="'chess' gave a contradiction in each of 3 attempts"):
        make_file(plan, tmp_path / "x.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["chess.txt"]


def test_a_structure_without_floor_is_an_error(tmp_path):
    pattern = tmp_path / "rock.txt"
    pattern.write_text("###\n###\n###\n")
    with pytest.raises(DatasetError, match="'rock' gave no usable"):
        make("cave-escape-train", structures=(str(pattern),), count=1)


TOML = """
count = 12
size = 11
structures = ["maze_wall", {pattern = "mine.txt", pattern_width = 2}]
[tiles]
lava_depth = 2
[tiles.moss]
fraction = 0.3
near_goal = false
"""


def test_a_toml_file_describes_another_cmdp_with_patterns_beside_it(tmp_path):
    (tmp_path / "mine.txt").write_text("....\n.##.\n.#..\n....\n")
    (tmp_path / "caves.toml").write_text(TOML)
    dataset = make(str(tmp_path / "caves.toml"))
    assert dataset.structures == ["maze_wall", "mine"]
    assert dataset.shape == (9, 9)
    made = dataset.meta["made"]["config"]
    assert made["name"] == "caves"
    assert made["tiles"]["moss"]["fraction"] == (0.3, 0.3)
    assert made["tiles"]["lava"]["near_goal"] is False


@pytest.mark.parametrize(
    ("toml", "text"),
    [
        ("structures = [", "is not valid TOML"),
        ("count = 3", "these settings are missing: structures"),
        ('structures = ["maze_wall"]\ncoutn = 3', "no setting 'coutn'. Did you mean 'count'?"),
        (
            'structures = ["maze_wall"]\ncount = "many"',
            "count: expected a whole number, found 'many'",
        ),
        ('structures = ["maze_wall"]\ncount = 0', "count (=0) must be at least 1"),
        ('structures = ["maze_wall"]\nsize = 3', "size (=3) must be at least 4"),
        ("structures = []", "at least one structure"),
        ("structures = 3", "structures: expected a list, found 3"),
        ('structures = "maze_wall"', "structures: expected a list"),
        ('structures = ["maze_wall", 3]', "entry 2: expected text or a table, found 3"),
        ('structures = ["maze_wall"]\ntiles = 3', "tiles: expected a table, found 3"),
        ('structures = ["maze_wall"]\nparts = 99999999999999999999', "is too large"),
        ('structures = ["maze_wall"]\ncount = 2000000000', "at most 1000000000"),
        (
            'structures = ["maze_wall"]\n[tiles.moss]\nfraction = nan',
            "must run from low to high",
        ),
        ('structures = ["maze_wal"]', "no structure called 'maze_wal'. Did you mean 'maze_wall'?"),
        ('structures = ["no.txt"]', "There is no pattern file"),
        ("structures = [{width = 3}]", "needs a `pattern`"),
        (
            'structures = [{pattern = "maze_wall", heuristic = "none"}]',
            "structure 'maze_wall', heuristic: 'none' is not one of 'count', 'entropy'",
        ),
        ('structures = ["maze_wall"]\npart = 2\nparts = 2', "part (=2) must be one of"),
        (
            'structures = ["maze_wall"]\n[tiles.moss]\nfraction = [0.1]',
            "tiles, moss, fraction: expected a number or [low, high]",
        ),
        (
            'structures = ["maze_wall"]\n[tiles.moss]\ntemperature = 0',
            "tiles, moss: temperature (=0.0) must be greater than 0",
        ),
    ],
)
def test_bad_toml_is_named_with_file_and_key(tmp_path, toml, text):
    path = tmp_path / "bad.toml"
    path.write_text(toml)
    with pytest.raises((ConfigError, DatasetError)) as error:
        make(str(path))
    assert text in str(error.value)


def test_an_unknown_preset_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'cave-escape-train'"):
        make("cave-escape-trian")
    with pytest.raises(ConfigError, match="There is no file"):
        make("none.toml")


def test_levels_of_a_plain_call_are_proper_solvable_and_different():
    dataset = make("cave-escape-train", count=40, size=12)
    assert dataset.shape == (10, 10)
    assert solvable(dataset.levels).all()
    assert not repeated_levels(dataset).any()
    assert all(not problems(level) for level in dataset)
