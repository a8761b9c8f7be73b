"""The paper's table of hyperparameters, row by row, and the settings of every report beside it."""

import csv
import io
import re
from pathlib import Path

import pytest

from dred.presets import METHODS, train_config
from dred.reports.content import compute
from dred.reports.gather import gather
from dred.reports.hyperparameters import (
    GROUPS,
    PARAMETERS,
    Setup,
    as_text,
    paper_value,
    printed_settings,
    table_of,
)
from dred.reports.kit.table import to_csv, to_markdown
from dred.reports.page import page_of
from dred.run_folder import create_run
from dred.tasks.procgen.gather import setups_of
from dred.tasks.procgen.outcomes import Outcome
from dred.tasks.procgen.presets import PROCGEN_BUDGETS
from dred.tasks.procgen.report import write_report
from dred.tasks.procgen.task import default_levels
from tests.reports.conftest import write_method

TEX = Path(__file__).parents[3] / "shared" / "paper" / "dred-paper.tex"
LETTERS = {
    "$\\lambda_{\\text{GAE}}$": "λ_GAE",
    "$\\gamma$": "γ",
    "$\\epsilon$": "ε",
    "$\\ell_1$": "ℓ1",
    "$\\eta$": "η",
    "$\\rho$": "ρ",
}


def in_plain_words(place):
    """A place of the paper's table without its markup."""
    for tex, letter in LETTERS.items():
        place = place.replace(tex, letter)
    return re.sub(r"\$(\w)\$", r"\1", place).strip().rstrip(",")


@pytest.mark.skipif(not TEX.exists(), reason="the paper's source is not beside the project")
def test_build_6_every_printed_hyperparameter_is_the_papers():
    tex = TEX.read_text(encoding="utf-8").split("\\label{table:hyperparams}")[1]
    assert "\\textbf{Parameter} & Procgen & MiniGrid" in tex.split("\\midrule")[0]
    body = tex.split("\\midrule")[1].split("\\bottomrule")[0].replace("\\addlinespace[10pt]", "")
    found, group = {}, ""
    for line in filter(str.strip, body.split("\\\\")):
        first, *places = [in_plain_words(place) for place in line.split("&")]
        if heading := re.fullmatch(r"\\emph\{(.*)\}", first):
            group = heading[1]
        else:
            found[group, first] = dict(zip(("procgen", "minigrid"), places, strict=True))
    assert found == printed_settings() and len(found) == 34


def test_build_6_some_printed_hyperparameters_by_hand():
    assert paper_value("γ", "vae-dred", "minigrid") == "0.995"
    assert paper_value("γ", "value-l1", "procgen") == "0.999"
    assert paper_value("PPO number of workers", "dr", "minigrid") == "32"
    assert paper_value("Staleness coefficient, ρ", "plr", "minigrid") == "0.3"
    assert paper_value("Staleness coefficient, ρ", "mi", "procgen") == "0.1"
    rates = ("plr", "rplr", "accel", "accel-d", "el-dred", "vae-dred")
    found = [paper_value("Replay rate, p", method, "minigrid") for method in rates]
    assert found == ["1.0", "0.5", "0.8", "1.0", "1.0", "1.0"]
    scores = [paper_value("Scoring function", method, "minigrid") for method in rates]
    assert scores == ["ℓ1-value loss", *["positive value loss"] * 2, *["ℓ1-value loss"] * 3]
    assert paper_value("Buffer size, K", "accel", "minigrid") == "4000"
    assert paper_value("Edit rate, q", "el-dred", "minigrid") == "1.0"
    assert paper_value("Edit rate, q", "vae-dred", "minigrid") == ""
    assert paper_value("Mixing coefficient, η", "accel-d", "minigrid") == "1 throughout training"
    assert paper_value("γ", "my-own", "minigrid") == ""
    assert paper_value("Temperature", "uniform", "minigrid") == ""


OF_OUR_OWN = {"resample-dred", "masked-dred", "edit-dred", "wfc-dred"}


def test_build_6_every_parameter_of_the_paper_is_a_row():
    assert {one.name for one in PARAMETERS} == {name for _, name in printed_settings()}
    assert len({one.setting for one in PARAMETERS}) == len(PARAMETERS) == 28
    assert set().union(*GROUPS.values()) == METHODS.keys() - OF_OUR_OWN


def different(ours, theirs):
    """Whether two values are not the same number, or not the same words."""
    try:
        return float(ours) != float(theirs)
    except ValueError:
        return ours != theirs


WORDS = {  # the paper's words for ours
    "value_l1": "ℓ1-value loss",
    "positive_value_loss": "positive value loss",
    "linear from 0 to 1": "linearly increased from 0 to 1",
}


@pytest.mark.parametrize(
    ("method", "departures"),
    [
        ("plr", {"ppo.num_envs"}),  # 36, as the text says
        ("rplr", {"ppo.num_envs", "method.primary.temperature"}),  # [fidelity 60]
        ("accel", {"ppo.num_envs", "method.primary.temperature"}),
        ("el-dred", {"ppo.num_envs", "method.capacity"}),  # the paper has two answers
        ("vae-dred", {"ppo.num_envs", "method.capacity"}),
    ],
)
def test_build_6_the_paper_preset_is_the_papers_but_for_known_departures(method, departures):
    config = train_config(method, "paper")
    setup = Setup(method, config.method, config.ppo, 512)
    found = {
        one.setting
        for one in PARAMETERS
        for ours, theirs in [(as_text(one.read(setup)), paper_value(one.name, method, "minigrid"))]
        if theirs and different(WORDS.get(ours, ours), theirs)
    }
    assert found == departures


def rows_of(table):
    return list(csv.DictReader(io.StringIO(to_csv(table))))


def test_build_6_a_report_of_one_method_has_all_settings_of_the_paper(
    level_files, tmp_path, without_figures
):
    run = write_method(tmp_path, "plr", level_files, budget="paper")
    content = compute(gather([run.path]), episodes=0)
    rows = {row["setting"]: row for row in rows_of(content.tables["settings"])}
    assert len(rows) == 28 and list(rows["ppo.discount"]) == [
        *("setting", "plr", "parameter", "paper plr")
    ]
    assert list(rows["ppo.num_envs"].values()) == [
        *("ppo.num_envs", "36", "PPO number of workers", "32")
    ]
    assert rows["method.capacity"]["plr"] == "12"  # the made-up dataset
    assert rows["method.secondary.score"]["plr"] == "–"
    assert (rows["value clipping"]["plr"], rows["return normalisation"]["plr"]) == ("yes", "no")
    text = to_markdown(content.tables["settings"])
    assert "| ppo.num_envs (PPO number of workers) | 36 (paper 32) |" in text
    page = page_of(content, [])
    assert '<span class="extra paper">paper 0.995</span>' in page


def test_build_6_methods_that_agree_and_that_differ(level_files, tmp_path, without_figures):
    paths = [
        write_method(tmp_path, name, level_files, kept={}).path for name in ("vae-dred", "accel")
    ]
    content = compute(gather(paths), episodes=0)
    rows = {row["setting"]: row for row in rows_of(content.tables["settings"])}
    same = rows["ppo.discount"]
    assert (same["vae-dred"], same["accel"], same["paper vae-dred"]) == ("0.995", "0.995", "0.995")
    assert rows["method.replay_prob"]["paper accel"] == "0.8"
    assert rows["method.eta"]["vae-dred"] == "linear from 0 to 1"
    assert (rows["edit rate"]["accel"], rows["edit rate"]["vae-dred"]) == ("1.0", "–")
    # All else in which they differ still follows, without a name in the paper.
    made_by = rows["method.mutation_generator"]
    assert made_by["vae-dred"] == "vae" and made_by["parameter"] == ""
    assert rows["method.initial_buffer"]["accel"] == "empty"
    assert len(rows) == len(rows_of(content.tables["settings"]))  # none twice


def test_build_6_a_report_of_procgen_has_them_too(tmp_path):
    config = train_config("value-l1+mi", "paper", PROCGEN_BUDGETS)
    setup = Setup(
        "value-l1+mi", config.method, config.ppo, 200, normalises=config.ppo.scale_rewards
    )
    outcome = Outcome("maze", "value-l1+mi", 200, 0, 3.0, 1.0)
    write_report([outcome], tmp_path / "R", setups=[setup], repeats=10)
    with (tmp_path / "R" / "tables" / "settings.csv").open(encoding="utf-8") as stream:
        rows = {row["setting"]: row for row in csv.DictReader(stream)}
    assert len(rows) == 28
    rate = rows["ppo.learning_rate"]
    assert (rate["value-l1+mi"], rate["paper value-l1+mi"]) == ("0.0005", "5e-6")
    assert rows["method.capacity"]["paper value-l1+mi"] == "200"
    assert rows["method.eta"]["value-l1+mi"] == "linear from 0 to 0.25, 0.5 to 1 of training"
    assert rows["return normalisation"]["value-l1+mi"] == "yes"
    assert 'id="settings"' in (tmp_path / "R" / "report.html").read_text(encoding="utf-8")


def test_build_6_one_strategy_run_in_two_ways_has_two_columns(tmp_path):
    small, large = (train_config("mi", one, PROCGEN_BUDGETS) for one in ("laptop", "paper"))
    uniform = train_config("uniform", "paper", PROCGEN_BUDGETS)
    train = default_levels()["train"]
    train.save(tmp_path / "levels.npz")
    levels = {"train": {"path": str(tmp_path / "levels.npz"), "digest": train.digest}}
    told = {"task": "procgen/maze", "levels": levels, "command": []}
    runs = [
        create_run(tmp_path / str(place), config=config, seeds=(place,), **told)
        for place, config in enumerate((small, large, small, uniform))
    ]
    setups = setups_of(runs)
    assert [one.name for one in setups] == ["uniform", "mi (1)", "mi (2)"]
    rows = {row["setting"]: row for row in rows_of(table_of(setups, "procgen"))}
    assert (rows["ppo.num_steps"]["mi (1)"], rows["ppo.num_steps"]["mi (2)"]) == ("64", "256")
    assert rows["ppo.num_steps"]["paper mi (2)"] == "256"
