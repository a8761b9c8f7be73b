"""The command line as people use it: real processes, real files."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import dred
from dred.cli import COMMANDS, main, parse
from dred.levels import from_levels, from_text, load
from dred.runs import open_run
from tests.commands import refused, run, said_well
from tests.patience import stopped_after

DRED = [sys.executable, "-m", "dred.cli"]


def process(*arguments):
    """Give a command in a process of its own."""
    return subprocess.run(
        [*DRED, *map(str, arguments)], capture_output=True, text=True, check=False
    )


def width_of(path):
    with Image.open(path) as image:
        return image.size[0]


def small(out, *more):
    return (
        "levels",
        "make",
        "cave-escape-train",
        "--count",
        "8",
        "--size",
        "9",
        "--out",
        out,
        *more,
    )


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    path = tmp_path_factory.mktemp("levels") / "train.npz"
    main(["levels", "make", "cave-escape-train", "--count", "16", "--out", str(path)])
    return path


HEAVY = {
    "equinox",
    "gymnasium",
    "jax",
    "matplotlib",
    "numba",
    "optax",
    "pandas",
    "procgen",
    "ray",
    "scipy",
}


def test_help_and_import_load_none_of_the_heavy_libraries():
    shown = process("--help")
    assert shown.returncode == 0 and "levels" in shown.stdout
    for program in (
        "import dred",
        "import dred.cli",
        "from dred.cli import main; main(['--help'])",
    ):
        listing = f"import atexit, sys; atexit.register(lambda: print(*sys.modules)); {program}"
        done = subprocess.run(
            [sys.executable, "-c", listing], capture_output=True, text=True, check=True
        )
        loaded = {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}
        assert "dred" in loaded
        assert not loaded & HEAVY


def test_dred_is_also_a_module_that_runs():
    done = subprocess.run(
        [sys.executable, "-m", "dred", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == process("--version").stdout != ""


def every_command(verbs=COMMANDS, words=()):
    for name, verb in verbs.items():
        if isinstance(verb, dict):
            yield from every_command(verb, (*words, name))
        else:
            yield [*words, name]


@pytest.mark.parametrize("words", list(every_command()), ids=" ".join)
def test_every_command_has_help_with_an_example_and_a_seed_where_chance_plays_a_part(words, capsys):
    with pytest.raises(SystemExit) as stop:
        main([*words, "--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert re.search(rf"dred {' '.join(words)}\s", shown.split("For example:")[1])
    assert ("--seed" in shown) == (" ".join(words) not in NO_CHANCE)


NO_CHANCE = (
    "config",
    "pretrained",
    "studio",
    "resume",
    "levels check",
    "levels import",
    "levels filter",
    "levels concatenate",
    "study run",
    "study pack",
    "study unpack",
    "study status",
)


def test_make_check_info_show(train, tmp_path, capsys):
    main(["levels", "check", str(train)])
    assert "16 levels, all proper, all solvable, all different" in capsys.readouterr().out
    main(["levels", "info", str(train), "--against", str(train)])
    shown = capsys.readouterr().out
    assert "obstacles_hogs3" in shown
    assert "Jensen–Shannon distance 0.0000" in shown
    main(["levels", "show", str(train), "--out", str(tmp_path / "g.png")])
    assert width_of(tmp_path / "g.png") > 500
    main(["levels", "show", str(train), "--level", "3", "--out", str(tmp_path / "l.png")])
    assert "G" in capsys.readouterr().out


def test_the_same_seed_gives_the_same_file_with_any_number_of_workers(tmp_path):
    for name, workers in (("a", 1), ("b", 3)):
        assert run(*small(tmp_path / f"{name}.npz", "--workers", workers)).returncode == 0
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert run(*small(tmp_path / "c.npz", "--seed", 1)).returncode == 0
    assert load(tmp_path / "a.npz").digest != load(tmp_path / "c.npz").digest


def test_patterns_of_ones_own_work_with_the_same_command(tmp_path):
    (tmp_path / "dots.txt").write_text("pattern_width = 2\n---\n#...\n....\n..#.\n....\n")
    done = run(*small("x.npz", "--structures", "maze_wall", "dots.txt"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert load(tmp_path / "x.npz").structures == ["maze_wall", "dots"]


def test_import_reports_what_it_took_and_what_it_dropped(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("S.G\n\nS#G\n")
    main(["levels", "import", str(tmp_path / "mine.txt"), "--out", str(tmp_path / "x.npz")])
    shown = capsys.readouterr().out
    assert "taken        1" in shown
    assert "drawing at line 3: the goal cannot be reached from the start" in shown
    assert len(load(tmp_path / "x.npz")) == 1
    text = refused("levels", "import", "mine.txt", "--out", "y.npz", "--strict", cwd=tmp_path)
    assert "1 candidates would be left out" in text
    assert not (tmp_path / "y.npz").exists()


@pytest.mark.long
def test_demo_compares_twins_and_opens_with_what_was_learned(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["demo", "--preset", "smoke"])
    said = capsys.readouterr().out
    assert all(f"{number}/5" in said for number in range(1, 6))
    assert len(load("demo/train.npz")) == 12
    assert width_of("demo/levels.png") > 300
    page = Path("demo/report.html").read_text(encoding="utf-8")
    for part in ("GenGap", "data:image/png", "data:image/gif", "on the way from one level"):
        assert part in page
    first = page.index("data:image/svg+xml")
    sentence = "Trained equally long from the same 12 levels"
    assert first < page.index(f"<figcaption>{sentence}") < page.index("data:image/png")
    assert sentence in said and "95 % interval over levels" in said
    configs = [open_run(f"demo/{name}").config for name in ("uniform", "vae-dred")]
    assert replace(configs[0], method=configs[1].method) == configs[1]
    before = Path("demo/vae-dred/metrics.jsonl").stat().st_mtime_ns
    main(["demo", "--preset", "smoke"])
    assert Path("demo/vae-dred/metrics.jsonl").stat().st_mtime_ns == before
    with pytest.raises(SystemExit):
        main(["demo", "--preset", "smoke", "--seed", "1"])
    assert "other settings" in capsys.readouterr().err


def test_version(capsys):
    main(["--version"])
    assert capsys.readouterr().out == f"dred {dred.__version__}\n"


def test_an_unknown_verb_is_a_usage_error_that_lists_the_verbs(capsys):
    with pytest.raises(SystemExit) as stop:
        parse(["levels", "mak"])
    assert stop.value.code == 2
    assert "make" in capsys.readouterr().err


# --- bad input: one paragraph, exit code 1, nothing changed -------------------------------------


def test_missing_and_truncated_files(train, tmp_path):
    assert "There is no file none.npz" in said_well(process("levels", "info", "none.npz"))
    cut = tmp_path / "cut.npz"
    cut.write_bytes(train.read_bytes()[:800])
    for verb in (("info",), ("check",), ("show", "--out", tmp_path / "x.png")):
        assert "cannot be read" in refused("levels", verb[0], cut, *verb[1:])
    assert not (tmp_path / "x.png").exists()


def test_a_wrong_digest_and_a_pickle(train, tmp_path):
    with np.load(train) as archive:
        arrays = dict(archive)
    changed = {**arrays, "tiles": np.roll(arrays["tiles"], 1, axis=0)}
    np.savez(tmp_path / "changed.npz", **changed)
    assert "do not match the digest" in refused("levels", "check", tmp_path / "changed.npz")
    np.savez(tmp_path / "pickle.npz", **{**arrays, "tiles": np.array([{}], object)})
    assert "is a pickle" in refused("levels", "check", tmp_path / "pickle.npz")


def test_two_goals_a_ragged_line_and_no_way(tmp_path):
    cases = {
        "SGG\n...": "a second goal",
        "S.G\n..": "this row has 2 cells",
        "S#G\n.#.": "the goal cannot be reached",
    }
    for drawing, text in cases.items():
        (tmp_path / "x.txt").write_text(drawing)
        assert text in refused("levels", "import", "x.txt", "--out", "x.npz", cwd=tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["x.txt"]


def test_an_unsolvable_level_in_a_set_fails_the_check(tmp_path):
    from_levels([from_text("S.G"), from_text("S#G")]).save(tmp_path / "x.npz")
    text = refused("levels", "check", tmp_path / "x.npz")
    assert "level 1: the goal at row 0, column 2 cannot be reached" in text
    assert "S#G" in text


def test_a_pattern_smaller_than_its_windows(tmp_path):
    (tmp_path / "tiny.txt").write_text("#.\n..\n")
    text = refused(*small("x.npz", "--structures", "tiny.txt"), cwd=tmp_path)
    assert "is 2×2, smaller than its pattern_width of 3" in text


def test_a_full_set_of_contradictions(tmp_path):
    (tmp_path / "chess.txt").write_text("pattern_width = 2\n---\n#.\n.#\n")
    text = refused(*small("x.npz", "--structures", "chess.txt"), cwd=tmp_path)
    assert "Structure 'chess' gave a contradiction in each of 1000 attempts at a 7×7" in text
    assert [path.name for path in tmp_path.iterdir()] == ["chess.txt"]


def test_an_output_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot be written" in refused(*small(tmp_path / "file" / "x.npz"))
    assert "is a folder" in refused(*small(tmp_path))
    assert (tmp_path / "file").read_text() == ""


def test_a_full_disk_leaves_no_half_file(tmp_path):
    # numba's cache of compiled programs must be there already, or its files would be too large.
    assert process(*small(tmp_path / "first.npz")).returncode == 0
    words = shlex.join([*DRED, "levels", "make", "cave-escape-train", "--out", "x.npz"])
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 20; exec {words}"],  # files of at most 20 kB
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "cannot be written: file too large" in done.stderr
    assert "the same command continues" in done.stderr
    assert not (tmp_path / "x.npz").exists()
    done = run("levels", "make", "cave-escape-train", "--out", "x.npz", cwd=tmp_path)
    assert done.returncode == 0, done.stderr  # with room again, the same command finishes it


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.long
def test_stopped_in_the_middle_it_leaves_no_half_file_and_continues(tmp_path, how):
    command = ("levels", "make", "cave-escape-train", "--count", "12000", "--out")
    assert process(*command, tmp_path / "whole.npz").returncode == 0
    done = tmp_path / "cut.npz.partial" / "done.json"
    cut = stopped_after(done.name, how, [*command, tmp_path / "cut.npz"])
    if how == signal.SIGINT:
        assert cut.returncode == 130
        assert "interrupted" in cut.stderr
        assert "the same command continues" in cut.stderr
        assert "Traceback" not in cut.stderr
    assert not (tmp_path / "cut.npz").exists()
    assert 0 < int(done.read_text()) < 12000
    assert process(*command, tmp_path / "cut.npz").returncode == 0
    assert (tmp_path / "cut.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()


def test_what_is_read_is_never_written_to_and_devices_are_left_alone(train, tmp_path):
    (tmp_path / "mine.txt").write_text("S.G\n")
    text = refused("levels", "import", "mine.txt", "--out", "mine.txt", cwd=tmp_path)
    assert "is what is read" in text
    assert (tmp_path / "mine.txt").read_text() == "S.G\n"
    before = train.read_bytes()
    assert "is what is read" in refused("levels", "show", train, "--out", train)
    assert train.read_bytes() == before
    os.mkfifo(tmp_path / "pipe")
    assert "not an ordinary file" in refused("levels", "show", train, "--out", tmp_path / "pipe")


def test_a_link_is_written_through(train, tmp_path):
    (tmp_path / "link.png").symlink_to(tmp_path / "real.png")
    assert run("levels", "show", train, "--out", tmp_path / "link.png").returncode == 0
    assert (tmp_path / "link.png").is_symlink()
    assert width_of(tmp_path / "real.png") > 500


def test_options_that_cannot_be(train, tmp_path):
    out = tmp_path / "x.png"
    assert "--per-row (=0)" in refused("levels", "show", train, "--per-row", 0, "--out", out)
    assert "--cell (=-3)" in refused("levels", "show", train, "--cell", -3, "--out", out)
    assert "--sample (=0)" in refused("levels", "info", train, "--sample", 0)
    assert "The seed (=-1)" in refused("levels", "info", train, "--seed", -1)
    assert "The seed (=-1)" in refused(*small(tmp_path / "x.npz", "--seed", -1))
    assert "--repeats (=0)" in refused("bench", "wfc", "--repeats", 0)
    assert list(tmp_path.iterdir()) == []


def test_numbers_that_cannot_be(tmp_path):
    assert "count (=0)" in refused(
        "levels", "make", "cave-escape-train", "--count", 0, "--out", "x"
    )
    assert "size (=3)" in refused("levels", "make", "cave-escape-train", "--size", 3, "--out", "x")
    assert "workers (=0)" in refused(*small(tmp_path / "x.npz", "--workers", 0))


def test_debug_shows_where_an_error_came_from():
    done = process("levels", "info", "none.npz", "--debug")
    assert done.returncode != 0
    assert "Traceback" in done.stderr


def test_bench_start_measures_what_no_test_does(capsys):
    main(["bench", "start", "--json", "--repeats", "1"])
    seconds = json.loads(capsys.readouterr().out)["seconds"]
    assert {"python", "import dred", "dred --help"} <= seconds.keys()
    assert min(seconds.values()) > 0
    main(["bench", "start", "--repeats", "1"])
    assert "dred --help" in capsys.readouterr().out


def test_bench_json_is_one_object_and_nothing_else(tmp_path):
    pytest.importorskip("minigrid")
    done = run("bench", "wfc", "--json", "--repeats", 1, "--structures", "obstacles_blackdots")
    result = json.loads(done.stdout)
    (row,) = result["structures"]
    assert row["structure"] == "obstacles_blackdots"
    assert row["speedup"] == pytest.approx(row["minigrid_ms"] / row["ms_13"])
    assert row["attempts_13"] >= 1


def test_settings_may_be_changed_by_one_option_or_by_several():
    given = ["train", "plr", "--levels", "x.npz", "--out", "runs/x"]
    at_once = parse([*given, "--set", "ppo.epochs=3", "method.staleness=0.1"])
    one_by_one = parse([*given, "--set", "ppo.epochs=3", "--set", "method.staleness=0.1"])
    for command in (at_once, one_by_one):
        words = [word for some in command.changes for word in some]
        assert words == ["ppo.epochs=3", "method.staleness=0.1"]
