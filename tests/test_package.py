"""The package as people install it: everything that commands name is in it, and it works alone."""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import dred
from dred.studies.find import shipped_studies

ROOT = Path(__file__).parents[1]
TINY = """
methods = ["uniform"]
preset = "smoke"
updates = 3
levels = "train.npz"
held_out = "train.npz"
suites = ["train.npz"]
"""


def test_the_version_is_said_in_one_place():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["dynamic"] == ["version"]
    assert settings["tool"]["hatch"]["version"]["path"] == "src/dred/__init__.py"
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited and cited[1] == dred.__version__
    assert f" {dred.__version__}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def output_of(*command, cwd):
    """What a command prints; it must succeed."""
    names = ("PYTHONPATH", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel, built from the source distribution as installers do."""
    folder = tmp_path_factory.mktemp("dist")
    build = (sys.executable, "-m", "hatchling", "build", "-d", folder, "-t")
    output_of(*build, "sdist", cwd=ROOT)
    (source,) = folder.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(folder / "source", filter="data")
    (unpacked,) = (folder / "source").iterdir()
    output_of(*build, "wheel", cwd=unpacked)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.mark.long
def test_the_wheel_has_every_file_of_the_package(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    tracked = output_of("git", "ls-files", "--cached", "src/dred", cwd=ROOT).split()
    assert len(tracked) > 100
    assert {file.removeprefix("src/") for file in tracked} <= packed
    assert "dred/py.typed" in packed
    assert wheel.name.startswith(f"dred-{dred.__version__}-")
    assert f"dred/studies/shipped/{next(iter(shipped_studies()))}.toml" in packed


@pytest.mark.long
def test_the_wheel_works_in_an_empty_environment_and_an_empty_folder(wheel, tmp_path):
    home, work = tmp_path / "venv", tmp_path / "work"
    work.mkdir()
    output_of(sys.executable, "-m", "venv", "--without-pip", home, cwd=work)
    python = home / "bin" / "python"
    install = ("-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    output_of(sys.executable, *install, cwd=work)
    (packages,) = home.glob("lib/python*/site-packages")
    # What dred needs is lent by the environment of the tests, whose own dred stays out of it.
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib"))
    where = "import dred; print(dred.__file__)"
    assert output_of(python, "-c", where, cwd=work).startswith(str(packages))
    dred_command = home / "bin" / "dred"
    assert "study" in output_of(dred_command, "--help", cwd=work)
    assert output_of(python, "-m", "dred", "--version", cwd=work) == f"dred {dred.__version__}\n"
    assert "uniform-seed-0" in output_of(dred_command, "study", "status", "smoke", cwd=work)
    small = ("--count", "12", "--size", "9")
    output_of(
        dred_command, "levels", "make", "cave-escape-train", *small, "--out", "train.npz", cwd=work
    )
    (work / "tiny.toml").write_text(TINY)
    output_of(dred_command, "study", "run", "tiny.toml", cwd=work)
    assert "uniform" in (work / "tiny" / "report" / "report.html").read_text(encoding="utf-8")
