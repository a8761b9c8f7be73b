"""Runs, jobs and generators."""

import json
import re
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

import jax
import pytest

from dred import checkpoint, settings_text
from dred.levels import from_text, is_solvable
from dred.studio import jobs, latent, shelf, watch
from dred.tasks.gridworld.config import VAEConfig
from dred.tasks.gridworld.generators.vae.model import LevelVAE
from dred.tasks.gridworld.levels.dataset import from_levels
from tests.studio.conftest import DRAWINGS, Page
from tests.studio.test_probe import GOLDEN


@pytest.fixture
def with_run(folder):
    shutil.copytree(GOLDEN, folder / "old")
    return Page(folder)


def test_runs_are_listed_with_their_state_and_measured_curves(with_run):
    [run] = with_run.get("runs").json()["runs"]
    assert (run["name"], run["updates"], run["total"]) == ("here/old", 3, 6)
    told = with_run.get("curves", run="here/old").json()
    names = {one["name"] for one in told["metrics"]}
    assert {"solved_rate/replay", "eta"} <= names and "loss/total" not in names
    assert [row["update"] for row in told["rows"]] == sorted(row["update"] for row in told["rows"])
    assert run["saved"] == 3
    told = with_run.get("settings", run="here/old").json()
    assert "num_updates = 6" in told["settings"] and told["command"][:3] == [
        "dred",
        "train",
        "accel-d",
    ]


def test_the_settings_of_a_run_can_be_asked_for_by_many_at_once(with_run):
    """Python 3.11 stopped with a SystemError when two threads parsed the classes of settings."""
    settings_text.help_of.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda _: with_run.get("settings", run="here/old"), range(8)))
    assert len({one.text for one in told}) == 1 and told[0].status_code == 200


def test_new_lines_of_a_run_at_work_are_seen(with_run):
    file = with_run.folder / "old" / "metrics.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text(file.read_text() + json.dumps({**rows[-1], "update": 5}) + '\n{"upd')
    told = with_run.get("curves", run="here/old").json()
    assert told["updates"] == 5 and len(told["rows"]) == len(rows) + 1


def test_what_was_measured_since_is_told_alone_also_after_a_run_began_anew(with_run):
    file = with_run.folder / "old" / "metrics.jsonl"
    first = file.read_text().splitlines()

    def told(since):
        told = with_run.get("curves", run="here/old", since=since).json()
        return [row["update"] for row in told["rows"]]

    all_of_them = [json.loads(line)["update"] for line in first]
    assert told(0) == all_of_them and told(all_of_them[-1]) == []
    with file.open("a") as stream:
        stream.write(json.dumps({**json.loads(first[-1]), "update": 9}) + '\n{"upd')
    assert told(all_of_them[-1]) == [9]
    [run] = with_run.get("runs").json()["runs"]
    assert run["updates"] == 9
    with file.open("a") as stream:
        stream.write(f'ate": 10, {first[-1][1:]}'.replace('"update": 3', '"other": 3') + "\n")
    assert told(9) == [10]
    file.write_text(f"{first[0]}\n")  # it was resumed from an earlier update
    assert told(0) == all_of_them[:1]
    assert with_run.get("runs").json()["runs"][0]["updates"] == all_of_them[0]


def test_curves_of_many_updates_are_thinned_out_alike_for_every_seed():
    rows = [
        {"update": update, "seed": seed, **({"gen_gap": 0.0} if update == 7 else {})}
        for update in range(1, 2001)
        for seed in (0, 1)
    ]
    kept = watch.thinned(rows)
    assert len(kept) <= watch.MOST_ROWS + 4
    assert [row["update"] for row in kept if row["seed"] == 0] == [
        row["update"] for row in kept if row["seed"] == 1
    ]
    assert {1, 7, 2000} <= {row["update"] for row in kept}


def test_the_buffer_of_a_run_is_a_gallery_in_order_of_probability(with_run):
    told = with_run.post(
        "gallery", set="here/old::buffer-0", sort="probability", descending=True
    ).json()
    assert abs(sum(told["values"]) - 1) < 1e-3
    assert told["values"] == sorted(told["values"], reverse=True)
    # A page that watches is told which update it is of, and need not know what is saved by now.
    assert re.fullmatch(r"here/old::buffer-0@\d+", told["set"])
    again = with_run.post("gallery", set=told["set"], sort="probability", descending=True).json()
    assert again == told
    assert {"score", "generation", "parent", "path"} <= set(told["features"])
    first = with_run.get("level", set="here/old::buffer-0", level=told["order"][0]).json()
    assert "probability" in first["facts"] and from_text(first["text"])
    number = told["numbers"][1]
    asked = {"set": "here/old::buffer-0", "size": 64}
    one = with_run.get("picture", **asked, number=number)
    assert one.content == with_run.get("picture", **asked, level=told["order"][1]).content
    assert with_run.get("picture", **asked, number=10**6).status_code == 400
    assert with_run.post("gallery", set="here/old::buffer-x").status_code == 400
    assert with_run.post("gallery", set="here/old::buffer-9").status_code == 400


def test_a_level_s_ancestry_begins_with_its_oldest_known_parent(with_run):
    set_ = "here/old::buffer-0"
    order = with_run.post("gallery", set=set_, sort="generation", descending=True).json()
    facts = with_run.get("level", set=set_, level=order["order"][0]).json()["facts"]
    number, parent = (int(facts[name]["value"]) for name in ("number", "number of its parent"))
    told = with_run.get("lineage", run="here/old", seed=0, number=number).json()["line"]
    assert told[-1]["number"] == number
    if parent >= 0 and len(told) > 1:
        assert told[-2]["number"] == parent
    assert with_run.get("lineage", run="here/old", seed=0, number=10**6).json()["line"] == []


def earlier_checkpoint(run, update, numbers):
    """Write a checkpoint as if it had been saved earlier, with other levels in some slots."""
    [newest] = checkpoint.checkpoints_in(run / "checkpoints")
    arrays = checkpoint.read(newest)
    name = next(name for name in arrays if name.endswith(".buffer.number"))
    changed = arrays[name].copy()
    changed[0, list(numbers)] = list(numbers.values())
    path = checkpoint.path_of(run / "checkpoints", update)
    checkpoint.write(path, (), beside={**arrays, name: changed})


def test_a_checkpoint_that_goes_before_it_is_read_gives_way_to_the_newest(with_run, monkeypatch):
    """A gallery was refused once: training had dropped the checkpoint that was the newest."""
    checkpoints = with_run.folder / "old" / "checkpoints"
    read, asked = shelf._read_buffer, []

    def too_late(run, seed, update):
        asked.append(update)
        if update == 3:
            checkpoint.path_of(checkpoints, 3).rename(checkpoint.path_of(checkpoints, 4))
        return read(run, seed, update)

    monkeypatch.setattr(shelf, "_read_buffer", too_late)
    told = with_run.post("gallery", set="here/old::buffer-0").json()
    assert asked == [3, 4] and told["set"] == "here/old::buffer-0@4"
    checkpoint.path_of(checkpoints, 4).unlink()  # and where there is none, that is said
    assert with_run.post("gallery", set="here/old::buffer-0").status_code == 400


def test_levels_that_entered_and_left_a_buffer_are_shown_with_where_they_came_from(with_run):
    run = with_run.folder / "old"
    earlier_checkpoint(run, 2, {0: 70, 5: 71})  # later slots 0 and 5 have the levels 0 and 5
    told = with_run.get("turnover", run="here/old", seed=0).json()
    assert (told["updates"], told["since"], told["update"]) == ([2, 3], 2, 3)
    assert {one["number"] for one in told["came"]} == {0, 5} and told["entered"] == 2
    assert {one["number"] for one in told["gone"]} == {70, 71} and told["left"] == 2
    assert told["came"][0]["probability"] >= told["came"][1]["probability"]
    for one in (*told["came"], *told["gone"]):
        shown = with_run.get("picture", set=one["set"], level=one["level"])
        assert shown.headers["content-type"] == "image/png"
        facts = with_run.get("level", set=one["set"], level=one["level"]).json()["facts"]
        assert facts["number"]["value"] == one["number"]
    checkpoint.path_of(run / "checkpoints", 2).unlink()  # runs keep few; what was seen stays
    assert with_run.get("turnover", run="here/old", seed=0, since=2).json() == told
    assert with_run.get("turnover", run="here/old", seed=0, since=1).status_code == 400
    line = with_run.get("lineage", run="here/old", seed=0, number=70).json()["line"]
    assert line[-1]["number"] == 70  # it has left, and is still known


STARTED = []
MORE = ("--updates", "5", "--set", "ppo.epochs=3")


class Pretended:
    """A process that works until it gets a signal."""

    def __init__(self, command, **options):
        self.command, self.code, self.signals = command, None, []
        options["stdout"].write(b"compiling\n")
        STARTED.append(self)

    def poll(self):
        return self.code

    def wait(self):
        return self.code

    def send_signal(self, number):
        self.signals.append(number)
        self.code = 130


def test_a_run_is_started_as_on_the_command_line_one_at_a_time_and_stopped(folder, monkeypatch):
    monkeypatch.setattr(jobs.subprocess, "Popen", Pretended)
    STARTED.clear()
    page = Page(folder)
    with page.client:
        asked = {"method": "plr", "preset": "smoke", "levels": "here/few.npz", "out": "here/r/new"}
        more = {"updates": 5, "held_out": "here/few.npz", "changes": "ppo.epochs=3"}
        shown = page.post("preview", **asked, **more).json()["settings"]
        assert "num_updates = 5\n" in shown and "epochs = 3\n" in shown
        told = page.post("train", **asked, **more).json()
        assert told["working"] and told["run"] == "here/r/new" and told["said"] == "compiling\n"
        words = STARTED[0].command[3:]
        file = str(folder / "few.npz")
        assert words[:4] == ["train", "plr", "--out", str(folder / "r" / "new")]
        assert words[4:8] == ["--preset", "smoke", "--levels", file]
        assert words[8:] == ["--seed", "0", "--held-out", file, *MORE]
        again = page.post("train", **asked)
        assert again.status_code == 400 and "already" in again.json()["error"]
        assert not page.post("stop").json()["working"]
        assert STARTED[0].signals == [signal.SIGINT]
        shutil.copytree(GOLDEN, folder / "old")
        assert page.post("resume", run="here/old").json()["working"]
    assert STARTED[1].command[3:] == ["resume", str(folder / "old")]
    assert STARTED[1].signals == [signal.SIGINT]  # the studio ends, and so does it


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "--help"},
        {"preset": "--debug"},
        {"levels": "/etc/passwd"},
        {"out": "here/../x"},
        {"out": "here/few.npz"},
        {"updates": "many"},
        {"changes": "--debug"},
        {"changes": "ppo.epochs"},
        {"changes": "ppo.colour=3"},
        {"changes": "ppo.epochs=-3"},
        {"generator": "here/none"},
    ],
)
def test_a_run_that_makes_no_sense_is_not_started(page, monkeypatch, wrong):
    monkeypatch.setattr(jobs.subprocess, "Popen", Pretended)
    STARTED.clear()
    asked = {"method": "plr", "preset": "smoke", "levels": "here/few.npz", "out": "here/new"}
    told = page.post("train", **(asked | wrong))
    assert told.status_code == 400 and told.json()["error"]
    assert not STARTED


def new_generator(folder):
    """Write a generator that has learned nothing, which is enough to ask it."""
    folder.mkdir()
    small = {"latent_size": 4, "graph_layers": 1, "graph_size": 4}
    config = VAEConfig(**small, encoder_sizes=(8,), decoder_sizes=(8,))
    levels = few_levels()
    levels.save(folder / "levels.npz")
    facts = {"kind": "vae", "config": asdict(config), "digest": levels.digest}
    (folder / "generator.json").write_text(json.dumps(facts))
    model = LevelVAE(config, 9, key=jax.random.key(0))
    steep = jax.tree.map(lambda leaf: 5 * leaf, model)  # so that places make a difference
    checkpoint.write(folder / "last.npz", steep)


def few_levels():
    return from_levels(map(from_text, DRAWINGS))


def test_a_generator_has_a_map_and_makes_levels(folder):
    new_generator(folder / "vae")
    page = Page(folder)
    told = page.get("latent", generator="here/vae").json()
    assert len(told["points"]) == 4 and 0 < told["share"] <= 1
    assert page.post("gallery", set=told["set"]).json()["total"] == 4
    between = {"generator": "here/vae", "first": 0, "second": 2, "seed": 3}
    one = page.post("between", **between, share=0.25).json()
    assert one == page.post("between", **between, share=0.25).json()
    for made in (
        one,
        page.post("sample", generator="here/vae", mode="prior", count=3).json(),
        page.post("mutate", text=DRAWINGS[0], count=3).json(),
        page.post("mutate", text=DRAWINGS[0], count=3, generator="here/vae").json(),
    ):
        assert [is_solvable(from_text(text)) for text in made["levels"]] == made["solvable"]
    for asked in ({**between, "second": 4}, {**between, "share": "x"}, {"generator": "here"}):
        assert page.post("between", **({"share": 0.5} | asked)).status_code == 400
    assert page.post("sample", generator="here/vae", mode="worst").status_code == 400


class WithoutLatents:
    """A fitted generator of another kind, which can only be sampled from."""

    kind = "other"
    modes = ("anew",)
    path = None
    dataset = few_levels()

    def sample(self, count, *, mode="anew", key, temperature=1.0, shape=None):
        return self.dataset[[0] * count].levels

    def words(self):
        return ""


def test_a_generator_without_a_latent_space_is_sampled_from_and_has_no_map(folder, monkeypatch):
    new_generator(folder / "other")
    monkeypatch.setattr(latent, "load", lambda path: WithoutLatents())
    page = Page(folder)
    told = page.get("latent", generator="here/other").json()
    assert told["points"] == [] and told["modes"] == ["anew"] and len(told["structure"]) == 4
    made = page.post("sample", generator="here/other", count=2).json()
    assert made == {"levels": [DRAWINGS[0]] * 2, "solvable": [True, True]}
    asked = {"generator": "here/other", "first": 0, "second": 1, "share": 0.5}
    told = page.post("between", **asked)
    assert told.status_code == 400 and "no latent space" in told.json()["error"]
