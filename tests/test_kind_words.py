"""Mistakes at the command line, and names that look like something else: one paragraph each."""

import jax
import numpy as np
import pytest

from dred import progress
from dred.cli import main
from dred.levels import from_levels, from_text
from dred.reports.kit.chart import within
from dred.reports.kit.table import plus_minus
from dred.reports.twins import sentence_of
from dred.tasks.gridworld.generators.vae.fit import begin
from dred.tasks.gridworld.generators.vae.words import history_words
from dred.tasks.gridworld.levels.render import font_of
from dred.tasks.gridworld.presets import VAES


@pytest.fixture
def levels(tmp_path):
    path = tmp_path / "levels.npz"
    from_levels([from_text("S.G\n..."), from_text("S..\n..G")], structure="[/x]").save(path)
    return path


def stopped(capsys, *words, code=1):
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    assert stop.value.code == code
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


def test_a_command_that_is_mistyped_is_named(capsys):
    assert "Did you mean 'train'?" in stopped(capsys, "trian", "uniform", code=2)
    assert "Did you mean 'make'?" in stopped(capsys, "levels", "mak", code=2)


@pytest.mark.parametrize(
    ("option", "given", "words"),
    [
        ("--updates", "many", "expected a whole number, found 'many'"),
        ("--seed", "1.5", "expected a whole number, found '1.5'"),
        ("--drift-limit", "far", "expected a number, found 'far'"),
    ],
)
def test_what_is_no_number_is_refused_in_words_that_people_use(option, given, words, capsys):
    said = stopped(capsys, "train", "uniform", "--out", "x", option, given, code=2)
    assert f"Error parsing {option}: {words}" in said
    assert "NoneType" not in said and "literal" not in said


def test_a_picture_never_replaces_a_file_of_another_kind(levels, tmp_path, capsys):
    kept = tmp_path / "kept.npz"
    kept.write_bytes(levels.read_bytes())
    said = stopped(capsys, "levels", "show", levels, "--out", kept)
    assert "ends in .png" in said
    assert kept.read_bytes() == levels.read_bytes()


def test_only_a_run_is_called_a_run_to_be_continued(levels, tmp_path, capsys):
    train = ("train", "uniform", "--preset", "smoke", "--levels", levels, "--out")
    said = stopped(capsys, *train, levels)
    assert "is not a run" in said and "resume" not in said
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    assert f"dred resume {tmp_path / 'run'}" in stopped(capsys, *train, tmp_path / "run")


def test_a_folder_of_runs_is_answered_with_the_runs_in_it(tmp_path, capsys):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text("{}")
    said = stopped(capsys, "evaluate", tmp_path)
    assert f"such as {tmp_path / 'a'}, {tmp_path / 'b'}." in said


def test_a_file_that_is_no_method_is_told_what_one_is(levels, tmp_path, capsys):
    words = ("train", "mine.tmol", "--levels", levels, "--out", tmp_path / "x")
    assert "TOML file, whose name ends in .toml" in stopped(capsys, *words)


def test_names_that_look_like_markup_are_shown_as_they_are(levels, capsys, monkeypatch):
    main(["levels", "info", str(levels)])
    assert "[/x]" in capsys.readouterr().out
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal, as far as the bar knows
    with progress.bar("runs/[/x]", 2, unit="updates", first="[/y]") as advance:
        advance(1, note="[/z]")
    assert "runs/[/x]" in capsys.readouterr().err


def test_the_policies_that_come_with_dred_name_whole_commands(capsys):
    main(["pretrained"])
    said = capsys.readouterr().out
    assert "dred train vae-dred --preset laptop --devices 1 --seed 0 on cave-escape-train" in said


def test_pictures_have_all_signs_that_sizes_are_said_with():
    missing = font_of(13).getmask("\uffff")
    assert bytes(font_of(13).getmask("×")) != bytes(missing)


def test_numbers_that_round_to_zero_have_no_sign():
    assert plus_minus(np.array([-0.001])) == "0.00"


def test_an_axis_does_not_magnify_rounding():
    low, high = within((1 - 2e-7, 1 + 3e-7), [1 - 2e-7, 1 + 2e-7], percent=True)
    assert low == pytest.approx(0.95, abs=1e-3) and 1 < high < 1.01
    low, high = within((41.999999, 42.000001), [42.0], percent=False)
    assert (low, high) == pytest.approx((39.9, 44.1))
    assert within((0.2, 0.4), [0.25, 0.35], percent=True) == (0.2, 0.4)


def test_percentage_points_are_the_difference_of_the_numbers_beside_them():
    ours, theirs = np.zeros(1024), np.zeros(1024)
    ours[:789], theirs[:972] = 1, 1  # 77.05 % and 94.92 %, which differ by 17.87
    words = sentence_of("uniform", "vae-dred", ours, theirs, 64)
    assert "94.9%" in words and "77.1%" in words and "17.8 percentage points more" in words


def test_a_step_of_the_demo_gives_no_advice_that_the_demo_does_not_take():
    parts = ("loss", "layout", "goal", "start", "divergence", "elbo")
    row = {f"{part}/{where}": 1.0 for part in parts for where in ("train", "held_back")}
    assert "--epochs 2" in history_words([row | {"epoch": 1.0}])
    assert "--epochs" not in history_words([row | {"epoch": 1.0}], has_advice=False)


def test_a_fit_is_compiled_once():
    drawings = ("S.G\n...\n...", "S..\n..G\n...", "S..\n...\n..G")
    levels = from_levels([from_text(drawing) for drawing in drawings]).levels
    fitting = begin(levels, VAES["default"], key=jax.random.key(0))
    weak = [leaf.aval for leaf in jax.tree.leaves(fitting) if getattr(leaf, "weak_type", False)]
    assert not weak  # it comes back strong from the first epoch, as another type
