"""Without the simulator: one paragraph that says what to do, and nothing else breaks."""

import subprocess
import sys

import pytest

from dred.cli import main
from dred.errors import ConfigError
from dred.tasks.procgen import GAMES, FirstStates, ProcgenLevels


@pytest.fixture
def nothing_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "procgen", None)  # Python's way to say that there is none


def test_without_the_package_one_paragraph_says_how_to_install_it(nothing_installed):
    with pytest.raises(ConfigError) as caught:
        ProcgenLevels("bigfish", 2)
    text = str(caught.value)
    assert "'procgen', which is not installed" in text
    assert 'pip install --no-deps "procgen2==0.10.7" "gym3==0.3.3" "gym==0.26.2"' in text
    assert "\n" not in text


def test_a_missing_part_of_it_is_named(monkeypatch):
    def import_module(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name="imageio")

    monkeypatch.setattr("importlib.import_module", import_module)
    with pytest.raises(ConfigError, match="needs the Python package 'imageio'"):
        FirstStates("bigfish")


def test_a_wrong_name_is_told_apart_from_a_missing_package(nothing_installed):
    with pytest.raises(ConfigError, match="Did you mean 'bigfish'"):
        ProcgenLevels("bigfsh", 2)


def test_importing_dred_does_not_import_the_simulator():
    program = (
        "import sys; sys.modules['procgen'] = sys.modules['gym3'] = sys.modules['gym'] = None; "
        "import dred.cli, dred.tasks.procgen; print(len(dred.tasks.procgen.GAMES))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(len(GAMES)) == "16"


@pytest.mark.parametrize(
    "words",
    [
        ["train", "uniform", "--task", "procgen/bigfish", "--out", "run"],
        ["bench", "procgen"],
        ["levels", "show", "procgen/coinrun", "--out", "coinrun.png"],
    ],
)
def test_commands_say_so_too_and_leave_nothing_behind(
    words, nothing_installed, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text('games = ["bigfish"]\n')
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 1
    error = capsys.readouterr().err
    assert "pip install --no-deps" in error and error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]
