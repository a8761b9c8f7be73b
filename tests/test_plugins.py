"""Scores, generators, methods and tasks of one's own, without a change to the package."""

import importlib.metadata
import json
from dataclasses import replace

import pytest

import dred
from dred import plugins, registry
from dred.cli import main
from dred.errors import ConfigError
from dred.levels import make
from dred.presets import METHODS
from dred.replay.scores import SCORES
from dred.runs import open_run
from dred.studies.jobs import runs_of
from dred.studies.study import read_study
from dred.tasks.gridworld.task import GRIDWORLD

PLUGIN = """
import jax.numpy as jnp
import dred

@dred.register_score("longing")
def longing(trace):
    return trace.optimal - trace.value

def mirrored(given, settings, key):
    level = given.parents
    last = level.tiles.shape[2] - 1
    def flip(place):
        return jnp.stack([place[:, 0], last - place[:, 1]], axis=1)
    return level._replace(
        tiles=level.tiles[:, :, ::-1], goal=flip(level.goal), start=flip(level.start)
    )

dred.register_generator("mirror", dred.Generator(mirrored, uses_parents=True))
dred.register_method(
    dred.Method(
        "mirrored", capacity=30, mutation_generator="mirror", admit="all",
        primary=dred.config.TermConfig("longing"),
    )
)
"""
SMALL = ["--preset", "smoke", "--updates", "3", "--set", "evaluate_every=0", "probe_every=0"]


@pytest.fixture
def folder(tmp_path):
    make("cave-escape-train", count=12, size=9).save(tmp_path / "train.npz")
    (tmp_path / "mine.py").write_text(PLUGIN)
    return tmp_path


def train(folder, *more):
    words = ["train", "mirrored", "--levels", folder / "train.npz", "--out", folder / "x"]
    main([*map(str, words), *SMALL, *map(str, more)])
    open_run(folder / "x").note(status="interrupted")  # so that there seems to be more to do


def as_in_a_new_process(folder):
    """Forget what a plug-in registered, as another process would not know it."""
    plugins._LOADED.clear()
    for name in [name for name in plugins.sys.modules if name.startswith("dred_user_mine")]:
        del plugins.sys.modules[name]
    SCORES.pop("longing", None)
    GRIDWORLD.generators.pop("mirror", None)


def test_a_run_with_a_plug_in_is_trained_and_opened_again(folder):
    train(folder, "--plugin", folder / "mine.py")
    noted = json.loads((folder / "x" / "run.json").read_text())["plugins"]
    assert [plugin["path"] for plugin in noted] == [str(folder / "mine.py")]
    as_in_a_new_process(folder)
    main(["resume", str(folder / "x")])
    assert "longing" in SCORES
    as_in_a_new_process(folder)
    main(["evaluate", str(folder / "x"), "--suite", str(folder / "train.npz")])
    assert "mirror" in set(open_run(folder / "x").buffer().levels.structure)


def test_a_plug_in_that_has_changed_is_refused_unless_it_is_named(folder):
    train(folder, "--plugin", folder / "mine.py")
    as_in_a_new_process(folder)
    (folder / "mine.py").write_text(PLUGIN + "\n# changed\n")
    with pytest.raises(ConfigError, match="has changed since"):
        main(["resume", str(folder / "x"), "--debug"])
    (folder / "elsewhere").mkdir()
    (folder / "mine.py").rename(folder / "elsewhere" / "mine.py")
    with pytest.raises(ConfigError, match="not there any more"):
        main(["resume", str(folder / "x"), "--debug"])
    main(["resume", str(folder / "x"), "--plugin", str(folder / "elsewhere" / "mine.py")])


def test_without_its_plug_in_a_method_is_unknown(folder):
    with pytest.raises(ConfigError, match="no method called 'mirrored'"):
        train(folder, "--debug")
    with pytest.raises(ConfigError, match="no such file"):
        train(folder, "--plugin", folder / "missing.py", "--debug")


def test_a_study_names_its_plug_ins_and_methods_of_its_own(folder, monkeypatch, tmp_path_factory):
    (folder / "study.toml").write_text("""
plugins = ["mine.py"]
preset = "smoke"
levels = "train.npz"
held_out = "train.npz"
suites = ["train.npz"]
updates = 3
methods = ["mirrored", "other.toml", {name = "third one", base = "plr", staleness = 0.5}]
grid = {probe_every = [0], evaluate_every = [0]}
""")
    (folder / "other.toml").write_text('base = "mirrored"\nstaleness = 0.1\n')
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    study = read_study(folder / "study.toml")
    assert list(study.methods) == ["mirrored", "other", "third one"]
    assert study.methods["other"].primary.score == "longing"
    assert study.methods["third one"] == replace(METHODS["plr"], name="third one", staleness=0.5)
    main(["study", "run", str(folder / "study.toml"), "--workers", "1"])
    finished = runs_of(study)
    assert all(job.state() == "finished" for job in finished)
    assert [job.run.config.method.staleness for job in finished] == [0.3, 0.1, 0.5]
    assert (folder / "study" / "methods" / "third-one.toml").exists()


def test_what_dred_has_is_not_replaced():
    with pytest.raises(ConfigError, match="score called 'value_l1' already"):
        dred.register_score("value_l1")
    with pytest.raises(ConfigError, match="method called 'plr' already"):
        dred.register_method(dred.Method("plr"))
    with pytest.raises(ConfigError, match="called 'edits' already"):
        dred.register_generator("edits", GRIDWORLD.generators["edits"])
    with pytest.raises(ConfigError, match="task called 'gridworld' already"):
        dred.register_task(GRIDWORLD)


def test_a_registered_task_is_found_by_its_name():
    mine = dred.register_task(replace(GRIDWORLD, name="caves"))
    assert registry.find_task("caves") is mine
    with pytest.raises(ConfigError, match="Did you mean 'caves'"):
        registry.find_task("cave")


def test_installed_packages_register_by_an_entry_point(monkeypatch, folder):
    point = importlib.metadata.EntryPoint("mine", "mine", plugins.GROUP)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point])
    monkeypatch.syspath_prepend(str(folder))
    plugins.load_installed.cache_clear()
    assert registry.find_method("mirrored").mutation_generator == "mirror"
    plugins.load_installed.cache_clear()
