"""The leaderboard of generators: what is measured, how fits become rows, and the page."""

import csv
import json
import math
import shutil

import jax
import numpy as np
import pytest

import dred
from dred.cli import main
from dred.errors import ConfigError, DatasetError
from dred.files import OutputError
from dred.levels import make
from dred.task import FitRequest
from dred.tasks.gridworld.generators.compare import other_sources
from dred.tasks.gridworld.generators.vae.likelihood import importance_bound, log_probability
from dred.tasks.gridworld.generators.wfc.fitted import fit_generator
from dred.tasks.gridworld.leaderboard.columns import COLUMNS, Column
from dred.tasks.gridworld.leaderboard.compare import Comparison, row_of
from dred.tasks.gridworld.leaderboard.lines import Line, Row, best_in, lines_of, shared_name
from dred.tasks.gridworld.leaderboard.measures import (
    Number,
    mean_distance,
    mean_of,
    measure,
    reference_of,
    right_sign,
)
from dred.tasks.gridworld.leaderboard.page import page_of
from dred.tasks.gridworld.leaderboard.sources import Source, open_folders
from dred.tasks.gridworld.leaderboard.structures import (
    NO_STRUCTURE,
    effective_number,
    shares,
    structures_of,
)
from dred.tasks.gridworld.leaderboard.tables import leaderboard
from dred.tasks.gridworld.levels.level import Level

QUICK = {"rounds": 0}


@pytest.fixture(scope="module")
def sets():
    """A dataset of 64 levels, and 128 of the same kind."""
    names = {"train": 64, "test": 128}
    return {name: make(f"cave-escape-{name}", count=count) for name, count in names.items()}


@pytest.fixture(scope="module")
def folders(sets, tmp_path_factory):
    """Two fits that differ in their seed, and one with other settings."""
    place = tmp_path_factory.mktemp("fits")
    for name, seed, more in (("wfc-0", 0, {}), ("wfc-1", 1, {}), ("wide", 0, {"placements": 1})):
        fit_generator(sets["train"], place / name, FitRequest(changes=QUICK | more, seed=seed))
    sets["train"].save(place / "train.npz")
    sets["test"].save(place / "test.npz")
    return place


def some(value, *, name="some", error=math.nan, role="model", group="", column="novel"):
    levels = Level(*(np.zeros(shape) for shape in ((2, 3, 3), (2, 2), (2, 2), (2,))))
    return Row(
        Source(name, role, levels, group=group),
        {column: Number(value, error), "levels": Number(2.0)},
    )


def line(*rows):
    return Line(rows[0].source.name, rows)


def test_a_generator_that_returns_the_dataset_is_at_no_distance_from_it(sets):
    reference = reference_of(sets["train"], sets["test"])
    found = measure(sets["train"].levels, reference)
    assert {name: found[name].value for name in ("valid", "solvable", "unique", "copied")} == {
        "valid": 1.0,
        "solvable": 1.0,
        "unique": 1.0,
        "copied": 1.0,
    }
    assert (found["novel"].value, found["nearest"].value, found["shift"].value) == (0.0, 0.0, 0.0)
    assert found["shift_held_out"].value > 0.03
    assert found["moss_right"].value == found["lava_right"].value == 1.0
    assert found["structures"].value > 3.8


def test_half_of_the_levels_twice_is_half_as_unique_and_less_diverse(sets):
    reference = reference_of(sets["train"], None)
    half = sets["train"][np.repeat(np.arange(32), 2)]
    found = measure(half.levels, reference)
    assert found["unique"].value == 0.5
    assert found["structures"].value < 2.6  # the first half has two of the four structures
    assert "shift_held_out" not in found


def test_random_rooms_are_new_far_away_and_of_one_structure_at_most(sets):
    made = other_sources(sets["train"], 64, key=jax.random.key(0))["random rooms"]
    found = measure(made, reference_of(sets["train"], sets["test"]))
    assert found["novel"].value == 1.0
    assert found["shift_held_out"].value > 0.3
    assert found["moss_right"].value == pytest.approx(0.5, abs=0.2)
    assert found["structures"].value < 1.5  # those with little clutter look like obstacles


def test_the_structure_of_held_out_levels_is_found(sets):
    structures = structures_of(sets["train"], sets["test"])
    names = np.array([*structures.names, "none"])
    right = names[structures.of(sets["test"].levels)] == sets["test"].structure
    assert right.mean() > 0.85
    only_one = sets["train"][sets["train"].structure == structures.names[0]]
    assert structures_of(only_one, None) is None
    assert structures_of(sets["train"][::8], None) is None  # two of each are too few


def test_structures_are_counted_as_if_all_were_equally_frequent():
    chosen = np.array([0, 0, 1, 1, NO_STRUCTURE, NO_STRUCTURE, NO_STRUCTURE, NO_STRUCTURE])
    share = shares(chosen, 3)
    assert share.tolist() == [0.25, 0.25, 0.0]
    assert effective_number(share) == pytest.approx(2.0)
    assert effective_number(np.array([0.7, 0.0])) == pytest.approx(1.0)
    assert effective_number(np.zeros(3)) == 0.0


def test_distances_between_levels_agree_with_all_pairs():
    ours = np.random.default_rng(0).integers(0, 3, (7, 10)).astype(np.uint8)
    pairs = [(ours[i] != ours[j]).sum() for i in range(7) for j in range(i)]
    assert mean_distance(ours) == pytest.approx(np.mean(pairs))
    assert math.isnan(mean_distance(ours[:1]))


def test_means_have_the_error_of_a_mean_and_skip_what_is_not_there():
    found = mean_of(np.array([1.0, 3.0, np.nan]))
    assert found == Number(2.0, pytest.approx(1.0))
    assert math.isnan(mean_of(np.array([np.nan])).value)
    assert right_sign(np.array([-0.2, 0.0, 0.1, np.nan]), -1.0)[:3].tolist() == [1, 0, 0]


def test_fits_that_differ_in_their_seed_are_one_line_with_mean_and_deviation():
    rows = [some(0.5, name="a/vae-0", group="x"), some(0.7, name="a/vae-1", group="x")]
    (found,) = lines_of(rows)
    assert (found.name, found.mean("novel")) == ("a/vae", pytest.approx(0.6))
    table = leaderboard(comparison(found))
    assert table.rows[0][1].main == "60.0\u00a0%"
    assert table.rows[0][1].extra == "± 14.1\u00a0%"
    assert [row[0] for row in table.data] == ["a/vae-0", "a/vae-1", "a/vae"]
    column = table.data_header.index("novel")
    assert table.data[2][column : column + 2] == (pytest.approx(0.6), pytest.approx(0.141, 0.01))
    assert shared_name(["one", "two"]) == "one, two"


def comparison(*lines):
    dataset = make("cave-escape-train", count=4)
    return Comparison(dataset, None, 2, 0, tuple(lines))


def test_two_models_of_one_name_and_other_settings_keep_apart():
    rows = [some(0.5, name=f"vae-{i}", group="xy"[i // 2]) for i in range(4)]
    assert [one.name for one in lines_of(rows)] == ["vae-0, vae-1", "vae-2, vae-3"]


def test_only_what_can_be_told_from_the_rest_is_marked():
    novel = Column("novel", "", "", better=1)
    far, near, worst = (
        line(some(value, name=name, error=0.01))
        for name, value in (("far", 0.9), ("near", 0.89), ("worst", 0.5))
    )
    floor = line(some(1.0, name="floor", role="reference"))
    assert best_in([far, near, worst, floor], novel) == {"far", "near"}
    assert best_in([far, near], novel) == set()  # alike
    assert best_in([far, worst], novel._replace(better=0)) == set()
    assert best_in([far, worst], novel._replace(better=-1)) == {"worst"}
    # over three seeds the deviation between them is the error, whatever that over levels
    seeds = line(*(some(v, name=f"s{v}", error=0.001) for v in (0.7, 0.8, 1.1)))
    assert best_in([far, seeds, worst], novel) == {"far", "s0.7"}


def test_the_bound_of_one_sample_is_the_log_of_its_weight():
    """By hand: log p(x | z) + log p(z) − log q(z | x), with the noise that the key gives."""
    from dred.tasks.gridworld.config import VAEConfig
    from dred.tasks.gridworld.generators.vae.graph import level_graph
    from dred.tasks.gridworld.generators.vae.model import LevelVAE

    config = VAEConfig(latent_size=8, graph_size=4, encoder_sizes=(16,), decoder_sizes=(16, 16))
    levels = Level(*map(jax.numpy.asarray, make("cave-escape-train", count=6, size=9).levels))
    model, key = LevelVAE(config, 49, key=jax.random.key(0)), jax.random.key(1)
    got = importance_bound(model, levels, config, samples=1, key=key)
    latent = model.encode(jax.vmap(lambda one: level_graph(one, config.edges))(levels))
    noise = jax.random.normal(jax.random.split(key, 1)[0], latent.mean.shape)
    z = latent.mean + latent.deviation * noise
    log_q = jax.scipy.stats.norm.logpdf(z, latent.mean, latent.deviation).sum(-1)
    log_prior = jax.scipy.stats.norm.logpdf(z).sum(-1)
    expected = log_probability(model.decode(z), levels) + log_prior - log_q
    np.testing.assert_allclose(got, expected, rtol=1e-4)
    more = importance_bound(model, levels, config, samples=32, key=key)
    assert float(more.mean()) > float(got.mean())  # tighter


def test_a_level_that_is_certain_has_probability_one():
    from dred.levels import from_text
    from dred.tasks.gridworld.generators.vae.graph import CLASSES
    from dred.tasks.gridworld.generators.vae.model import Drawing
    from dred.tasks.gridworld.levels.level import as_batch

    level = as_batch(from_text(">,#G"))
    kinds = np.array([[0, 3, 1, 0]])  # empty, moss, wall, empty
    layout = np.where(kinds[..., None] == np.array(CLASSES), 50.0, 0.0).astype(np.float32)
    start, goal = (np.eye(4, dtype=np.float32)[[place]] * 50 for place in (0, 3))
    parts = {"layout": layout, "goal": goal, "start": start}
    drawing = Drawing(**{name: jax.numpy.asarray(part) for name, part in parts.items()})
    levels = Level(*map(jax.numpy.asarray, level))
    assert float(log_probability(drawing, levels)[0]) == pytest.approx(0.0, abs=1e-4)
    # without any knowledge: 1/4 for two tiles, 1/2 for those under start and goal, then 1/3 · 1/2
    blank = Drawing(*(jax.numpy.zeros_like(part) for part in drawing))
    expected = 2 * math.log(1 / 4) + 2 * math.log(1 / 2) + math.log(1 / 3) + math.log(1 / 2)
    assert float(log_probability(blank, levels)[0]) == pytest.approx(expected, abs=1e-4)


def test_the_command_writes_a_page_a_table_and_galleries(folders, tmp_path, capsys, monkeypatch):
    from dred.tasks.gridworld.leaderboard import timing

    monkeypatch.setattr(timing, "ROUNDS", 1)
    out = tmp_path / "board"
    fits = [str(folders / name) for name in ("wfc-0", "wfc-1", "wide")]
    given = ["--levels", str(folders / "train.npz"), "--held-out", str(folders / "test.npz")]
    main(["compare-generators", *given, *fits, "--out", str(out), "--count", "40", "--shown", "3"])
    with (out / "leaderboard.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 5 + 3 + 1  # sources, fits, and the mean of two of them
    by_name = {row["levels_from"]: row for row in rows}
    assert by_name["the dataset"]["novel"] == "0.0"
    assert by_name[fits[0]]["seed"] == "0"
    both = by_name[str(folders / "wfc")]
    assert both["fits"] == "2"
    assert float(both["novel"]) == np.mean([float(by_name[name]["novel"]) for name in fits[:2]])
    assert float(by_name["edits"]["milliseconds"]) > 0
    page = (out / "leaderboard.html").read_text()
    assert "JS distance to held-out" in page
    assert page.count("<img") == 3 * 7
    assert len(list((out / "galleries").iterdir())) == 7
    assert "| random rooms" in capsys.readouterr().out
    main(["compare-generators", *given, "--out", str(out), "--count", "8", "--shown", "0"])
    assert not (out / "galleries").exists()


def test_a_model_of_other_levels_is_compared_with_a_notice(folders, sets):
    found = dred.compare_generators([folders / "wide"], levels=sets["test"], count=8, timed=False)
    (notice,) = found.notices
    assert "was fitted to other levels" in notice
    assert notice in page_of(found, shown=0).replace("&#39;", "'")


def test_names_are_escaped(folders, sets, tmp_path):
    evil = tmp_path / "<script>alert(1)<"
    shutil.copytree(folders / "wide", evil)
    found = dred.compare_generators([evil], levels=sets["train"], count=8, timed=False)
    page = page_of(found, title="<script>alert(2)</script>")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_every_column_is_explained_and_measured(sets):
    reference = reference_of(sets["train"], sets["test"])
    source = Source("some", "baseline", sets["train"].levels)
    found = row_of(source, reference, key=jax.random.key(0), seed=0).numbers
    others = {"likelihood", "milliseconds", "times"}
    assert {column.name for column in COLUMNS} - others <= set(found)
    assert all(column.meaning.endswith(".") for column in COLUMNS)


def test_what_cannot_be_compared_is_refused_in_a_paragraph(folders, sets, tmp_path, capsys):
    with pytest.raises(ConfigError, match="is not a generator"):
        open_folders([tmp_path], sets["train"])
    with pytest.raises(ConfigError, match="named twice"):
        open_folders([folders / "wide", folders / "wide"], sets["train"])
    small = make("cave-escape-train", count=4, size=9)
    with pytest.raises(DatasetError, match="was fitted to levels of 13×13"):
        open_folders([folders / "wide"], small)
    with pytest.raises(DatasetError, match="of one size"):
        dred.compare_generators([], levels=sets["train"], held_out=small)
    with pytest.raises(ConfigError, match="at least 2"):
        dred.compare_generators([], levels=sets["train"], count=1)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    levels = str(folders / "train.npz")
    with pytest.raises(SystemExit):
        main(["compare-generators", "--levels", levels, "--out", str(tmp_path / "full")])
    assert "is not just a former report" in capsys.readouterr().err
    with pytest.raises(OutputError):
        (tmp_path / "file").write_text("")
        from dred.tasks.gridworld.leaderboard.page import check_out

        check_out(tmp_path / "file")


def test_a_generator_of_another_task_is_refused(tmp_path, sets):
    (tmp_path / "generator.json").write_text(json.dumps({"kind": "vector-vae"}))
    with pytest.raises(Exception, match="of a kind that is not known"):
        open_folders([tmp_path], sets["train"])
