"""The examples run, at smoke size, as they are."""

import runpy
import sys
import tomllib
from pathlib import Path

import pytest

from dred.cli import main
from dred.runs import open_run
from dred.studies.study import read_study

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(autouse=True)
def somewhere_else(monkeypatch, tmp_path):
    """Begin in an empty folder."""
    monkeypatch.chdir(tmp_path)


def run_example(name, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", [name, *words])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def test_twenty_lines_train_evaluate_and_report(monkeypatch, tmp_path, capsys):
    text = (EXAMPLES / "twenty_lines.py").read_text()
    code = [line for line in text.split('"""')[2].splitlines() if line.strip()]
    assert len(code) <= 20
    run_example("twenty_lines.py", monkeypatch, "smoke")
    assert (tmp_path / "report" / "report.html").exists()
    assert "\nheld out" in capsys.readouterr().out


def test_an_own_score_and_method_are_compared_with_plr(monkeypatch, tmp_path):
    run_example("own_score.py", monkeypatch, "smoke")
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "longing" in page
    (noted,) = open_run(tmp_path / "runs" / "longing").record.plugins
    assert noted.path == str(EXAMPLES / "own_score.py")


def test_an_own_generator_makes_levels(monkeypatch, capsys):
    run_example("own_generator.py", monkeypatch, "smoke")
    said = capsys.readouterr().out
    assert int(said.split(" of ")[0].split()[-1]) > 0


@pytest.mark.long
def test_a_sweep_ends_in_a_plot(monkeypatch, tmp_path):
    run_example("sweep.py", monkeypatch, "smoke")
    assert (tmp_path / "sweep.png").stat().st_size > 1000


def test_the_sweep_as_a_study_is_three_values_and_two_seeds():
    study = read_study(EXAMPLES / "sweep.toml")
    assert len(study.variants) * len(study.config.seeds) == 6
    assert tomllib.loads((EXAMPLES / "sweep.toml").read_text())["methods"] == ["plr"]


@pytest.mark.long
def test_replay_from_any_trainer_makes_the_worst_level_better(monkeypatch, capsys):
    run_example("replay_from_any_trainer.py", monkeypatch)
    said = capsys.readouterr().out
    replayed, uniform = (float(word.strip("%")) for word in said.split() if word.endswith("%"))
    assert replayed > uniform


def test_levels_of_ones_own_are_drawn_and_trained_on(monkeypatch, capsys):
    run_example("own_levels.py", monkeypatch, "smoke")
    assert "own held out" in capsys.readouterr().out


def test_a_policy_acts_in_loops_of_ones_own(monkeypatch, capsys):
    run_example("own_loop.py", monkeypatch, "smoke")
    said = capsys.readouterr().out
    assert said.count("level ") == 3 and "held out: mean return" in said


def test_a_trainer_of_gymnasiums_kind_draws_its_levels_from_the_buffer(monkeypatch, capsys):
    run_example("gymnasium_replay.py", monkeypatch, "smoke")
    assert "most probable next: level" in capsys.readouterr().out


def test_from_a_table_to_a_report_in_five_commands(monkeypatch, tmp_path, capsys):
    """Those of docs/your-own-gymnasium.md, at smoke size."""
    file = EXAMPLES / "own_gymnasium.py"
    page = (EXAMPLES.parent / "docs" / "your-own-gymnasium.md").read_text(encoding="utf-8")
    assert file.read_text(encoding="utf-8") in page
    lines = page.split("```sh\n")[1].split("```")[0].splitlines()
    assert len(lines) == 5
    run_example("own_gymnasium.py", monkeypatch, "smoke")
    for line in lines:
        words = line.replace("examples/own_gymnasium.py", str(file)).split()[1:]
        main(words + (["--preset", "smoke"] if words[0] == "train" else []))
    said = capsys.readouterr().out
    assert "carts: nothing is wrong" in said
    assert "other-carts" in said
    assert "force of the motor" in (tmp_path / "report" / "report.html").read_text("utf-8")
    made = set(open_run(tmp_path / "runs" / "carts").buffer().levels.structure)
    assert "dataset" in made
