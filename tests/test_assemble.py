"""Settings from a preset, a file and single changes, in this order; and back to a file."""

import json
import tomllib

import pytest

import dred
from dred.assemble import assemble, config_text
from dred.cli import main
from dred.config import MethodConfig, ScheduleConfig, TermConfig
from dred.errors import ConfigError
from dred.levels import make
from dred.presets import METHODS, train_config
from dred.registry import find_method, find_task
from dred.runs import open_run
from dred.settings import names_in, read_settings
from dred.settings_text import as_toml, help_of
from dred.tasks.gridworld.task import GRIDWORLD


@pytest.fixture(scope="module")
def levels(tmp_path_factory):
    path = tmp_path_factory.mktemp("levels") / "train.npz"
    make("cave-escape-train", count=12, size=9).save(path)
    return path


def printed(capsys, *words):
    main(["config", *words])
    return capsys.readouterr().out


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("preset", GRIDWORLD.budgets)
def test_settings_printed_and_read_again_are_exactly_the_same(method, preset, tmp_path):
    made = assemble(find_method(method), GRIDWORLD, preset)
    file = tmp_path / "settings.toml"
    file.write_text(config_text(made.config, GRIDWORLD), encoding="utf-8")
    again = assemble(find_method(method), GRIDWORLD, "laptop", file=file)
    assert again.config == made.config


def test_what_dred_config_prints_has_every_setting_with_its_help(capsys):
    text = printed(capsys, "vae-dred", "--preset", "smoke")
    config = train_config("vae-dred", "smoke", GRIDWORLD.budgets)
    table = tomllib.loads(text)
    for name in names_in(config):
        found = table
        for part in name.split("."):
            found = found[part]
    assert "# γ: what a reward is worth if it comes one step later.\ndiscount = 0.995" in text
    assert "# vae.num_pairs = 6  # Pairs of levels" in text
    assert max(map(len, text.splitlines())) <= 120


def test_every_setting_has_a_line_of_help():
    for record in (find_task("gridworld").budgets["paper"], METHODS["vae-dred"]):
        missing = [
            field
            for field in type(record).__dataclass_fields__
            if field not in help_of(type(record))
        ]
        assert not missing


def test_a_file_changes_the_preset_and_single_settings_change_the_file(capsys, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("num_updates = 7\n[ppo]\nepochs = 3\nclip = 0.1\n[method]\nstaleness = 0.5\n")
    words = ("plr", "--preset", "smoke", "--config", str(file), "--set", "ppo.epochs=4")
    table = tomllib.loads(printed(capsys, *words))
    assert (table["num_updates"], table["ppo"]["epochs"], table["ppo"]["clip"]) == (7, 4, 0.1)
    assert table["ppo"]["num_envs"] == 6  # of the preset
    name = "plr staleness=0.5 ppo.epochs=3 ppo.clip=0.1 num_updates=7 ppo.epochs=4"
    assert set(table["method"]["name"].split()) == set(name.split())


def test_a_file_may_bring_in_or_leave_out_a_whole_part(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('[method]\nsecondary = "none"\nscore_gae_lambda = 1\n')
    method = assemble(find_method("el-dred"), GRIDWORLD, "smoke", file=file).config.method
    assert method.secondary is None
    assert method.score_gae_lambda == 1.0
    file.write_text('[method.secondary]\nscore = "maxmc"\n')
    method = assemble(find_method("plr"), GRIDWORLD, "smoke", file=file).config.method
    assert method.secondary == TermConfig("maxmc")


def test_a_file_for_another_method_is_refused(tmp_path):
    file = tmp_path / "plr.toml"
    file.write_text(config_text(train_config("plr", "smoke"), GRIDWORLD))
    with pytest.raises(ConfigError, match="settings of the method 'plr', not of 'uniform'"):
        assemble(find_method("uniform"), GRIDWORLD, "smoke", file=file)


def test_a_run_tells_and_notes_what_it_changed_of_the_preset(levels, tmp_path, capsys):
    file = tmp_path / "mine.toml"
    file.write_text("evaluate_every = 0\nprobe_every = 0\n[ppo]\nepochs = 3\n")
    words = ["train", "plr", "--levels", str(levels), "--out", str(tmp_path / "x")]
    words += ["--preset", "smoke", "--config", str(file), "--updates", "3", "--set", "ppo.clip=0.1"]
    main(words)
    said = capsys.readouterr().out.splitlines()[0]
    assert said.startswith("changed from the preset smoke: ")
    for change in ("ppo.epochs 2 → 3", "ppo.clip 0.2 → 0.1", "num_updates 12 → 3"):
        assert change in said
    record = open_run(tmp_path / "x").record
    assert record.preset == "smoke"
    assert record.changes["ppo.epochs"] == (2, 3)
    assert "method.name" not in record.changes
    assert json.loads((tmp_path / "x" / "run.json").read_text())["changes"]["ppo.clip"] == [
        0.2,
        0.1,
    ]


def test_a_method_in_a_file_starts_from_another_and_has_the_files_name(tmp_path):
    (tmp_path / "mine.toml").write_text('base = "el-dred"\nstaleness = 0.1\n[eta]\nend = 0.5\n')
    method = find_method("mine.toml", tmp_path)
    assert method.name == "mine"
    assert (method.mutation_generator, method.staleness) == ("edits", 0.1)
    assert method.eta == ScheduleConfig(0.0, 0.5)
    (tmp_path / "two.toml").write_text('name = "my method"\ncapacity = 30\n')
    assert find_method("two.toml", tmp_path) == MethodConfig("my method", capacity=30)


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_a_method_written_to_a_file_and_read_again_is_the_same(method, tmp_path):
    assert read_settings(MethodConfig, tomllib.loads(as_toml(method)), where="x") == method
    (tmp_path / "mine.toml").write_text(as_toml(method))
    assert find_method(tmp_path / "mine.toml") == method


def test_a_method_of_ones_own_is_trained_by_file_and_by_value(levels, tmp_path):
    (tmp_path / "mine.toml").write_text('base = "plr"\nprimary = {score = "maxmc"}\n')
    options = ["--preset", "smoke", "--updates", "3", "--set", "evaluate_every=0", "probe_every=0"]
    words = ["--levels", str(levels), "--out", str(tmp_path / "a"), *options]
    main(["train", str(tmp_path / "mine.toml"), *words])
    from_file = open_run(tmp_path / "a").config.method
    assert from_file.name.startswith("mine ")
    assert from_file.primary == TermConfig("maxmc")
    run = dred.train(
        dred.Method("valued", primary=TermConfig("maxmc")),
        levels=levels,
        out=tmp_path / "b",
        preset="smoke",
        updates=3,
        set={"evaluate_every": 0, "probe_every": 0},
    )
    assert run.config.method == MethodConfig("valued", primary=TermConfig("maxmc"))
    assert run.record.changes["num_updates"] == (12, 3)
