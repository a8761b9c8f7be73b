"""Wrong settings: one clear paragraph each, before anything is compiled or written."""

import pytest

from dred.cli import main
from dred.levels import make
from dred.studies.study import read_study

MINE = """
name = "mine"
capacity = 40
mutation_generator = "edits"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("wrong")
    make("cave-escape-train", count=12, size=9).save(path / "train.npz")
    return path


def refused(words, capsys):
    """What a command says that must fail at once."""
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    assert stop.value.code == 1
    said = capsys.readouterr().err
    assert said.startswith("dred: ")
    assert "Traceback" not in said
    assert "\n\n" not in said.strip()
    assert len(said) < 900
    return said


@pytest.fixture
def nothing_compiled(monkeypatch):
    """Fail if a program is compiled."""

    def never(*_, **__):
        raise AssertionError("something was compiled")

    monkeypatch.setattr("jax._src.compiler.compile_or_get_cached", never)


@pytest.mark.usefixtures("nothing_compiled")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plr", "--set", "ppo.epoch=3"], "Did you mean 'ppo.epochs'"),
        (["plr", "--set", "nonsense=3"], "no setting 'nonsense'"),
        (["plr", "--set", "ppo.trace=0.9"], "It is called ppo.gae_lambda now"),
        (["plr", "--set", "ppo.epochs=many"], "expected a whole number, found 'many'"),
        (["plr", "--set", "ppo.epochs=2.5"], "expected a whole number, found 2.5"),
        (["plr", "--set", "ppo.bootstrap=1"], "expected true or false, found 1"),
        (["plr", "--set", "ppo.epochs=0"], "epochs (=0) must be at least 1"),
        (["plr", "--set", "ppo.num_minibatches=7"], "must divide the number of segments"),
        (["plr", "--set", "method.staleness=1.5"], "staleness (=1.5) must lie between 0 and 1"),
        (["plr", "--set", "method.primary.temperature=0"], "must be greater than 0"),
        (["plr", "--set", "method.primary.score=value_l2"], "Did you mean 'value_l1'"),
        (["plr", "--set", "method.primary.score=level_nll"], "needs a classifier"),
        (["plr", "--set", "method.primary.transform=ranks"], "is not one of 'rank'"),
        (["plr", "--set", "method.secondary.temperature=1"], "'method.secondary' is not used here"),
        (["plr", "--set", "method"], "expected NAME=VALUE"),
        (["plr", "--set", "method=3"], "'method' holds several settings"),
        (["plr", "--set", "ppo.epochs=1", "ppo.epochs=2"], "gives ppo.epochs twice"),
        (["plr", "--set", "agent.encoder=tile"], "Did you mean 'tiles'"),
        (["plr", "--set", "agent.memory=elephant"], "is not one of 'lstm', 'gru', 'none'"),
        (["dr", "--set", "method.new_level_generator=none"], "needs a generator of them"),
        (["dr", "--set", "method.new_level_generator=randon"], "Did you mean 'random'"),
        (["el-dred", "--set", "method.generator_settings.edits=3"], "edits.num_edits"),
        (["vae-dred"], "makes levels with a fitted generator"),
        (["prl"], "Did you mean 'plr'"),
        (["plr", "--preset", "laptpo"], "Did you mean 'laptop'"),
        (["plr", "--task", "gridwold"], "Did you mean 'gridworld'"),
        (["missing.toml"], "There is no file missing.toml"),
        (["plr", "--config", "missing.toml"], "There is no file missing.toml"),
        (["plr", "--plugin", "missing.py"], "missing.py cannot be read"),
        (["plr", "--seeds", "1", "1"], "names a seed twice"),
        (["plr", "--updates", "0"], "--updates (=0) must be at least 1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_option_is_one_paragraph(words, message, folder, capsys):
    out = folder / "x"
    preset = [] if "--preset" in words else ["--preset", "smoke"]
    levels = ["--levels", folder / "train.npz", "--out", out, *preset]
    said = refused(["train", words[0], *levels, *words[1:]], capsys)
    assert message in said
    assert not out.exists()


@pytest.mark.usefixtures("nothing_compiled")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[ppo]\nepoch = 3", "Did you mean 'epochs'"),
        ('[ppo]\nepochs = "3"', "expected a whole number"),
        ("[ppo]\nepochs = 3\nepochs = 4", "is not valid TOML"),
        ('[method]\nname = "other"', "settings of the method 'other', not of 'plr'"),
        ("[method.eta]\nbegins = 2.0", "must be shares of training"),
        ("num_updates = 10000000000", "too large"),
    ],
)
def test_a_wrong_file_of_settings_is_one_paragraph(text, message, folder, capsys):
    file = folder / "settings.toml"
    file.write_text(text)
    words = ["train", "plr", "--levels", folder / "train.npz", "--out", folder / "x"]
    said = refused([*words, "--preset", "smoke", "--config", file], capsys)
    assert message in said
    assert "settings.toml" in said
    assert not (folder / "x").exists()


@pytest.mark.usefixtures("nothing_compiled")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MINE + 'mutation = "edits"', "no setting 'mutation'"),
        (MINE.replace('"edits"', '"edit"'), "Did you mean 'edits'"),
        (MINE + "[primary]\nscore = 'doubts'", "no score called 'doubts'"),
        (MINE + "[generator_settings.edits]\nnum_edit = 3", "Did you mean 'num_edits'"),
        ('base = "prl"', "Did you mean 'plr'"),
        ('initial_buffer = "empty"', "admits only solved"),
    ],
)
def test_a_wrong_method_is_one_paragraph(text, message, folder, capsys):
    file = folder / "mine.toml"
    file.write_text(text)
    words = ["train", file, "--levels", folder / "train.npz", "--out", folder / "x"]
    assert message in refused([*words, "--preset", "smoke"], capsys)
    assert not (folder / "x").exists()


@pytest.mark.usefixtures("nothing_compiled")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('methods = ["prl"]', "Did you mean 'plr'"),
        ('methods = ["plr"]\n[grid]\n"ppo.epoch" = [1]', "Did you mean 'ppo.epochs'"),
        ('methods = ["plr"]\n[grid]\n"ppo.epochs" = 1', "expected a list of at least one value"),
        ('methods = ["plr"]\n[grid]\n"ppo.epochs" = [0]', "must be at least 1"),
        ('methods = ["plr"]\nplugins = ["missing.py"]', "missing.py cannot be read"),
        ('methods = ["plr", {name = "plr", staleness = 0.1}]', "two of the methods have one name"),
        ('methods = [{base = "plr"}]', "these settings are missing: name"),
    ],
)
def test_a_wrong_study_is_one_paragraph(text, message, folder, capsys):
    (folder / "study.toml").write_text(f'preset = "smoke"\nlevels = "train.npz"\n{text}\n')
    assert message in refused(["study", "run", folder / "study.toml"], capsys)
    assert not (folder / "study").exists()


def test_the_methods_of_a_right_study_pass(folder):
    (folder / "right.toml").write_text('methods = ["plr", {name = "mine", base = "plr"}]\n')
    assert list(read_study(folder / "right.toml").methods) == ["plr", "mine"]
