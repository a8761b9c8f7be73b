"""Studies that vary settings, such as the search over mixing schedules."""

import csv
from dataclasses import replace
from itertools import product

import pytest

from dred.cli import main
from dred.config import ScheduleConfig
from dred.errors import ConfigError
from dred.presets import METHODS, train_config
from dred.settings import names_in, varied
from dred.studies.find import SHIPPED
from dred.studies.grid import as_words, folder_part, from_words, variants, with_variant
from dred.studies.jobs import MEASURED, runs_of
from dred.studies.study import read_study
from tests.studies.test_study import folder, study_of

assert folder is not None  # a fixture that tests below ask for by name

ENDS, STARTS, TEMPERATURES = (0.25, 0.5, 1.0), (0.0, 0.5), (0.1, 0.5, 1.0, 2.0)
TINY = """
methods = ["plr"]
preset = "smoke"
levels = "train.npz"
held_out = "test.npz"
suites = ["test.npz"]
updates = 3
"""
GRID = """
[grid]
"method.staleness" = [0.3, 0.7]
ppo.epochs = [1]
"""


def test_the_search_over_mixing_schedules_in_the_gridworld_is_every_end_start_and_temperature():
    runs = runs_of(read_study(SHIPPED / "mixing.toml"))
    found = [
        (run.config.method.eta.end, run.config.method.eta.begins, run.config.method.secondary)
        for run in runs
    ]
    dred = METHODS["vae-dred"]
    assert found == [
        (end, start, replace(dred.secondary, temperature=temperature))
        for end, start, temperature in product(ENDS, STARTS, TEMPERATURES)
    ]
    assert len({run.name for run in runs}) == len({run.config.method.name for run in runs}) == 24
    (as_it_is,) = [run.config for run in runs if "eta.end=1.0-eta.begins=0.0-sec" in run.name][2:3]
    assert replace(as_it_is.method, name="vae-dred") == dred


def test_the_search_over_mixing_schedules_in_procgen_holds_the_papers():
    runs = runs_of(read_study(SHIPPED / "procgen-mixing.toml"))
    assert len(runs) == len({run.name for run in runs}) == 16 * 4 * 24
    papers = [run for run in runs if run.config.method.eta.begins == 0.5]
    assert len(papers) == 768
    assert {
        (run.config.method.eta.end, run.config.method.secondary.temperature) for run in papers
    } == set(product(ENDS, TEMPERATURES))
    shown = replace(papers[0].config.method, name="value-l1+mi")
    assert shown == METHODS["value-l1+mi"]  # the first of them is the one that the paper shows
    assert papers[0].config.method.name == (
        "value-l1+mi eta.begins=0.5 eta.end=0.25 secondary.temperature=0.1"
    )


@pytest.mark.parametrize("file", sorted(SHIPPED.glob("*.toml")), ids=lambda file: file.stem)
def test_every_study_that_is_shipped_can_be_read(file):
    assert runs_of(read_study(file))


def test_a_study_with_a_grid_is_run_shown_and_reported_with_its_settings(
    folder, capsys, monkeypatch
):
    file = study_of(folder, "varied", TINY + GRID)
    main(["study", "run", str(file), "--debug"])
    study = read_study(file)
    one, other = runs_of(study)
    assert one.name == "plr-staleness=0.3-ppo.epochs=1-seed-0"
    assert (one.run.config.method.staleness, other.run.config.method.staleness) == (0.3, 0.7)
    assert one.run.config.ppo.epochs == other.run.config.ppo.epochs == 1
    assert "summary.csv" in capsys.readouterr().out
    with (study.path / "summary.csv").open() as stream:
        lines = list(csv.DictReader(stream))
    for line, job in zip(lines, (one, other), strict=True):
        evaluated = (job.run.path / "evaluation" / "test.csv").read_text().splitlines()
        solved = [int(row["solved"]) for row in csv.DictReader(evaluated)]
        last = job.run.metrics()[-1]
        assert line == {
            "method": "plr",
            "method.staleness": str(job.run.config.method.staleness),
            "ppo.epochs": "1",
            "seed": "0",
            "solved_rate/test": f"{sum(solved) / len(solved):.6f}",
            "solved_rate/held_out": f"{last['solved_rate/test']:.6f}",
            **{name: f"{last[name]:.6f}" for name in MEASURED},
            "seconds": f"{last['seconds']:.1f}",
        }
    table = (study.report / "tables" / "solved-rate.csv").read_text()
    for job in (one, other):
        assert job.run.config.method.name in table  # a row of its own in the report
    monkeypatch.setenv("COLUMNS", "150")
    main(["study", "status", str(file)])
    shown = capsys.readouterr().out
    assert shown.count("3 of 3") == 2 and one.name in shown and other.name in shown


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ('"method.eta.ned" = [0.5]', "'method.eta.ned'.*Did you mean 'method.eta.end'"),
        ('"mehtod.staleness" = [0.5]', "Did you mean 'method.staleness'"),
        ('"method.eta" = [0.5]', "holds several settings.*method.eta.end"),
        ('"method.secondary.temperature" = [0.5]', "for plr.*'method.secondary' is not used"),
        ('"ppo.epochs.two" = [0.5]', "'ppo.epochs' is 2"),
        ('"method.staleness" = ["much"]', "staleness: expected a number, found 'much'"),
        ('"ppo.epochs" = [1.5]', "epochs: expected a whole number"),
        ('"method.evict" = ["newest"]', "'newest' is not one of"),
        ('"method.staleness" = [0.1, 1.5]', r"staleness \(=1.5\) must lie between"),
        ('"method.staleness" = 0.1', "expected a list"),
        ('"method.staleness" = []', "at least one value"),
        ('"method.staleness" = [0.1, 0.1]', "twice"),
    ],
)
def test_a_grid_that_cannot_work_is_said_before_anything_is_made(folder, grid, message):
    file = study_of(folder, "broken-grid", f"{TINY}[grid]\n{grid}\n")
    with pytest.raises(ConfigError, match=f"(?s)broken-grid, grid.*{message}"):
        read_study(file)
    with pytest.raises(ConfigError):
        main(["study", "run", str(file), "--debug"])
    assert not (folder / "broken-grid").exists()


def test_variants_change_settings_one_at_a_time_beside_the_method_as_it_is(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(
        TINY
        + """
[[variants]]
method.staleness = 0.0
[[variants]]
"method.primary.temperature" = 1.0
"ppo.epochs" = 3
"""
    )
    study = read_study(file)
    assert study.variants == [
        (),
        (("method.staleness", 0.0),),
        (("method.primary.temperature", 1.0), ("ppo.epochs", 3)),
    ]
    names = [run.config.method.name for run in runs_of(study)]
    assert names == ["plr", "plr staleness=0.0", "plr primary.temperature=1.0 ppo.epochs=3"]
    file.write_text(TINY + 2 * "[[variants]]\nppo.epochs = 3\n")
    with pytest.raises(ConfigError, match="alike"):
        read_study(file)
    file.write_text(TINY + "[[variants]]\nppo.epoch = 3\n")
    with pytest.raises(ConfigError, match=r"ppo\.epochs"):
        read_study(file)


def test_changes_take_effect_together():
    schedule = varied(ScheduleConfig(0.0, 1.0, 0.0, 0.4), {"begins": 0.5, "ends": 0.9}, where="x")
    assert schedule == ScheduleConfig(0.0, 1.0, 0.5, 0.9)
    with pytest.raises(ConfigError, match="x: begins"):
        varied(ScheduleConfig(), {"begins": 0.9, "ends": 0.5}, where="x")


def test_every_setting_has_a_name_and_can_be_set_to_what_it_is():
    config = train_config("vae-dred", "smoke")
    names = names_in(config)
    assert {"num_updates", "method.eta.end", "ppo.epochs", "probe.length"} <= set(names)

    def value(name):
        record = config
        for part in name.split("."):
            record = getattr(record, part)
        return record

    assert varied(config, {name: value(name) for name in names}, where="x") == config


def test_words_of_a_command_are_the_changes_of_a_study():
    (variant,) = variants(
        {"method": {"evict": ["least likely"], "warm_up": [False]}, "ppo.epochs": [3]}, where="x"
    )
    assert from_words(as_words(variant)[1:]) == variant
    assert folder_part(variant) == "-evict=least-likely-warm_up=false-ppo.epochs=3"
    changed = with_variant(
        train_config("plr", "smoke"), from_words(["method.evict=oldest"]), where="x"
    )
    assert (changed.method.evict, changed.method.name) == ("oldest", "plr evict=oldest")
    for words, message in ((["ppo.epochs"], "NAME=VALUE"), (["a=1", "a=2"], "twice")):
        with pytest.raises(ConfigError, match=message):
            from_words(words)


ALSO = """
tasks = ["procgen/coinrun", "procgen/miner"]
methods = ["uniform", "mi"]
seeds = [0, 1]
preset = "smoke"
levels = "0-9"

[[also]]
tasks = ["procgen/miner"]
methods = ["uniform"]
level_sets = ["0-19", "0-39"]
"""


def test_a_study_may_have_more_runs_beside_its_product(tmp_path):
    (tmp_path / "more.toml").write_text(ALSO)
    jobs = runs_of(read_study(tmp_path / "more.toml"))
    assert [job.name for job in jobs] == [
        f"{name}-seed-{seed}"
        for seed in (0, 1)
        for name in (
            *("coinrun-uniform", "coinrun-mi", "miner-uniform", "miner-mi"),
            *("miner-uniform-0-19", "miner-uniform-0-39"),
        )
    ]
    words = [job.commands()[0] for job in jobs[:6]]
    assert [one[one.index("--levels") + 1] for one in words] == [*["0-9"] * 4, "0-19", "0-39"]


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ('methods = ["plr"]', "no method of more called"),
        ("seeds = [7]", "no seed of more called"),
        ('tasks = ["procgen/coinrun"]', "names runs that are there"),
        ("", "names nothing"),
        ("colour = 3", "there is no setting 'colour'"),
    ],
)
def test_more_runs_that_make_no_sense_are_refused(table, says, tmp_path):
    text = ALSO[: ALSO.index("[[also]]")]
    (tmp_path / "more.toml").write_text(f"{text}[[also]]\n{table}\n")
    with pytest.raises(ConfigError, match=says):
        read_study(tmp_path / "more.toml")


def test_the_laptop_study_of_procgen_is_section_3_and_more_levels_in_one_game():
    jobs = runs_of(read_study(SHIPPED / "procgen-laptop.toml"))
    usual = [job for job in jobs if not job.levels]
    assert len(usual) == 4 * 5 * 3 and len({job.task for job in usual}) == 4
    assert {job.seed for job in jobs[: len(jobs) // 3]} == {0}
    assert {job.levels for job in jobs} == {"", "0-49", "0-199"}
    assert len({job.task for job in jobs if job.levels}) == 1
    temperatures = {
        job.method: job.config.method.primary.temperature for job in usual if job.seed == 0
    }
    assert temperatures["value-l1"] == temperatures["mi"] == 0.7  # the preset's, not the paper's
